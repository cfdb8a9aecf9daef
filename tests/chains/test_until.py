"""Runs without a number of draws go on until they have converged; what they keep depends on sweeps alone."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import warnings

import numpy as np
import pytest
from support.run_cases import files_of, manifest_of, small_data

import raytpnn
from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.monitoring.monitor import Monitor
from raytpnn.forward.probe import probe_rows
from raytpnn.options.checks import length_asked, limited
from raytpnn.storage.formats.checkpoint import Checkpoint
from raytpnn.storage.formats.length import MOST_DRAWS, Length

# Sixteen rounds; at the end 400 sweeps are warm-up and every second one after them counts.
WHOLE = {"chains": 2, "warmup": 100, "max_sweeps": 1600, "executor": "threads", "seed": 5}


def fit(out=None, n=40, **options):
    X, y = small_data(n)
    return raytpnn.sample(X, y, out=out, **WHOLE | options)


def assert_same(left, right):
    """Two posteriors have the same draws."""
    for name, values in vars(left.draws).items():
        np.testing.assert_array_equal(values, getattr(right.draws, name), err_msg=name)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run to the limit, undisturbed."""
    run = tmp_path_factory.mktemp("whole") / "run"
    return run, fit(run)


def lengths():
    rng = np.random.default_rng(0)
    for _ in range(25):
        warmup, thin = int(rng.integers(0, 2000)), int(rng.integers(1, 6))
        most = warmup + int(rng.integers(1, 12_000))
        yield Length(2, warmup, None, thin, int(rng.choice([100, 37])), most)


def counted_of(length, rounds, numbers_of):
    """Sweeps of the draws that are there after some rounds and count, by the numbers of blocks."""
    numbers = np.concatenate([numbers_of(block) for block in range(rounds)])
    which = length.counted(length.sweeps_of(rounds))
    return length.warmup + (numbers[which.among(numbers)] + 1) * length.thin, which


def wanted_of(which, length):
    """The same by the definition: every t-th sweep after warm-up."""
    every = np.arange(1, which.sweeps + 1)
    return every[(every > which.warmup) & ((every - length.warmup) % which.thin == 0)]


