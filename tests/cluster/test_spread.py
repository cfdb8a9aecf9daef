"""Ensembles in parts: wherever their replicas ran, the draws are those of one worker."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from support.ray_cases import Disturber, local_ray
from support.run_cases import assert_same_draws, files_of, small_data

import raytpnn
from raytpnn import Resources, Tempering
from raytpnn.chains import run_chains
from raytpnn.chains.run.run import Run
from raytpnn.chains.run.store import DiskStore
from raytpnn.chains.work.replica_parts import ReplicaParts
from raytpnn.chains.work.worker import Worker
from raytpnn.storage.places.place import Place

# Warm-up ends within a block, and the last block is short.
SIZE = {"chains": 2, "warmup": 450, "draws": 220, "seed": 8}
SPREAD = Tempering(replicas=4, spread=True)


def fit(out, **options):
    X, y = small_data(60)
    return raytpnn.sample(X, y, out=out, **{"executor": "threads", "tempering": SPREAD, **SIZE, **options})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run by ensembles that stay together."""
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run)
    return run


@pytest.fixture
def begun(whole, tmp_path):
    """The same run before its first block."""
    X, y = small_data(60)
    run = tmp_path / "begun"
    raytpnn.sample(X, y, out=run, executor="threads", tempering=SPREAD, **SIZE)
    for path in [*run.glob("checkpoint/*/*"), *run.glob("draws/*/*")]:
        path.unlink()
    return run


def assert_same_files(left, right):
    assert_same_draws(left, right)
    assert files_of(left, "checkpoint") == files_of(right, "checkpoint")


@pytest.mark.parametrize("count", [1, 3])
def test_parts_joined_are_the_block_of_one_worker(whole, begun, count):
    run = Run.open(Place(begun))
    plan = run.plan(run.rows())
    workers = [Worker(plan, DiskStore(run.place, run.store.plan), ReplicaParts(plan)) for _ in range(count)]
    rng = np.random.default_rng(0)
    for block in range(len(plan.length.blocks())):
        for chain in range(2):
            parts = [
                workers[rng.integers(count)].run_part(chain, block, int(replica))
                for replica in rng.permutation(4)
            ]
            parts.sort(key=lambda part: part.replica)
            workers[rng.integers(count)].join_block(chain, block, parts, 0.0)
    assert_same_files(whole, begun)


def test_replicas_trade_places(whole):
    summary = raytpnn.load(whole).tempering()
    assert summary.levels["swap_rate"].dropna().between(0.0, 1.0).all()
    together = raytpnn.sample(
        *small_data(60), executor="threads", tempering=Tempering(replicas=4, swap_every=100), **SIZE
    )
    assert together.draws.loglik.tobytes() == raytpnn.load(whole).draws.loglik.tobytes()
    often = raytpnn.sample(*small_data(60), executor="threads", tempering=Tempering(replicas=4), **SIZE)
    assert not np.array_equal(often.draws.loglik, together.draws.loglik)


def test_scratch_space_is_that_of_one_replica(begun):
    run = Run.open(Place(begun))
    plan = run.plan(run.rows())
    together, alone = plan.new_chain(), plan.new_chain(in_parts=True)
    assert len({int(work.phi) for work in together.works}) == 4
    assert len({int(work.phi) for work in alone.works}) == 1


def test_spread_must_be_a_truth_value():
    with pytest.raises(ValueError, match=r"Tempering.spread must be True or False, got 3"):
        Tempering(spread=3)


ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster():
    with local_ray(4):
        yield


@pytest.mark.parametrize("workers", [1, 3])
def test_on_ray_with_any_number_of_workers(cluster, whole, tmp_path, workers):
    fit(tmp_path / "run", executor="ray", resources=Resources(workers=workers))
    assert_same_files(whole, tmp_path / "run")


class WorkersSeen(Disturber):
    """Disturbs, and notes how many workers were busy at a time."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.most = 0

    def update(self, chains, where):
        self.most = max(self.most, len(self.executor.tasks))
        self.seen = dict(self.executor.ready)
        if self.executor.tasks:
            super().update(chains, where)


def kill_busy_worker(executor):
    """SIGKILL a worker that was given something just now."""
    task = next(reversed(executor.tasks.values()))
    pid = executor.ready[task.worker]["pid"]
    os.kill(pid, signal.SIGKILL)
    return pid


def test_a_worker_killed_with_a_part_in_hand_changes_nothing(cluster, whole, begun, monkeypatch):
    disturber = WorkersSeen(200, kill_busy_worker)
    made = run_chains.make_executor

    def watched(*arguments):
        disturber.executor = made(*arguments)
        return disturber.executor

    monkeypatch.setattr(run_chains, "make_executor", watched)
    raytpnn.resume(begun, executor="ray", resources=Resources(workers=4), progress=disturber)
    assert disturber.result is not None
    assert disturber.result not in {where["pid"] for where in disturber.seen.values()}
    assert disturber.most > 2, "an ensemble takes more than one worker"
    assert_same_files(whole, begun)
