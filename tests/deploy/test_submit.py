"""`ray up` and `ray submit` with deploy/onprem.yaml, over SSH to this machine. Slow.

The home of the other side is a folder of the test: what the cluster file does there (a virtual environment
with the package, a line in .bashrc, a token) is done for real and touches nothing else.
"""

from __future__ import annotations

import getpass
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from support.deploy_cases import DEPLOY, documents
from support.expression_cases import write_two_classes
from support.ports import free_port
from support.run_cases import assert_same_draws
from support.submit_case import main as fit_here

pytestmark = pytest.mark.slow

ROOT = DEPLOY.parent
TESTS = Path(__file__).parents[1]
# Standard input and output to a port of this machine: Ray's launcher knows no port but 22.
CONNECT = """
import socket, sys, threading
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as link:
    def forth():
        while data := sys.stdin.buffer.raw.read(65536):
            link.sendall(data)
        link.shutdown(socket.SHUT_WR)
    threading.Thread(target=forth, daemon=True).start()
    while data := link.recv(65536):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
"""


@pytest.fixture
def home():
    """Home of the user on the other side; short, since sockets of Ray are in it."""
    folder = Path(tempfile.mkdtemp(prefix="h"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def sshd(home, tmp_path):
    """Port of an SSH server of our own, and the key that it takes."""
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    for needed in (program, "ssh", "ssh-keygen", "rsync"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} not found: Debian's packages openssh-server and rsync have it")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True, timeout=60
        )
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    environment = kept | {"HOME": str(home), "RAY_TMPDIR": str(home / "t"), "PATH": os.environ["PATH"]}
    (home / "t").mkdir()
    settings = [
        *(f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {tmp_path / 'host'}", "UsePAM no"),
        *("StrictModes no", f"AuthorizedKeysFile {tmp_path / 'user.pub'}", "PasswordAuthentication no"),
        *(f"PidFile {tmp_path / 'pid'}", "PermitRootLogin prohibit-password"),
        "SetEnv " + " ".join(f'"{name}={value}"' for name, value in environment.items()),
    ]
    (tmp_path / "sshd_config").write_text("\n".join(settings) + "\n")
    with (tmp_path / "sshd.log").open("w") as log:
        server = subprocess.Popen([program, "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=log)
    yield port, tmp_path / "user"
    server.terminate()
    server.wait(30)
    end_processes_of(home)


def end_processes_of(home):
    """End what Ray has left running in this home: never all of a name, others run Ray too."""
    import psutil

    def ours():
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("RAY_TMPDIR") == str(home / "t"):
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    for process in ours():
        process.terminate()
    _, left = psutil.wait_procs(ours(), 20)
    for process in left:
        process.kill()


@pytest.fixture
def cluster_file(sshd, home, tmp_path):
    """deploy/onprem.yaml with the addresses of this machine."""
    import yaml

    port, key = sshd
    (config,) = documents(DEPLOY / "onprem.yaml")
    (tmp_path / "token").write_text(secrets.token_hex(32))
    (tmp_path / "connect.py").write_text(CONNECT)
    config["provider"] |= {"head_ip": "127.0.0.1", "worker_ips": []}
    config["auth"] = {
        "ssh_user": getpass.getuser(),
        "ssh_private_key": str(key),
        "ssh_proxy_command": f"{sys.executable} {tmp_path / 'connect.py'} {port}",
    }
    config["cluster_name"] += secrets.token_hex(4)
    config["file_mounts"]["~/.ray/auth_token"] = str(tmp_path / "token")
    ray_port, metrics_port = free_port(), free_port()
    changes = {"--port=6379": f"--port={ray_port} --num-cpus=2", "=8080": f"={metrics_port}"}
    starts = []
    for command in config["head_start_ray_commands"]:
        # It would end every Ray of this machine.
        if not command.endswith("ray stop"):
            for old, new in changes.items():
                assert old in command
                command = command.replace(old, new)
            starts.append(command)
    config["head_start_ray_commands"] = starts
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def launcher(home, *arguments):
    """One of Ray's cluster commands, from the root of the checkout."""
    env = os.environ | {"RAY_TMPDIR": str(home / "t"), "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "ray.scripts.scripts", *map(str, arguments)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_up_and_submit(cluster_file, home, tmp_path):
    begin = time.monotonic()
    launcher(home, "up", "-y", "--no-config-cache", cluster_file)
    up = time.monotonic() - begin
    assert (home / ".ray" / "auth_token").stat().st_mode & 0o077 == 0
    run = tmp_path / "run"
    said = launcher(
        home,
        "submit",
        "--no-config-cache",
        cluster_file,
        TESTS / "support" / "submit_case.py",
        "--",
        run,
        "auto",
    )
    found = re.search(r"(\d+) draws on (\w+) (\S+)", said)
    assert found, said
    assert found.groups()[:2] == ("800", "ray")
    assert found[3].startswith(str(home / "raytpnn-env")), "the package that the cluster file has installed"
    fit_here(tmp_path / "here")
    assert_same_draws(tmp_path / "here", run)
    status = launcher(home, "exec", "--no-config-cache", cluster_file, "ray status")
    assert "Active" in status
    said = launcher(home, "exec", "--no-config-cache", cluster_file, f"raytpnn watch --once {run}")
    assert "finished, 12 of 12 blocks" in said
    genomics(home, cluster_file, tmp_path)
    print(f"ray up took {up:.0f} s")


def genomics(home, cluster_file, tmp_path):
    """Submit the example as deploy/README.md tells, with what the cluster file has installed."""
    data = write_two_classes(tmp_path / "x_series_matrix.txt.gz")
    out = tmp_path / "genomics"
    size = ["--chains", "2", "--warmup", "100", "--draws", "100", "--cv", "2"]
    named = [data, "--target", "title", "--positive", "~patient", "--out", out, "--address", "auto", *size]
    said = launcher(
        home, "submit", "--no-config-cache", cluster_file, ROOT / "examples" / "genomics.py", "--", *named
    )
    assert "p0_at" in said
    assert (out / "genes.csv").read_text().splitlines()[1].split(",")[1] == "p0_at"
    assert "p0_at" in (out / "report.html").read_text()
    assert "AUROC" in (out / "cv" / "summary.md").read_text()