def test_what_counts_is_held_by_the_blocks_whatever_the_end():
    for length in lengths():
        blocks = len(length.blocks())
        for rounds in {1, blocks // 3 + 1, blocks // 2 + 1, blocks}:
            found, which = counted_of(length, rounds, length.numbers_of)
            np.testing.assert_array_equal(found, wanted_of(which, length))
            assert len(found) == which.draws <= MOST_DRAWS
            assert which.warmup >= max(length.warmup, which.sweeps // 4)


def test_a_thinning_that_does_not_nest_is_noticed():
    """A twin: blocks thinned to just 1,000 draws, not by powers of 2, lack draws that count later."""

    def numbers_of(length, block):
        sweeps = length.sweeps_of(block + 1)
        step = max(1, -(-(sweeps - max(length.warmup, sweeps // 4)) // (MOST_DRAWS * length.thin)))
        numbers = np.arange(length.sweeps_of(block), sweeps) - length.warmup
        return numbers[(numbers >= 0) & ((numbers + 1) % step == 0)]

    length = Length(2, 0, None, 1, 100, 12_000)
    found, which = counted_of(length, 120, lambda block: numbers_of(length, block))
    assert not np.array_equal(found, wanted_of(which, length))


def test_looks_are_a_fixed_list():
    length = Length(4, 1000, None, max_sweeps=20_000)
    looks = length.looks(100)
    assert looks[0] == 11
    assert looks[-1] == 200
    assert all(b >= 1.25 * a for a, b in itertools.pairwise(looks[:-1]))
    longer = Length(4, 1000, None, max_sweeps=40_000).looks(100)
    assert longer[: len(looks) - 1] == looks[:-1], "more sweeps, the same looks"
    assert length.counted(2000).draws == 1000
    assert length.counted(20_000).thin == 16


def watched_of(run):
    """What was watched of every block, by chain."""
    found = [{}, {}]
    for path in sorted(run.glob("checkpoint/chain=*/block=*")):
        report = BlockReport.of(Checkpoint.unpack(path.read_bytes(), path.name))
        found[report.chain][report.block] = report.watched
    return found


class Hasty(Monitor):
    """A twin: takes all blocks that have arrived."""

    def blocks_up_to(self, last_block):
        return super().blocks_up_to(min(max(own, default=0) for own in self.watched))


@pytest.mark.parametrize(("kind", "same"), [(Monitor, True), (Hasty, False)])
def test_convergence_depends_on_complete_rounds_and_not_on_what_else_has_arrived(whole, kind, same):
    run, _ = whole
    length, watched = Length(2, 100, None, max_sweeps=1600), watched_of(run)
    found = []
    for ahead in (0, 5):
        monitor = kind(2, ["a", "b", "c=u", "c=v", "c=w"], probe_rows(40), length)
        for chain in (1, 0):
            for block in range(8 + ahead):
                monitor.add(chain, block, watched[chain].get(block))
        found.append(monitor.assess(7))
    assert (found[0].rhat == found[1].rhat) is same


def test_the_end_of_a_run_to_its_limit(whole):
    run, post = whole
    manifest = json.loads((run / "manifest.json").read_text())
    assert post.config["converged"] is False
    assert manifest["state"] == "finished"
    assert manifest["counted"]["warmup"] == 400
    assert manifest["counted"]["thin"] == 2
    assert manifest["n_draws"] == post.draws.n_draws == 2 * 600
    np.testing.assert_array_equal(np.unique(post.draws.draw), np.arange(600))
    assert_same(post, raytpnn.load(run))
    held = [name for name in files_of(run) if "block=" in name]
    assert sorted({int(name.split("block=")[1].split(".")[0]) for name in held}) == list(range(4, 16)), (
        "draws of blocks that are warm-up by now are gone"
    )


def test_memory_and_workers_change_no_draw(whole, monkeypatch):
    _, post = whole
    assert_same(post, fit())
    monkeypatch.setattr("raytpnn.chains.executors.threads.usable_cores", lambda: 1, raising=False)
    assert_same(post, fit())


def test_draws_are_those_of_the_sweeps_that_count(whole):
    """A run with as many draws as sweeps holds them."""
    _, post = whole
    X, y = small_data(40)
    every = raytpnn.sample(X, y, chains=2, warmup=100, draws=1500, executor="threads", seed=5)
    kept = every.draws.take(np.flatnonzero((every.draws.draw >= 300) & (every.draws.draw % 2 == 1)))
    assert kept.loglik.tobytes() == post.draws.loglik.tobytes()
    assert kept.beta.tobytes() == post.draws.beta.tobytes()


def cut(run, target, blocks):
    """A copy of a run as a kill leaves it after some blocks of either chain."""
    shutil.copytree(run, target)
    manifest = manifest_of(target)
    fresh = {name: manifest[name] for name in manifest if name not in ("counted", "dropped_rounds")}
    fresh |= {"state": "running", "n_draws": 0}
    fresh["files"] = {name: sum_ for name, sum_ in fresh["files"].items() if not name.startswith("draws/")}
    (target / "manifest.json").write_text(json.dumps(fresh))
    for chain, kept in enumerate(blocks):
        for path in target.glob(f"*/chain={chain}/block=*"):
            if int(path.name.split("=")[1].split(".")[0]) >= kept:
                path.unlink()
    return target


def test_killed_and_resumed(whole, tmp_path):
    """Draws of the first blocks, which the end removed, have to be there: made by a run that was stopped."""
    _, post = whole
    rng = np.random.default_rng(2)
    stopped = tmp_path / "stopped"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(ValueError):
            fit(stopped, time_limit=1e-9)
    assert stopped.exists()
    assert_same(post, raytpnn.resume(stopped))
    source = tmp_path / "source"
    # The same blocks, whose draws nobody has removed.
    fit(source, target_rhat=1.0001, target_ess=900.0)
    for moment in range(3):
        blocks = rng.integers(5, 16, 2)
        run = cut(source, tmp_path / f"run{moment}", blocks)
        if moment == 0:
            with pytest.raises(raytpnn.RunError, match=r"has not ended: \d+ of at most 32 blocks"):
                raytpnn.load(run)
        for path in run.glob("checkpoint/*/block=[0-3]"):
            path.unlink()
        assert_same(post, raytpnn.resume(run))


def test_ended_by_its_targets_and_resumed(tmp_path, monkeypatch):
    # A short run has few effective draws: let R-hat be trusted all the same.
    monkeypatch.setattr("raytpnn.chains.monitoring.monitor.LEAST_ESS_A_CHAIN", 2)
    monkeypatch.setattr("raytpnn.convergence.advice.LEAST_ESS_A_CHAIN", 2)
    aims = {"target_rhat": 2.5, "target_ess": 5.0}
    post = fit(tmp_path / "run", **aims)
    assert post.config["stopped"] == "target"
    assert post.config["converged"] is True
    assert post.config["counted"]["sweeps"] < 1600
    assert post.verdict().converged
    assert_same(post, raytpnn.resume(tmp_path / "run"))
    assert_same(post, fit(**aims))
    assert_same(post, fit(n=40, max_sweeps=3000, **aims))


def test_given_more_sweeps_it_is_the_longer_run(tmp_path):
    short = tmp_path / "short"
    fit(short, max_sweeps=900)
    assert_same(raytpnn.resume(short, max_sweeps=1600), fit())
    with pytest.raises(ValueError, match=r"max_sweeps=1600; a run can be given more, not fewer, got 1000"):
        raytpnn.resume(short, max_sweeps=1000)
    with pytest.raises(ValueError, match=r"give max_sweeps to let it go on for longer, not draws"):
        raytpnn.resume(short, draws=5000)


def test_interrupted_by_time_only_complete_rounds_count(tmp_path):
    # Long enough for a draw, whatever else the machine is doing.
    for seconds in (0.3, 1.0, 4.0, 16.0, 64.0):
        run = tmp_path / f"run{seconds}"
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore")
            post = fit(run, n=3000, time_limit=seconds, max_sweeps=20_000)
            break
    counts = np.unique(post.draws.chain, return_counts=True)[1]
    assert len(set(counts.tolist())) == 1
    assert_same(post, raytpnn.load(run))


@pytest.mark.parametrize(
    "more",
    [
        {"shards": 2},
        {"minibatch": 30},
        {"feature_weights": "adaptive", "warmup": 300},
        {"tempering": raytpnn.Tempering(replicas=3)},
        {"chains": 1},
        {"thin": 3},
    ],
)
def test_goes_with(more, whole):
    post = fit(**more)
    assert post.config["counted"]["thin"] % more.get("thin", 1) == 0
    assert np.isfinite(post.verdict().rhat)
    if "shards" in more:
        assert_same(whole[1], post)
    if "tempering" in more:
        levels = post.tempering().ensembles
        assert len(levels) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_sweeps": 100}, r"max_sweeps must be more than the warm-up, got max_sweeps=100 and warmup=100"),
        ({"max_sweeps": 0}, r"max_sweeps must be a whole number, 1 or more, got 0"),
        ({"draws": 10}, r"max_sweeps=1600 limits a run that goes on until it has converged.*draws=10"),
        ({"target_ess": 5000.0}, r"target_ess=5000 is more than 1000"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        fit(**change)


def test_the_coordinator_forgets_what_is_warm_up_by_now(monkeypatch):
    seen = []
    plain = Monitor.forget

    def forget(self, blocks):
        plain(self, blocks)
        seen.append(sum(watched.n_draws for own in self.watched for watched in own.values()))

    monkeypatch.setattr(Monitor, "forget", forget)
    fit(max_sweeps=8000)
    assert max(seen) <= 2 * 2 * MOST_DRAWS


@pytest.mark.parametrize(
    ("rows", "sweeps"), [(22, 100_000), (1000, 100_000), (2000, 50_000), (5000, 20_000), (10**7, 20_000)]
)
def test_the_usual_limit_falls_with_the_rows(rows, sweeps):
    asked = length_asked(4, 1000, None, None, None)
    assert limited(asked, None, rows).max_sweeps == sweeps
    assert limited(length_asked(4, 1000, None, None, 7000), 7000, rows).max_sweeps == 7000
    number = length_asked(4, 1000, 50, None, None)
    assert limited(number, None, rows) == number
