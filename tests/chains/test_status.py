"""`raytpnn.status`: one reader of a run, whatever became of it, for programs and commands alike."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from support.cli_cases import call

import raytpnn
from raytpnn.chains.run.run import Run
from raytpnn.storage.lease import Lease, Record
from raytpnn.storage.places.identity import own_process
from raytpnn.storage.places.place import Place


def reopened(run):
    """Have a run say that it goes on; its last owner is this process, which has given it back."""
    with Lease.claim(Place(run)) as lease:
        Run.open(Place(run), lease).reopen()


def test_a_finished_run_with_the_figures_that_were_found_at_its_end(finished):
    status = raytpnn.status(finished)
    assert isinstance(status, raytpnn.RunStatus)
    assert (status.state, status.ended, status.lease) == ("finished", True, "released")
    assert (status.chains, status.sweeps, status.warmup) == (2, 400, 100)
    assert (status.done, status.draws) == ([400, 400], [300, 300])
    assert (status.blocks, status.planned, status.problems) == (8, 8, [])
    assert str(os.getpid()) in status.owner
    table = raytpnn.load(finished).diagnostics().set_index("quantity")
    assert status.convergence.rhat == table["rhat"].dropna().to_dict()
    assert status.rhat == max(status.convergence.rhat[name] for name in status.convergence.deciding)
    assert status.ess == status.convergence.least_ess() > 0.0
    assert status.convergence.draws == 300


def test_commands_tell_the_same(finished):
    status = raytpnn.status(os.fspath(finished))
    watched = json.loads(call("watch", finished, "--json").stdout)
    diagnosed = json.loads(call("diagnose", finished, "--json").stdout)
    assert watched["convergence"]["rhat_worst"] == diagnosed["rhat_worst"] == status.rhat
    assert watched["convergence"]["ess_least"] == diagnosed["ess_least"] == status.ess
    assert watched["draws"] == [chain["draws"] for chain in diagnosed["chains"]] == status.draws
    assert watched["blocks"] == diagnosed["blocks"] == status.blocks
    assert watched["state"] == diagnosed["state"] == status.state


def test_a_run_that_was_killed_with_what_is_known_so_far(copy):
    reopened(copy)
    for path in (copy / "checkpoint/chain=1").glob("block=[23]"):
        path.unlink()
    status = raytpnn.status(copy)
    assert (status.state, status.ended, status.done) == ("dead", False, [400, 200])
    assert status.draws == [300, 100]
    assert status.convergence.draws == 100, "of the one complete round with draws"
    assert not math.isnan(status.rhat)


def test_a_run_with_an_owner_that_is_alive(copy):
    with Lease.claim(Place(copy)) as lease:
        Run.open(Place(copy), lease).reopen()
        os.utime(copy / "checkpoint/chain=1/block=3", (time.time(), time.time()))
        status = raytpnn.status(copy)
    assert (status.state, status.lease) == ("running", "alive")
    assert str(os.getpid()) in status.owner


def test_a_run_that_was_stopped(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["checksum"]
    manifest |= {"state": "stopped", "config": manifest["config"] | {"stopped": "time limit"}}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    status = raytpnn.status(copy)
    assert (status.state, status.stopped, status.ended) == ("stopped", "time limit", True)


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_run_that_can_be_repaired(copy, damage):
    path = copy / "manifest.json"
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-40])
    status = raytpnn.status(copy)
    assert status.state == "repairable"
    assert damage in status.problems[0]
    assert "raytpnn repair" in status.problems[0]
    done = call("watch", copy, "--once")
    assert done.returncode == 1
    assert "raytpnn repair" in done.stderr
    assert call("repair", copy).returncode == 0
    assert raytpnn.status(copy).state == "finished"


def test_a_run_that_is_being_prepared_and_one_that_never_began(tmp_path):
    with Lease.claim(Place(tmp_path / "run")):
        (tmp_path / "run/data").mkdir()
        status = raytpnn.status(tmp_path / "run")
        assert (status.state, status.lease, status.ended) == ("preparing", "alive", False)
    with pytest.raises(raytpnn.RunError, match="is not a saved run"):
        raytpnn.status(tmp_path / "nothing")
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    owner = replace(own_process(), pid=gone.pid, started=1)
    Place(tmp_path / "left").write("lease/000001.json", Record(1, "token", owner).pack())
    with pytest.raises(raytpnn.RunError, match="is not a saved run"):
        raytpnn.status(tmp_path / "left")


def test_a_saved_posterior(finished, tmp_path):
    raytpnn.load(finished).save(tmp_path / "saved")
    status = raytpnn.status(tmp_path / "saved")
    assert (status.state, status.chains, status.ended) == ("saved", 2, True)
    assert math.isnan(status.rhat)
    assert math.isnan(status.ess)


def test_a_damaged_encoder_hides_nothing_else(copy):
    reopened(copy)
    path = copy / "encoder/encoder.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    status = raytpnn.status(copy)
    assert status.blocks == 8
    assert "encoder.parquet is damaged" in status.problems[0]
    assert not math.isnan(status.rhat)


def test_figures_that_are_none_are_refused_by_name(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["checksum"]
    manifest["config"]["diagnostics"] = [["loglik", "x"]]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(raytpnn.RunError, match=r"manifest\.json is damaged"):
        raytpnn.status(copy)
