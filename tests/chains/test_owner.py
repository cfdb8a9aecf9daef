"""One owner: of two processes on a run one is refused; the lease of a dead one is taken over."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.cli_cases import call
from support.run_cases import SIZE, assert_same_draws, files_of, fit

import raytpnn
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.run.run import Run
from raytpnn.storage import lease as leases
from raytpnn.storage.lease import Lease, LeaseLost, LeaseReader, RunInUse
from raytpnn.storage.places.atomic_files import part_name
from raytpnn.storage.places.identity import Process, own_process
from raytpnn.storage.places.place import Place

DRIVER = """
import sys
from support.run_cases import fit
fit(sys.argv[1], draws=100_000)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run)
    return run


@pytest.fixture
def copy(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def start_driver(run, driver=DRIVER):
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", driver, str(run)],
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,
    )


def wait_for(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_second_on_a_live_run_is_refused_and_a_dead_owner_followed_at_once(tmp_path):
    run = tmp_path / "run"
    process = start_driver(run)
    try:
        wait_for(lambda: list(run.glob("checkpoint/*/block=6")))
        words = rf"worked on by .*process {process.pid} on .*watch.*kill {process.pid}.*resume"
        with pytest.raises(RunInUse, match=words):
            raytpnn.resume(run, time_limit=1.0)
        with pytest.raises(RunInUse, match=words):
            fit(run)
        refused = call("resume", run)
        assert refused.returncode == 1
        assert f"process {process.pid} on" in refused.stderr
        with pytest.raises(RunInUse, match=words):
            raytpnn.load(run, unfinished=True).save(run, overwrite=True)
        os.kill(process.pid, signal.SIGSTOP)
        with pytest.raises(RunInUse, match=words):
            raytpnn.resume(run, time_limit=1.0)
    finally:
        process.kill()
        process.wait()
    begin = time.monotonic()
    with pytest.warns(UserWarning, match="stopped by time limit"):
        raytpnn.resume(run, time_limit=0.5)
    assert time.monotonic() - begin < leases.EXPIRE_SECONDS / 2
    assert json.loads((run / "manifest.json").read_text())["state"] == "stopped"
    assert LeaseReader(Place(run)).look() == "released"


def test_of_many_who_claim_at_a_time_one_gets_it(tmp_path):
    for attempt in range(20):
        place = Place(tmp_path / str(attempt))
        held, refused = [], []
        gate = threading.Barrier(8)

        def claim(place=place, gate=gate, held=held, refused=refused):
            gate.wait()
            try:
                held.append(Lease.claim(place))
            except RunInUse as problem:
                refused.append(str(problem))

        threads = [threading.Thread(target=claim) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(held), len(refused)) == (1, 7)
        assert "this very process" in refused[0]
        held[0].release()
        assert not (tmp_path / str(attempt)).exists(), "where nothing was done, nothing stays"


def elsewhere(place, **changes):
    """A lease of a process on another machine, which is not to be seen from here."""
    owner = Process("alice", "node7", "0" * 12, 4242, 17)
    record = leases.Record(1, "token", owner, **{"renew": 0.2, "expire": 1.5, **changes})
    place.write(record.name, record.pack())
    return record


def test_an_owner_elsewhere_that_is_silent_is_followed_whatever_the_clocks_say(copy, monkeypatch):
    place = Place(copy)
    shutil.rmtree(copy / "lease")
    elsewhere(place)
    # By the clock on the wall it was renewed a day from now, and each look is an hour after the one before.
    clock = iter(range(10**6))
    monkeypatch.setattr(leases.time, "time", lambda: 86_400.0 - 3600.0 * next(clock))
    said = []
    begin = time.monotonic()
    with Lease.claim(place, said.append) as lease:
        assert 1.5 <= time.monotonic() - begin < 10
        assert lease.record.generation == 2
    assert "alice, process 4242 on node7" in said[0]


def test_an_owner_elsewhere_that_renews_is_not_followed(copy, monkeypatch):
    place = Place(copy)
    shutil.rmtree(copy / "lease")
    record = elsewhere(place, expire=30.0)
    clock = iter(range(10**6))
    monkeypatch.setattr(leases.time, "time", lambda: 86_400.0 * next(clock))
    timer = threading.Timer(0.5, lambda: place.write(record.name, replace(record, count=1).pack()))
    timer.start()
    with pytest.raises(RunInUse, match="alice, process 4242 on node7"):
        raytpnn.resume(copy)


def test_a_lease_that_cannot_be_read_expires(copy, monkeypatch):
    place = Place(copy)
    place.write("lease/000009.json", b"{nonsense")
    clock = iter([0.0, 1.0, 59.0, 62.0])
    sight = LeaseReader(place, clock=lambda: next(clock))
    assert [sight.look() for _ in range(3)] == ["unknown", "unknown", "dead"]


def test_an_owner_that_was_taken_for_dead_stops_and_writes_nothing(tmp_path, monkeypatch):
    """As if the machine had been asleep: another one took the run over, made it longer and went away."""
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.05)
    run = tmp_path / "run"
    place = Place(run)

    class Usurper(Reporter):
        def update(self, chains, where):
            if sum(status.sweeps for status in chains) > 500 and not place.holds("lease/000002.json"):
                owner = Process("bob", "node8", "1" * 12, 77, 17)
                place.create("lease/000002.json", leases.Record(2, "other", owner).pack())

    with pytest.raises(LeaseLost, match="taken over by bob, process 77 on node8"):
        fit(run, draws=100_000, progress=Usurper(), time_limit=30.0)
    assert json.loads((run / "manifest.json").read_text())["state"] == "running"
    before = files_of(run, "checkpoint")
    time.sleep(0.3)
    assert files_of(run, "checkpoint") == before, "nobody writes any more"
    record = json.loads((run / "lease" / "000001.json").read_text())
    assert record["released"] is False


