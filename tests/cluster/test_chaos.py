"""Runs on a Ray of several nodes to which everything happens at once; all end with the draws of a quiet one.

Drivers, workers and nodes are killed, second drivers started, the disk is full or read-only for a while,
writes fail at random or take long, and the clock on the wall jumps. `pytest --slow` has thirty such runs,
else there is a short one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from support.ray_cases import FAST_HEALTH_CHECKS
from support.run_cases import LONG, assert_same_draws

import raytpnn

ray = pytest.importorskip("ray")

TESTS = Path(__file__).parents[1]
DRIVER = f"""
import sys
from pathlib import Path
import raytpnn
from support.run_cases import fit
run, address = sys.argv[1:]
if (Path(run) / "manifest.json").exists():
    raytpnn.resume(run, executor="ray", address=address)
else:
    fit(run, executor="ray", address=address, **{LONG!r})
"""
# Chaotic sessions of a run; the one after them is left in peace.
MOST_SESSIONS = 2
SESSION_SECONDS = 240.0
COUNTS: Counter[str] = Counter()
EVENTS = [
    *("kill_driver", "kill_driver", "kill_worker", "kill_worker", "kill_node", "second_driver"),
    *("full_disk", "read_only", "failing_writes", "slow_writes", "clock_jump"),
]
# What happens to the run of every day, session by session.
SHORT = [["clock_jump", "kill_worker", "kill_driver"], ["failing_writes", "kill_node", "second_driver"]]


class Sky:
    """Two nodes and the weather over them.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder):
        from ray.cluster_utils import Cluster

        self.file = folder / "weather.json"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.env = os.environ | {
            "PYTHONPATH": os.pathsep.join(
                [str(TESTS / "support" / "weather"), str(TESTS), os.environ.get("PYTHONPATH", "")]
            ),
            "RAYTPNN_WEATHER": str(self.file),
            "RAYTPNN_STORAGE_PATIENCE": "2",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self.set()
        self.patch = pytest.MonkeyPatch()
        for name in ("PYTHONPATH", "RAYTPNN_WEATHER", "RAYTPNN_STORAGE_PATIENCE"):
            self.patch.setenv(name, self.env[name])
        # Ray's own temporary files stay where they are; drivers put theirs where they can be counted.
        self.env["TMPDIR"] = str(self.temporary)
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "object_store_memory": 100_000_000,
                "_system_config": FAST_HEALTH_CHECKS,
                "include_dashboard": False,
            },
        )
        self.nodes = [self.add(), self.add()]

    def add(self):
        return self.cluster.add_node(num_cpus=1, object_store_memory=100_000_000)

    def set(self, **weather):
        """Change the weather, at once for every process; a write always takes a little."""
        weather = {"delay": 0.2} | weather
        beside = self.file.with_suffix(".new")
        beside.write_text(json.dumps(weather))
        os.replace(beside, self.file)

    def workers(self):
        """Processes of workers on the nodes of this cluster, and of no other."""
        found = []
        for node in self.cluster.list_all_nodes():
            for group in node.all_processes.values():
                for process in group:
                    try:
                        children = psutil.Process(process.process.pid).children(recursive=True)
                        found += [one for one in children if "BlockWorker" in "".join(one.cmdline()[:1])]
                    except psutil.Error:
                        continue
        return found

    def close(self):
        self.cluster.shutdown()
        self.patch.undo()


@pytest.fixture(scope="module")
def sky(tmp_path_factory):
    made = Sky(tmp_path_factory.mktemp("sky"))
    yield made
    made.close()
    print("\nwhat happened:", dict(sorted(COUNTS.items())))


