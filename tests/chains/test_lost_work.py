"""What a machine that is taken away costs: the block at hand of each of its chains, and nothing before it."""

from __future__ import annotations

import math
import shutil

import pytest
from support.run_cases import assert_same_draws, files_of, fit

from raytpnn.chains.run.run import Run
from raytpnn.chains.work.choose_worker import chain_worker
from raytpnn.storage.places.place import Place

SIZE = {"chains": 2, "warmup": 100, "draws": 400}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run, **SIZE)
    return run


@pytest.fixture
def half_way(whole, tmp_path):
    """The run as a worker left it that died in block 3 of chain 1: nobody has heard of 1 and 2."""
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    for block in (3, 4):
        (run / f"checkpoint/chain=1/block={block}").unlink()
        (run / f"draws/chain=1/block={block}.parquet").unlink()
    return run


def worker_of(run):
    """A new worker that counts the blocks that it computes."""
    opened = Run.open(Place(run))
    worker = chain_worker(opened.plan(opened.rows()), opened.store)
    computed, original = [], worker.strategy.chain.run

    def counted(first, *more):
        computed.append(first // 100)
        return original(first, *more)

    worker.strategy.chain.run = counted
    return worker, computed


def test_blocks_that_a_dead_worker_has_finished_are_not_computed_again(whole, half_way):
    worker, computed = worker_of(half_way)
    before = files_of(half_way)
    reports = worker.run_blocks([1], [1, 2, 3, 4])
    assert computed == [3, 4]
    assert [math.isnan(report.seconds) for report in reports] == [True, True, False, False]
    assert {name: files_of(half_way)[name] for name in before} == before
    assert_same_draws(whole, half_way)
    assert reports[1].watched.n_draws == 100


@pytest.mark.parametrize("kind", ["checkpoint/chain=1/block=2", "draws/chain=1/block=2.parquet"])
def test_what_is_damaged_is_computed_again(whole, half_way, kind):
    path = half_way / kind
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    worker, computed = worker_of(half_way)
    worker.run_blocks([1], [1, 2, 3, 4])
    assert computed == [2, 3, 4]
    assert_same_draws(whole, half_way)


def test_a_worker_that_goes_on_reads_nothing_back(half_way):
    worker, _ = worker_of(half_way)
    worker.run_blocks([1], [3])

    def never(*args):
        raise AssertionError("a block of its own chain was looked for")

    worker.store.finished = worker.store.state_after = never
    assert worker.run_blocks([1], [4])
