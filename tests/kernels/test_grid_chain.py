"""Rows of one chain on one or several devices give the bits of the compiled chain."""

from __future__ import annotations

import numpy as np
import pytest
from support.chain_cases import make_case
from support.cuda_cases import HostDevice
from support.cuda_host.build import COMPILER, HostError
from support.grid_cases import (
    PRIOR,
    CountingDevice,
    Meeting,
    assert_run_alike,
    differences,
    grid_chain,
    run_on,
    weighed,
)
from support.grid_counts import TERMS, counts_of

from raytpnn.engine.gpu.grid.joining import add_counts
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import with_feature_weights
from raytpnn.engine.records import FACTOR, LANGEVIN, OUTPUT, STATE
from raytpnn.model.prior import Prior

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")

FAMILIES = ("gaussian", "bernoulli", "poisson")


# Factors are refitted, or terms take Langevin steps; and the move that is then never met.
WAYS = pytest.mark.parametrize(
    ("moves", "unmet"), [(Moves(), LANGEVIN), (Moves(factor_steps=0), FACTOR)], ids=["refit", "langevin"]
)


@WAYS
@pytest.mark.parametrize("family", FAMILIES)
def test_draws_are_those_of_the_compiled_chain(family, moves, unmet):
    case = weighed(make_case(family, n=300, p=6, missing=0.1, prior=PRIOR, moves=moves))
    assert run_on(case, 1, (15, 10)) == []
    tally = case.chain.state.tally
    assert np.flatnonzero(tally[:, 0] == 0).tolist() == [unmet, OUTPUT]


@pytest.mark.parametrize(("family", "count"), [("gaussian", 2), ("bernoulli", 4), ("poisson", 1)])
def test_no_draw_depends_on_the_devices(family, count):
    """Three row blocks, the last one short: most stripes are empty, and so is the first of four devices."""
    case = weighed(
        make_case(family, n=9001, p=5, missing=0.05, prior=Prior(K_max=6, max_order=3, sharing=0.3))
    )
    assert run_on(case, count, (3, 2), "late copies") == []


def test_orders_up_to_four_are_met():
    """The cases above go through terms of every order."""
    case = weighed(make_case("bernoulli", n=300, p=6, missing=0.1, prior=PRIOR))
    orders = np.unique(case.chain.run(0, 25, 0, 1).record.order)
    assert set(orders) >= {1, 2, 3, 4}


@pytest.mark.kernels
@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_stripe_has_rows(family, count):
    case = weighed(
        make_case(family, n=70_001, p=5, missing=0.05, prior=Prior(K_max=6, max_order=4, sharing=0.3))
    )
    assert run_on(case, count, (4, 3)) == []


@pytest.mark.kernels
@pytest.mark.parametrize("moves", [Moves(), Moves.paper()], ids=["default", "paper"])
@pytest.mark.parametrize("family", FAMILIES)
def test_long_chains(family, moves):
    case = weighed(make_case(family, n=700, p=6, missing=0.1, prior=PRIOR, moves=moves))
    assert run_on(case, 2, (60, 60)) == []


@pytest.mark.parametrize("tables_in_shared", [False, pytest.param(True, marks=pytest.mark.kernels)])
def test_wide_codes(tables_in_shared, monkeypatch):
    """Without tables in shared memory, sums of bins are not there either."""
    if not tables_in_shared:
        monkeypatch.setattr("raytpnn.engine.gpu.chains.MOST_SHARED_WIDTH", 1)
    case = weighed(make_case("poisson", n=300, p=6, missing=0.1, prior=PRIOR, dtype=np.uint16))
    assert run_on(case, 1, (10,)) == []


def test_stripes_of_any_length():
    n = 5000
    stripe = np.sort(np.random.default_rng(3).integers(0, n + 1, 17))
    stripe[0], stripe[5:8], stripe[-1] = 0, stripe[5], n
    case = weighed(make_case("gaussian", n=n, p=5, prior=Prior(K_max=6, max_order=3, sharing=0.3)), stripe)
    assert run_on(case, 4, (4,)) == []


