"""The end of a run: no wait without an end, and signals as they were before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.run_cases import assert_same_draws, fit

import raytpnn
from raytpnn.chains.executors import threads
from raytpnn.chains.schedule.signals import Interrupts
from raytpnn.storage.places import atomic_files as beside

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture
def own_signals():
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_ignored_signals_stay_ignored(own_signals):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.count == 1
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


EMBEDDED = """
import ctypes, signal, sys
from support.cli_cases import call
from support.run_cases import fit
# A handler that is not Python's, as a program that embeds it has: Python calls it None.
libc = ctypes.CDLL(None)
libc.signal.restype = ctypes.c_void_p
libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
noted = []
handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(noted.append)
libc.signal(signal.SIGTERM, ctypes.cast(handler, ctypes.c_void_p))
# It takes note of handlers when it starts, so that here it must be told.
signal.getsignal = lambda number, real=signal.getsignal: None if number == signal.SIGTERM else real(number)
fit(sys.argv[1])
assert call("resume", sys.argv[1], "--executor", "threads").returncode == 0
again = libc.signal(signal.SIGTERM, ctypes.cast(handler, ctypes.c_void_p))
assert again == ctypes.cast(handler, ctypes.c_void_p).value, "it is still the program's"
"""


def test_a_handler_of_a_program_that_embeds_python_is_left_alone(tmp_path):
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", EMBEDDED, str(tmp_path / "run")],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_handler_set_in_the_meantime_stays(own_signals):
    def mine(number, frame):
        pass

    with Interrupts():
        signal.signal(signal.SIGTERM, mine)
    assert signal.getsignal(signal.SIGTERM) is mine


def test_from_a_thread(tmp_path):
    fit(tmp_path / "main")
    problems = []

    def work():
        try:
            fit(tmp_path / "thread")
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(120)
    assert problems == []
    assert_same_draws(tmp_path / "main", tmp_path / "thread")


@pytest.fixture
def hung_writes(monkeypatch):
    """Writes of one block hang, as on a network disk whose server is gone."""
    gate = threading.Event()
    original = beside._written

    def written(target, data, durable):
        if "block=4" in target.name:
            gate.wait(60)
        return original(target, data, durable)

    monkeypatch.setattr(beside, "_written", written)
    yield gate
    gate.set()


def test_a_writer_that_hangs_ends_the_run(tmp_path, monkeypatch, hung_writes):
    monkeypatch.setattr(threads, "HUNG_SECONDS", 1.0)
    monkeypatch.setattr(threads, "CLOSE_SECONDS", 1.0)
    begin = time.monotonic()
    with pytest.raises(raytpnn.RunError, match=r"has not moved for 1 s.*raytpnn resume"):
        fit(tmp_path / "run")
    assert time.monotonic() - begin < 30
    hung_writes.set()
    fit(tmp_path / "whole")
    wait = time.monotonic() + 30
    while any(thread.name.startswith("raytpnn-0") for thread in threading.enumerate()):
        assert time.monotonic() < wait
        time.sleep(0.05)
    raytpnn.resume(tmp_path / "run")
    assert_same_draws(tmp_path / "whole", tmp_path / "run")


HOLDER = """
import sys, time
from raytpnn.engine.exchange.meeting import map_mailbox
mailbox = map_mailbox(sys.argv[1], 8)
print("mapped", flush=True)
time.sleep(600)
"""


def test_shared_memory_of_shards_that_were_killed_is_removed_and_no_other(tmp_path):
    """A driver that is killed before all shards have met has removed no name."""
    from raytpnn.engine.exchange.meeting import map_mailbox, remove_old_mailboxes

    holders = {}
    for name in ("raytpnn-alive", "raytpnn-killed"):
        holders[name] = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path / name)], stdout=subprocess.PIPE, text=True
        )
        assert holders[name].stdout.readline() == "mapped\n"
    holders["raytpnn-killed"].kill()
    holders["raytpnn-killed"].wait()
    young = map_mailbox(str(tmp_path / "raytpnn-young"), 8)
    (tmp_path / "other").write_text("")
    for name in ("raytpnn-alive", "raytpnn-killed", "other"):
        os.utime(tmp_path / name, (1e9, 1e9))
    try:
        remove_old_mailboxes(tmp_path, "raytpnn-")
        assert sorted(os.listdir(tmp_path)) == ["other", "raytpnn-alive", "raytpnn-young"]
    finally:
        holders["raytpnn-alive"].kill()
        for holder in holders.values():
            holder.communicate()
    assert young.size