def test_workers_of_an_owner_that_was_followed_do_not_write(copy):
    place = Place(copy)
    with Lease.claim(place) as lease:
        run = Run.open(place, fence=lease.fence)
        report = run.store.finished(0, 9, run.length.blocks()[9])
        assert report is not None
        run.store.put(report, run.length.blocks()[9], None, b"state")
    other = Lease.claim(place)
    before = files_of(copy, "checkpoint")
    with pytest.raises(LeaseLost, match="taken over by"):
        run.store.put(report, run.length.blocks()[9], None, b"other")
    assert files_of(copy, "checkpoint") == before
    other.release()


def test_a_new_folder_never_deletes_what_somebody_else_wrote(tmp_path):
    place = Place(tmp_path / "run")

    def begin(meanwhile):
        with place.new_folder() as folder:
            (folder / "data").mkdir()
            (folder / "data" / "mine").write_text("mine")
            (folder / "manifest.json").write_text("mine")
            meanwhile.parent.mkdir(parents=True, exist_ok=True)
            meanwhile.write_text("theirs")

    for name in ("data/theirs", "manifest.json"):
        with pytest.raises(FileExistsError, match="written by somebody else in the meantime"):
            begin(tmp_path / "run" / name)
        assert files_of(tmp_path / "run", "") == {name: b"theirs"}
        shutil.rmtree(tmp_path / "run")
    begin(tmp_path / "run" / "notes.txt")
    assert sorted(files_of(tmp_path / "run", "")) == ["data/mine", "manifest.json", "notes.txt"]


def test_two_fits_in_one_folder_at_a_time_leave_one_whole_run(tmp_path, whole):
    run = tmp_path / "run"
    driver = "import sys\nfrom support.run_cases import fit\nfit(sys.argv[1])\n"
    processes = [start_driver(run, driver) for _ in range(2)]
    codes = sorted(process.wait(120) for process in processes)
    assert codes[0] == 0
    assert_same_draws(whole, run)
    assert not list(run.rglob("*.part"))
    assert raytpnn.load(run).draws.n_draws == SIZE["chains"] * SIZE["draws"]


def test_what_a_live_writer_has_beside_is_not_swept_up(copy, tmp_path):
    folder = copy / "draws" / "chain=0"
    mine = folder / part_name("block=3.parquet")
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    own = own_process()
    name = f".block=4.parquet.{own.machine}-{dead.pid}-1-{'a' * 32}.part"
    foreign = folder / f".block=5.parquet.{'0' * 12}-17-1-{'b' * 32}.part"
    for path in (mine, folder / name, foreign):
        path.write_bytes(b"half")
    raytpnn.resume(copy)
    assert mine.exists()
    assert foreign.exists(), "its writer may be alive"
    assert not (folder / name).exists()
    os.utime(foreign, (1e9, 1e9))
    raytpnn.resume(copy)
    assert not foreign.exists(), "nobody writes for years"


def test_a_fit_that_was_killed_while_it_began_is_begun_again(tmp_path, whole):
    run = tmp_path / "run"
    shutil.copytree(whole / "data", run / "data")
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    owner = replace(own_process(), pid=gone.pid, started=1)
    Place(run).write("lease/000001.json", leases.Record(1, "token", owner).pack())
    fit(run)
    assert_same_draws(whole, run)
    (tmp_path / "other" / "data").mkdir(parents=True)
    (tmp_path / "other" / "data" / "precious.csv").write_text("1")
    with pytest.raises(FileExistsError, match="not a saved run"):
        fit(tmp_path / "other")
    assert (tmp_path / "other" / "data" / "precious.csv").exists()


def test_a_lease_that_was_given_while_the_answer_got_lost_is_ours(tmp_path, monkeypatch):
    """As on a network disk: the file is there, and the answer says that it was there before."""
    original = Place.create
    monkeypatch.setattr(Place, "create", lambda *told: original(*told) and False)
    lease = Lease.claim(Place(tmp_path / "run"))
    assert lease.record.generation == 1
    lease.release()


def test_to_resume_what_somebody_prepares_is_refused_by_his_name(tmp_path):
    """The lease comes before the manifest: reading and encoding a table may take long."""
    run = tmp_path / "run"
    with Lease.claim(Place(run)):
        with pytest.raises(RunInUse, match="is being worked on by this very process"):
            raytpnn.resume(run)
        done = call("resume", run)
        assert done.returncode == 1
        assert "is being worked on by this very process" in done.stderr
    assert not run.exists()
