"""The Slurm script for real: stand-ins for Slurm's commands, a real Ray over two "nodes". Slow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.deploy_cases import DEPLOY
from support.run_cases import assert_same_draws, fit, small_data

pytestmark = pytest.mark.slow

SRUN = """#!/bin/bash
# Slurm's options away, the rest is run here; every call is noted.
echo "$*" >>"$SRUN_LOG"
while [ "${1#-}" != "$1" ]; do
  if [ "$1" = "-w" ]; then shift; fi
  shift
done
exec "$@"
"""
SCONTROL = """#!/bin/bash
[ "$1 $2 $3" = "show hostnames node[0-1]" ] || exit 1
echo node0
echo node1
"""
HOSTNAME = """#!/bin/bash
echo "127.0.0.1 10.9.9.9"
"""
SIZE = {"chains": 4, "warmup": 100, "draws": 400}


@pytest.fixture
def slurm(tmp_path):
    """Environment of a job on two nodes."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("hostname", HOSTNAME)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (tmp_path / "shared").mkdir()
    # Paths of sockets must be short, which those of pytest are not.
    import tempfile

    short = tempfile.mkdtemp(prefix="r")
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY")}
    return own | {
        "PATH": os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NODELIST": "node[0-1]",
        "SLURM_CPUS_PER_TASK": "1",
        "SLURM_TMPDIR": short,
        "RAYTPNN_SHARED": str(tmp_path / "shared"),
        "SRUN_LOG": str(tmp_path / "srun.log"),
    }


def job(slurm, tmp_path, *arguments):
    with (tmp_path / "job.log").open("a") as log:
        return subprocess.Popen(
            ["bash", DEPLOY / "slurm.sh", *map(str, arguments)], env=slurm, stdout=log, stderr=log
        )


def test_a_job_on_two_nodes_is_told_to_end_and_goes_on_when_submitted_again(slurm, tmp_path):
    fit(tmp_path / "whole", n=2000, executor="threads", **SIZE)
    X, y = small_data(2000)
    X.assign(y=y).to_parquet(tmp_path / "data.parquet")
    run = tmp_path / "run"
    told = ["--target=y", "--out", run, "--chains=4", "--warmup=100", "--draws=400", "--seed=5"]
    first = job(slurm, tmp_path, tmp_path / "data.parquet", *told)
    limit = time.monotonic() + 240
    while len(list(run.glob("checkpoint/*/block=*"))) < 3 and first.poll() is None:
        assert time.monotonic() < limit, (tmp_path / "job.log").read_text()
        time.sleep(0.02)
    # What Slurm sends to the batch script some time before the end.
    first.send_signal(signal.SIGTERM)
    assert first.wait(120) in (130, 0), (tmp_path / "job.log").read_text()
    half_way = first.returncode == 130
    assert list((tmp_path / "shared").iterdir()) == [], "the token is gone"
    again = job(slurm, tmp_path, tmp_path / "data.parquet", *told)
    assert again.wait(240) == 0, (tmp_path / "job.log").read_text()
    assert_same_draws(tmp_path / "whole", run)
    assert half_way, "the first job was to end before the last draw"
    calls = (tmp_path / "srun.log").read_text()
    assert calls.count("ray start --head") == 2
    assert calls.count("-w node1 ray start --block --address=127.0.0.1") == 2
    assert len(list(run.glob("log/*.jsonl"))) == 2, "a log for each of the two sessions"


@pytest.mark.parametrize(("arguments", "message"), [([], "usage"), (["data.csv"], "give --out RUN")])
def test_wrong_use_is_told(slurm, tmp_path, arguments, message):
    assert job(slurm, tmp_path, *arguments).wait(30) == 2
    assert message in (tmp_path / "job.log").read_text()