class Chaos:
    """One run, and what happens to it.

    Parameters
    ----------
    sky : Sky
    run : Path
    seed : int
    """

    def __init__(self, sky, run, seed):
        self.sky, self.run = sky, run
        self.dice = random.Random(seed)
        self.log = run.with_suffix(".log")
        self.drivers = []

    def start(self):
        """Begin the run, or go on with it."""
        with self.log.open("ab") as log:
            driver = subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(self.run), self.sky.cluster.address],
                env=self.sky.env | {"RAYTPNN_WEATHER_SEED": str(self.dice.random())},
                stdout=log,
                stderr=log,
            )
        self.drivers.append(driver)
        return driver

    def blocks(self):
        return len(list(self.run.glob("checkpoint/*/block=*")))

    def wait(self, driver, condition):
        """Wait for something to come true; whether it did before the driver ended."""
        end = time.monotonic() + SESSION_SECONDS
        while not condition():
            assert time.monotonic() < end, f"it hangs: {self.log.read_text()[-3000:]}"
            if driver.poll() is not None:
                return False
            time.sleep(0.02)
        return True

    def session(self, events):
        """One process on the run, and what happens to it; its exit code."""
        driver = self.start()
        for event in events:
            goal = self.blocks() + self.dice.randint(0, 4)
            if not self.wait(driver, lambda goal=goal: (self.run / "log").exists() and self.blocks() >= goal):
                break
            time.sleep(self.dice.random() * 0.3)
            COUNTS[event] += 1
            getattr(self, event)(driver)
        self.wait(driver, lambda: False)
        return driver.wait()

    def kill_driver(self, driver):
        driver.kill()

    def kill_worker(self, driver):
        if self.wait(driver, self.sky.workers):
            # They may have ended since.
            workers = self.sky.workers()
            for worker in self.dice.sample(workers, min(1, len(workers))):
                with suppress(psutil.NoSuchProcess):
                    worker.send_signal(signal.SIGKILL)
                    COUNTS["workers killed"] += 1

    def kill_node(self, driver):
        node = self.sky.nodes.pop(self.dice.randrange(len(self.sky.nodes)))
        self.sky.cluster.remove_node(node, allow_graceful=False)
        self.sky.nodes.append(self.sky.add())

    def second_driver(self, driver):
        before = len(self.log.read_bytes())
        second = self.start()
        code = second.wait(SESSION_SECONDS)
        said = self.log.read_bytes()[before:].decode(errors="replace")
        if code:
            refused = "is being worked on by" in said or "holds a run already" in said
            assert refused or driver.poll() is not None, said[-3000:]
            COUNTS["second drivers refused"] += refused

    def full_disk(self, driver):
        self.bad_weather(errno="ENOSPC")

    def read_only(self, driver):
        self.bad_weather(errno="EROFS")

    def failing_writes(self, driver):
        self.bad_weather(errno=self.dice.choice(["EIO", "ESTALE", "ETIMEDOUT"]), share=0.3)

    def slow_writes(self, driver):
        self.bad_weather(delay=0.5)

    def clock_jump(self, driver):
        self.bad_weather(clock=self.dice.choice([-1, 1]) * self.dice.random() * 1e6)

    def bad_weather(self, **weather):
        """Bad weather, for a moment or until the driver has ended."""
        self.sky.set(**weather)
        if self.dice.random() < 0.6:
            time.sleep(self.dice.random() * 1.5)
            self.sky.set()

    def drawn(self, most_sessions, most_events):
        """Events of some sessions, by the dice."""
        for _ in range(most_sessions):
            yield [self.dice.choice(EVENTS) for _ in range(self.dice.randint(1, most_events))]

    def to_the_end(self, sessions):
        """Sessions until the run is finished, the last one in peace."""
        for events in sessions:
            code = self.session(events)
            self.sky.set()
            COUNTS["sessions"] += 1
            if code == 0 and self.finished():
                return
            COUNTS["sessions that ended early"] += 1
        assert self.session([]) == 0, self.log.read_text()[-5000:]
        COUNTS["sessions"] += 1

    def finished(self):
        try:
            return json.loads((self.run / "manifest.json").read_text())["state"] == "finished"
        except FileNotFoundError:
            return False

    def end(self):
        """End what this started."""
        for driver in self.drivers:
            if driver.poll() is None:
                driver.kill()
            driver.wait()


def shared_memory():
    return {name for name in os.listdir("/dev/shm") if name.startswith("raytpnn")}


def comes_true(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def check_chaos(quiet, chaos, sessions):
    """Have things happen to a run; in the end it is that of a quiet day, and nothing is left behind."""
    sky, run = chaos.sky, chaos.run
    before = shared_memory()
    try:
        chaos.to_the_end(sessions)
    finally:
        chaos.end()
        sky.set()
    COUNTS["runs"] += 1
    assert_same_draws(quiet, run)
    assert raytpnn.load(run).draws.n_draws == LONG["chains"] * LONG["draws"]
    assert not list(run.parent.rglob("*.part")), "nothing half written is left"
    assert comes_true(lambda: not sky.workers()), "workers are left behind"
    assert comes_true(lambda: not shared_memory() - before), "shared memory is left behind"
    assert comes_true(lambda: not [name for name in os.listdir(sky.temporary) if "raytpnn" in name])


def test_a_run_to_which_a_little_of_everything_happens(long_run, sky, tmp_path):
    check_chaos(long_run, Chaos(sky, tmp_path / "run", 0), SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_a_run_in_chaos_ends_with_the_draws_of_a_quiet_one(long_run, sky, tmp_path, seed):
    chaos = Chaos(sky, tmp_path / "run", seed)
    check_chaos(long_run, chaos, chaos.drawn(MOST_SESSIONS, 4))