@pytest.mark.parametrize("moves", [Moves(), Moves(factor_steps=0)], ids=["refit", "langevin"])
@pytest.mark.parametrize("order", [6, pytest.param(16, marks=pytest.mark.kernels)])
def test_terms_of_many_factors(order, moves):
    """Slopes of more factors than are taken at a time, bins beside as many factors as there may be."""
    prior = Prior(K_max=5, max_order=order, alpha_adding=0.99, gamma_adding=0.001, C0=0.001)
    case = weighed(make_case("gaussian", n=200, p=order, prior=prior, moves=moves))
    draws = (case.prior_draw() for _ in range(5000))
    case.load(next(d for d in draws if max((len(t.features) for t in d.terms), default=0) == order), 0)
    assert run_on(case, 1, (8,)) == []


def test_a_gram_matrix_of_many_launches(monkeypatch):
    monkeypatch.setattr("raytpnn.engine.gpu.grid.shard.MOST_COLUMNS", 80)
    moves = Moves(joint_beta_every=1, langevin=False, restructure=False, birth_death_attempts=0)
    case = weighed(make_case("gaussian", n=40, p=3, prior=Prior(K_max=60, max_order=3, C0=1e-4), moves=moves))
    draws = (case.prior_draw() for _ in range(200))
    case.load(next(d for d in draws if len(d.terms) > 20), 0)
    device = HostDevice()
    chain = grid_chain(case, [device])
    assert differences(case, chain, (3,), thin=1) == []
    assert sum(name == "grid_gram" for name, *_ in device.launches) >= 9


def test_other_feature_weights_in_another_block():
    case = weighed(make_case("gaussian", n=300, p=6, prior=PRIOR))
    chain = grid_chain(case, [HostDevice()])
    assert differences(case, chain, (6,)) == []
    weight = np.arange(6, 0, -1.0)
    case.chain.problem = chain.problem = with_feature_weights(case.problem, weight / weight.sum())
    assert differences(case, chain, (6,)) == []


def test_a_chain_goes_back_to_a_checkpoint():
    case = weighed(make_case("gaussian", n=300, p=6, prior=PRIOR))
    chain = grid_chain(case, [HostDevice()])
    chain.run(0, 4, 2, 1)
    saved = chain.checkpoint()
    chain.run(4, 4, 2, 1)
    expected = chain.checkpoint()
    chain.restore(saved)
    chain.run(4, 4, 2, 1)
    assert chain.checkpoint() == expected
    assert chain.acceptance()["birth"][0] > 0


@pytest.mark.parametrize("counts", [(1, 1), (1, 2, 1, 1)], ids=["two", "four"])
def test_processes_join_their_stripes(counts):
    case = weighed(
        make_case("poisson", n=9001, p=5, missing=0.05, prior=Prior(K_max=6, max_order=3, sharing=0.3))
    )
    cuts = np.linspace(0, 16, len(counts) + 1).astype(int)
    meeting = Meeting(len(counts))
    chains = [
        grid_chain(
            case,
            [HostDevice("lazy") for _ in range(count)],
            stripes=(cuts[i], cuts[i + 1]),
            exchange=meeting.exchange_of(i),
        )
        for i, count in enumerate(counts)
    ]
    assert_run_alike(case, chains)
    assert meeting.calls > 50


def test_whole_numbers_of_processes_are_joined_exactly():
    """Three more than stripes there are, as large as they come, of either sign."""
    rng = np.random.default_rng(4)
    numbers = rng.integers(-(2**60), 2**60, (4, 19))
    numbers[:, :3] = [[-1, 2**53 + 1, 0]] * 4
    given: list[np.ndarray] = []
    joined = np.zeros((16, 10))

    def exchange(stripes):
        given.append(stripes)
        return joined

    for i, own in enumerate(numbers):
        add_counts(own, 4 * i, 4 * i + 4, exchange)
    joined = sum(given)
    assert add_counts(numbers[1], 4, 8, exchange).tolist() == numbers.sum(axis=0).tolist()
    # As numbers they would have been rounded, and as bits they are no numbers that can be added.
    assert numbers.astype(float).sum(axis=0).astype(np.int64).tolist() != numbers.sum(axis=0).tolist()
    assert np.isnan(numbers.view(np.float64)).any()


