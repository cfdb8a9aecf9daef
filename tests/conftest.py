"""Options and data shared by all tests."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from support.run_cases import LONG, SHORT, fit

# Processes that tests start use the package that is installed, not the folder that they are started in: it is
# what the tests are about, and compiled already.
os.environ["PYTHONSAFEPATH"] = "1"


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run tests marked slow")


def pytest_configure(config):
    # Runs of tests are short: those that are about the warning ask for it.
    config.addinivalue_line("filterwarnings", "ignore::raytpnn.ConvergenceWarning")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell starts what it runs in the background like this: tests of interrupts would wait for ever.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    wanted = {"slow": config.getoption("--slow"), "kernels": "kernels" in (config.getoption("-m") or "")}
    ways = {"slow": "--slow", "kernels": "-m kernels"}
    for item in items:
        for marker in ways:
            if item.get_closest_marker(marker) and not wanted[marker]:
                item.add_marker(pytest.mark.skip(reason=f"{marker}: run with {ways[marker]}"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real data sets, named by the environment variable RAYTPNN_DATA."""
    folder = os.environ.get("RAYTPNN_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data not found: set RAYTPNN_DATA to its folder")
    return Path(folder)


@pytest.fixture(scope="module")
def cluster():
    """A Ray of this machine with two cores."""
    import ray

    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False
    )
    yield ray
    ray.shutdown()
    patch.undo()


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """A long run in threads, undisturbed."""
    run = tmp_path_factory.mktemp("long") / "run"
    fit(run, **LONG)
    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A short run that has ended."""
    run = tmp_path_factory.mktemp("finished") / "run"
    fit(run, **SHORT)
    return run


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of it that can be spoiled."""
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def begun(tmp_path):
    """A long run of which nothing but the data is there."""
    run = tmp_path / "run"
    with pytest.raises(ValueError, match="time limit"):
        fit(run, time_limit=1e-9, **LONG)
    for path in run.rglob("block=*"):
        path.unlink()
    return run
