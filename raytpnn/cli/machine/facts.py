"""Facts about the machine and the installation; no secrets among them, and nothing slow."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from raytpnn.storage.places.uris import shown

__all__ = ["compiled_code", "environment", "gpus", "packages", "ray_state", "system"]

PACKAGES = (
    "raytpnn",
    "numpy",
    "numba",
    "llvmlite",
    "scipy",
    "pandas",
    "pyarrow",
    "scikit-learn",
    "arviz-stats",
    "ray",
    "typer",
    "rich",
    "threadpoolctl",
)
OPTIONAL = ("xgboost", "xgboost-cpu", "matplotlib", "arviz", "anndata")
ON_GPU = ("cupy", "cupy-cuda12x", "cupy-cuda13x", "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
VARIABLES = re.compile(
    r"RAYTPNN_|RAY_(ADDRESS|AUTH|TMPDIR|USAGE)|NUMBA_|(OMP|MKL|OPENBLAS)_NUM_THREADS|CUDA_VISIBLE_DEVICES|CUPY_"
)
SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY", re.IGNORECASE)
PATIENCE_SECONDS = 5.0
# Until somebody has run `raytpnn doctor --gpu-selftest` on one and told us.
NOT_YET_ON_A_GPU = (
    "The CUDA backend has been compiled and run through a CPU host; it has not yet been run on a GPU"
)


def system() -> dict[str, str]:
    """Python, platform, cores and memory."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "python": f"{platform.python_version()} ({platform.python_implementation()}), {home(sys.executable)}",
        "platform": platform.platform(),
        "processor": processor(),
        "cores": f"{os.cpu_count()}, usable: {usable}",
        "memory": memory(),
        "folder for temporary files": free_space(tempfile.gettempdir()),
    }


def processor() -> str:
    """Name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1] if found else platform.machine()


def memory() -> str:
    """Memory in all and free, and the container's limit if there is one."""
    try:
        text = Path("/proc/meminfo").read_text()
        sizes = {
            name: int(kib) / 1024**2 for name, kib in re.findall(r"(MemTotal|MemAvailable):\s+(\d+) kB", text)
        }
        told = f"{sizes['MemTotal']:.1f} GiB, available: {sizes['MemAvailable']:.1f} GiB"
    except (OSError, KeyError):
        try:
            told = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1024**3:.1f} GiB"
        except (ValueError, OSError, AttributeError):
            return "unknown"
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return told
    return f"{told}, container's limit: {int(limit) / 1024**3:.1f} GiB" if limit.isdigit() else told


def free_space(folder: str) -> str:
    """Folder and the free space in it."""
    try:
        return f"{home(folder)}, {shutil.disk_usage(folder).free / 1024**3:.1f} GiB free"
    except OSError as problem:
        return f"{home(folder)}: {problem.strerror}"


def packages() -> dict[str, str]:
    """Versions of packages."""
    return {name: version_of(name) or "not installed" for name in PACKAGES} | {
        name: found for name in OPTIONAL if (found := version_of(name))
    }


def version_of(package: str) -> str | None:
    """Version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def compiled_code() -> dict[str, str]:
    """Whether the sampler is compiled already, and whether the cache can be written."""
    from raytpnn.engine.precompile import UNIT_NAMES, is_cached
    from raytpnn.engine.sweeps.sweep import run_block

    folder = Path(run_block._cache.cache_path)
    ready, total = sum(is_cached(name) for name in UNIT_NAMES), len(UNIT_NAMES)
    state = "warm: compiled already"
    if ready < total:
        state = (
            f"{'in part' if ready else 'cold'}: {ready} of {total} parts compiled, the next fit does the rest"
        )
    writable = (
        "writable" if os.access(folder if folder.exists() else folder.parent, os.W_OK) else "NOT writable"
    )
    return {"cache": f"{home(str(folder))}, {writable}", "sampler": state}


def ray_state(start: bool) -> dict[str, str]:
    """Ray: addressed, running, able to start."""
    told = {"RAY_ADDRESS": masked("RAY_ADDRESS", os.environ.get("RAY_ADDRESS", "not set"))}
    told["on this machine"] = local_cluster()
    told["token"] = token()
    told["start"] = try_ray() if start else "not tried; --start-ray tries"
    return told


def token() -> str:
    """Whether there is a token, and whether others can read it: who has it can run anything there."""
    from raytpnn.chains.executors.ray_cluster import token_file

    path = token_file()
    try:
        mode = path.stat().st_mode & 0o777
    except OSError:
        return "in RAY_AUTH_TOKEN" if os.environ.get("RAY_AUTH_TOKEN") else "none"
    name = home(str(path))
    if mode & 0o077:
        return f"{name}, which other users of this machine can read (mode {mode:o}): chmod 600 {name}"
    return f"{name}, private"


def local_cluster() -> str:
    """Address of a Ray that was started on this machine, and whether it still answers."""
    base = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    try:
        address = (Path(base) / "ray" / "ray_current_cluster").read_text().strip()
    except OSError:
        return "none"
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), 1.0).close()
    except (OSError, ValueError):
        return f"none (the last one was at {address})"
    return f"running at {address}"


def try_ray() -> str:
    """Start Ray and stop it again."""
    from raytpnn.chains.executors.ray_session import ClusterError, RaySession
    from raytpnn.chains.executors.resources import Resources
    from raytpnn.chains.observe.progress import Reporter

    begin = time.monotonic()
    try:
        with RaySession("local", Resources(), Reporter()):
            return f"works, {time.monotonic() - begin:.1f} s"
    except (ClusterError, OSError, ImportError) as problem:
        return f"fails: {' '.join(str(problem).split())}"


def gpus() -> dict[str, str]:
    """GPUs, their driver, and what could compile for them."""
    told = {"devices": devices()}
    installed = [f"{name} {found}" for name in ON_GPU if (found := version_of(name))]
    told["packages"] = ", ".join(installed) or "neither CuPy nor NVRTC installed"
    from raytpnn.engine.gpu.device import missing_for_cuda

    told["backend cuda"] = missing_for_cuda() or "can run here"
    told["CUDA kernels"] = NOT_YET_ON_A_GPU
    return told


def devices() -> str:
    """What nvidia-smi lists."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return "none (no nvidia-smi)"
    query = [command, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"nvidia-smi fails: {problem}"
    listed = "; ".join(line.strip() for line in done.stdout.splitlines() if line.strip())
    return listed or f"nvidia-smi finds none: {' '.join(done.stderr.split()) or 'no output'}"


def environment() -> dict[str, str]:
    """Environment variables that matter, without what should stay secret."""
    return {name: masked(name, value) for name, value in sorted(os.environ.items()) if VARIABLES.match(name)}


def masked(name: str, value: str) -> str:
    """Value of a variable with credentials, queries and the home folder taken out."""
    if SECRET.search(name) and not name.endswith("_PATH"):
        return "(set, not shown)"
    return home(shown(value))


def home(text: str) -> str:
    """Path with ~ for the home folder."""
    own = os.path.expanduser("~")
    return text.replace(own, "~") if len(own) > 1 else text
