"""`raytpnn watch`: a run seen from its files, whatever became of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from support.cli_cases import COMMAND, PATIENCE_SECONDS, call, surroundings
from support.run_cases import SHORT, fit, manifest_of

from raytpnn.chains.run.run import Run
from raytpnn.chains.run.status import MOST_BLOCKS, StatusReader, longest_pause, speed
from raytpnn.storage.errors import RunError
from raytpnn.storage.lease import Lease, Record
from raytpnn.storage.places.identity import Process, own_process
from raytpnn.storage.places.place import Place


def set_state(run, state):
    """Have a run say another state, as one of an older version would, which had no lease."""
    shutil.rmtree(run / "lease", ignore_errors=True)
    (run / "manifest.json").write_text(json.dumps(manifest_of(run) | {"state": state}))


def drop_blocks(run, chain, blocks):
    for block in blocks:
        (run / f"checkpoint/chain={chain}/block={block}").unlink()


def set_times(run, times):
    """Pretend that blocks were written at these times, by chain and number."""
    for (chain, block), at in times.items():
        os.utime(run / f"checkpoint/chain={chain}/block={block}", (at, at))


def test_a_finished_run(finished):
    done = call("watch", finished, "--once")
    assert done.returncode == 0
    assert done.stdout.startswith("finished, 8 of 8 blocks of 2 chains, R-hat ")
    assert done.stdout.splitlines()[2].split()[:3] == ["0", "400", "400"]
    told = json.loads(call("watch", finished, "--json").stdout)
    assert told["state"] == "finished"
    assert told["done"] == [400, 400]
    diagnosed = json.loads(call("diagnose", finished, "--json").stdout)
    assert told["convergence"]["rhat_worst"] == pytest.approx(diagnosed["rhat_worst"])
    assert told["convergence"]["quantity"] == diagnosed["quantity"]


def test_a_run_under_way_with_its_speed_and_the_time_it_takes(copy):
    set_state(copy, "running")
    drop_blocks(copy, 0, [3])
    drop_blocks(copy, 1, [2, 3])
    # Chain 0 ends a block every 10 s, chain 1 every 20 s: 100 sweeps each, 15 a second.
    set_times(copy, {(0, 0): 1000, (0, 1): 1010, (0, 2): 1020, (1, 0): 1000, (1, 1): 1020})
    status = StatusReader(Place(copy), clock=lambda: 1027.0).look()
    assert (status.state, status.blocks, status.planned) == ("running", 5, 8)
    assert status.done == [300, 200]
    assert status.age == 7.0
    assert status.speed == pytest.approx(300 / 20)
    assert status.seconds_left == pytest.approx(300 / 15)
    assert status.convergence.draws == 100, "of the one complete round with draws"
    assert all(status.terms)


def test_silence_is_noticed_and_not_too_soon(copy):
    set_state(copy, "running")
    drop_blocks(copy, 0, [3])
    times = {(chain, block): 1000.0 + 60.0 * block for chain in (0, 1) for block in range(4)}
    times.pop((0, 3))
    set_times(copy, times)
    last = max(times.values())
    assert StatusReader(Place(copy), clock=lambda: last + 599).look().state == "running"
    assert StatusReader(Place(copy), clock=lambda: last + 601).look().state == "silent"
    done = call("watch", copy, "--once")
    assert done.returncode == 5
    assert "raytpnn resume" in " ".join(done.stdout.split())
    set_times(copy, {(1, 3): time.time()})
    assert call("watch", copy, "--once").returncode == 4


def test_a_stopped_run_and_one_short_of_its_target(copy):
    set_state(copy, "stopped")
    manifest = manifest_of(copy)
    manifest["config"] |= {"stopped": "time limit"}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    done = call("watch", copy, "--once")
    assert done.returncode == 3
    assert done.stdout.startswith("stopped by time limit")
    manifest |= {"state": "finished"}
    manifest["config"] |= {"stopped": None, "converged": False}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    done = call("watch", copy, "--once")
    assert done.returncode == 3
    assert "target not met" in done.stdout


def test_a_damaged_block_is_named_and_seen_again_when_mended(copy):
    set_state(copy, "running")
    path = copy / "checkpoint/chain=1/block=2"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"x")
    reader = StatusReader(Place(copy))
    status = reader.look()
    assert status.blocks == 7
    (problem,) = status.problems
    assert "chain=1/block=2 is damaged" in problem
    assert status.convergence.draws == 100, "rounds before the damage"
    path.write_bytes(whole)
    os.utime(path, (1e9, 1e9))
    status = reader.look()
    assert (status.blocks, status.problems) == (8, [])
    assert status.convergence.draws == 300


def test_no_run_and_a_saved_posterior(finished, tmp_path):
    done = call("watch", tmp_path / "nothing", "--once")
    assert done.returncode == 1
    assert "is not a saved run" in done.stderr
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    with pytest.raises(RunError, match="damaged"):
        StatusReader(Place(tmp_path / "broken")).look()
    import raytpnn

    raytpnn.load(finished).save(tmp_path / "saved")
    done = call("watch", tmp_path / "saved", "--once")
    assert done.returncode == 0
    assert "nothing to watch" in done.stdout


def test_before_the_first_block(begun):
    with Lease.claim(Place(begun)) as lease:
        Run.open(Place(begun), lease).reopen()
        done = call("watch", begun, "--once")
    assert done.returncode == 4
    assert "0 of 20 blocks of 4 chains, no block yet" in done.stdout


def test_a_run_is_followed_from_before_its_beginning_to_its_end(tmp_path):
    watcher = subprocess.Popen(
        [*COMMAND, "watch", str(tmp_path / "run"), "--every", "0.2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(),
    )
    assert "waiting for a run to begin" in watcher.stderr.readline()
    fit(tmp_path / "run", **SHORT)
    said, complaints = watcher.communicate(timeout=PATIENCE_SECONDS)
    assert watcher.returncode == 0, complaints
    assert said.splitlines()[-1].startswith("finished, 8 of 8 blocks")


def test_of_too_many_blocks_only_names_are_read(copy, monkeypatch):
    assert MOST_BLOCKS > 100
    monkeypatch.setattr("raytpnn.chains.run.status.MOST_BLOCKS", 5)
    assert StatusReader(Place(copy)).look().rhat > 0.0, "known from the manifest of a run that has ended"
    set_state(copy, "running")
    status = StatusReader(Place(copy)).look()
    assert (status.blocks, status.convergence, status.terms) == (8, None, [None, None])
    assert "raytpnn diagnose" in call("watch", copy, "--once").stdout


def test_speed_is_that_of_the_latest_blocks():
    blocks = [(100 * i, 100) for i in range(1000)]
    # A day of nothing between two sessions does not count.
    times = {(0, b): 10.0 * b + (86_400 if b >= 20 else 0) for b in range(40)}
    assert longest_pause(times) == 10.0
    assert speed(times, blocks, 10.0) == pytest.approx(10.0)
    assert speed({(0, 0): 1.0}, blocks, 0.0) != speed({(0, 0): 1.0}, blocks, 0.0), "not a number"


def follow(run, *more):
    return subprocess.Popen(
        [*COMMAND, "watch", str(run), "--every", "0.2", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(),
    )


FIT = """
import sys
from support.run_cases import fit
fit(sys.argv[1], draws=100_000)
"""


def test_a_run_whose_process_is_killed_is_noticed(tmp_path):
    run = tmp_path / "run"
    path = os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH", "")])
    driver = subprocess.Popen([sys.executable, "-c", FIT, str(run)], env=os.environ | {"PYTHONPATH": path})
    watcher = follow(run)
    try:
        while not list(run.glob("checkpoint/*/block=3")):
            time.sleep(0.01)
        assert call("watch", run, "--once").returncode == 4
    finally:
        driver.kill()
        driver.wait()
    done = call("watch", run, "--once")
    assert done.returncode == 5
    assert done.stdout.startswith("dead, ")
    assert f"process {driver.pid} on" in " ".join(done.stdout.split())
    said, complaints = watcher.communicate(timeout=PATIENCE_SECONDS)
    assert watcher.returncode == 5, complaints
    assert "raytpnn resume" in said


def test_a_dead_run_of_another_machine_is_noticed_by_its_lease(copy):
    set_state(copy, "running")
    place = Place(copy)
    owner = Process("alice", "node7", "0" * 12, 4242, 17)
    place.write("lease/000001.json", Record(1, "token", owner, renew=0.2, expire=1.0).pack())
    reader = StatusReader(place)
    assert reader.look().state in ("running", "silent")
    time.sleep(1.2)
    status = reader.look()
    assert (status.state, status.owner) == ("dead", "alice, process 4242 on node7")


def test_a_folder_that_does_not_come(tmp_path):
    begin = time.monotonic()
    watcher = follow(tmp_path / "nothing", "--wait", "1")
    _, complaints = watcher.communicate(timeout=PATIENCE_SECONDS)
    assert watcher.returncode == 1
    assert "no run has begun in" in complaints
    assert time.monotonic() - begin < 30
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    owner = replace(own_process(), pid=gone.pid, started=1)
    Place(tmp_path / "begun").write("lease/000001.json", Record(1, "token", owner).pack())
    watcher = follow(tmp_path / "begun")
    _, complaints = watcher.communicate(timeout=PATIENCE_SECONDS)
    assert watcher.returncode == 1
    assert "the process that prepared it is gone" in complaints


def test_a_run_whose_files_are_on_their_way_is_waited_for(finished, tmp_path):
    """Data come first and the manifest last; to an object store that takes a while."""
    run = tmp_path / "run"
    with Lease.claim(Place(run)):
        shutil.copytree(finished / "data", run / "data")
        done = call("watch", run, "--once")
        assert done.returncode == 1
        assert f"{own_process()} prepares a run in" in done.stderr
        watcher = follow(run)
        for line in watcher.stderr:
            if "prepares a run there" in line:
                break
        else:
            pytest.fail("it does not wait")
        shutil.copytree(finished, run, dirs_exist_ok=True)
        said, complaints = watcher.communicate(timeout=PATIENCE_SECONDS)
    assert watcher.returncode == 0, complaints
    assert said.startswith("finished")
    # What was left by somebody who is gone is not waited for.
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    left = tmp_path / "left"
    shutil.copytree(finished / "data", left / "data")
    owner = replace(own_process(), pid=gone.pid, started=1)
    Place(left).write("lease/000001.json", Record(1, "token", owner).pack())
    watcher = follow(left)
    _, complaints = watcher.communicate(timeout=PATIENCE_SECONDS)
    assert watcher.returncode == 1
    assert "is not a saved run: it has no manifest.json" in complaints