def test_stripes_that_nobody_sends_change_the_draws():
    """Broken twin: a process that hears of its own stripes only."""
    case = weighed(make_case("poisson", n=9001, p=5, prior=Prior(K_max=6, max_order=3, sharing=0.3)))
    chain = grid_chain(case, [HostDevice()], stripes=(8, 16), exchange=lambda stripes: stripes)
    assert differences(case, chain, (2,)) != []


def test_memory_of_a_device_is_that_of_its_rows():
    n, p, K_max = 70_001, 5, 20
    case = make_case("gaussian", n=n, p=p, prior=Prior(K_max=K_max, max_order=3))
    case.chain.watched = case.chain.watched[:64]
    used = {}
    for count in (1, 2, 4):
        devices = [CountingDevice() for _ in range(count)]
        chain = grid_chain(case, devices)
        used[count] = [device.most_bytes for device in devices]
        chain.close()
    # Codes, y, weights, offset, two fits, basis functions; sums of row blocks, 512 of each.
    of_row = p + 3 * 8 + 2 * 8 + 4 * (K_max + 1)
    rows = of_row * n + 512 * 8 * 18
    rest = used[1][0] - rows
    assert 0 < rest < 200_000
    for count in (2, 4):
        for bytes_of_device in used[count]:
            # Whole stripes of whole row blocks: one of 18 more or less.
            assert abs((bytes_of_device - rest) - rows / count) < 4096 * of_row


@pytest.mark.parametrize(("family", "most"), [("gaussian", (12, 2)), ("bernoulli", (24, 4))])
def test_a_sweep_waits_seldom(family, most):
    """What kernels/README.md says: waits grow by 2 or 4 a term, each with one or two launches and some KB."""
    told = counts_of(family, sweeps=3)
    assert 30 < told["waits"] < most[0] + most[1] * TERMS
    waited = told["grid_join"] + told["grid_bins"]
    assert waited <= told["waits"] < waited + 2
    updates = told["grid_update"] + told["grid_shift"] + told["grid_terms"]
    # Besides, a block begins with one launch for every term, and a quadratic term is built when refitted.
    rest = told["launches"] - updates - 2 * told["grid_join"] - told["grid_bins"]
    assert 0 <= rest <= (1.5 if family == "gaussian" else 0.5) * TERMS
    assert told["bytes up"] < 4096 * told["waits"]
    assert told["bytes down"] < 2048 * told["waits"]


def test_an_error_within_a_pass_comes_out(monkeypatch):
    case = make_case("gaussian", n=300, p=6, prior=PRIOR)
    device = HostDevice()
    chain = grid_chain(case, [device])

    def fail(stripes):
        raise HostError("the device is gone")

    chain.rows.exchange = fail
    with pytest.raises(HostError, match="the device is gone"):
        chain.run(0, 3, 1, 1)
    assert chain.rows.problem is None


def test_void_derivatives_are_not_used():
    case = make_case("gaussian", n=300, p=6, prior=PRIOR)
    chain = grid_chain(case, [HostDevice()])
    chain.run(0, 2, 1, 1)
    chain.rows.shift_fit(0.5)
    with pytest.raises(RuntimeError, match="after a change of what they come from"):
        chain.rows.phi_moments(0)


def test_a_chain_that_is_told_to_stop_stops():
    case = make_case("gaussian", n=300, p=6, prior=PRIOR)
    chain = grid_chain(case, [HostDevice()])
    before = np.frombuffer(chain.checkpoint(), STATE)["K"][0]
    chain.request_stop()
    block = chain.run(0, 5, 0, 1)
    assert (block.sweeps, block.draws, chain.state.K) == (0, 0, before)
