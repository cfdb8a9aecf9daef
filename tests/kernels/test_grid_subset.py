"""Subsets of rows on devices: minibatches and delayed acceptance give the bits of the compiled chain."""

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
    subset_case,
    weighed,
)
from support.grid_counts import TERMS, counts_of

from raytpnn.engine.gpu.grid import subset as grid_subset
from raytpnn.engine.gpu.grid.chain import GridChain
from raytpnn.engine.gpu.grid.shard import STAGES
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import with_feature_weights
from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS, EXACT_ONLY, FACTOR, LANGEVIN, OUTPUT, STATE
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.engine.sharded_chain import shard_of
from raytpnn.model.prior import Prior

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")

FAMILIES = ("gaussian", "bernoulli", "poisson")
WAYS = {"minibatch": EXACT_ONLY, "delayed": DELAYED, "delayed if it pays": DELAYED_IF_IT_PAYS}
TWO_WAYS = ("minibatch", "delayed")
SMALL = Prior(K_max=6, max_order=3, sharing=0.3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", FAMILIES)
def test_draws_are_those_of_the_compiled_chain(family, way):
    subsets = SubsetUse(90, WAYS[way])
    case = weighed(make_case(family, n=300, p=6, missing=0.1, prior=PRIOR, subsets=subsets))
    assert run_on(case, 1, (15, 12)) == []
    state = case.chain.state
    unmet = LANGEVIN if way == "minibatch" else FACTOR
    assert np.flatnonzero(state.tally[:, 0] == 0).tolist() == [unmet, OUTPUT]
    assert state.tally[:, 1].sum() > 100
    if way != "minibatch":
        assert state.screen_tally[:, 1, 0].min() > 0, "a group was never screened"


@pytest.mark.parametrize("way", TWO_WAYS)
@pytest.mark.parametrize(("family", "count"), [("gaussian", 4), ("bernoulli", 2), ("poisson", 1)])
def test_no_draw_depends_on_the_devices(family, count, way):
    """Five row blocks in four strata, which are of one or two of them."""
    subsets = SubsetUse(2500, WAYS[way])
    case = weighed(make_case(family, n=17_001, p=5, missing=0.05, prior=SMALL, subsets=subsets))
    assert run_on(case, count, (3, 2), "late copies") == []


@pytest.mark.kernels
@pytest.mark.parametrize("way", TWO_WAYS)
@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_device_has_strata(family, count, way):
    """Sixteen strata, of which a subset has two row blocks each."""
    subsets = SubsetUse(100_000, WAYS[way])
    case = weighed(make_case(family, n=140_001, p=5, missing=0.05, prior=SMALL, subsets=subsets))
    assert run_on(case, count, (2, 1)) == []


@pytest.mark.kernels
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moves", [Moves(), Moves.paper()], ids=["default", "paper"])
@pytest.mark.parametrize("family", FAMILIES)
def test_long_chains(family, moves, way):
    subsets = SubsetUse(200, WAYS[way])
    case = make_case(family, n=700, p=6, missing=0.1, prior=PRIOR, moves=moves, subsets=subsets)
    assert run_on(weighed(case), 1, (60, 60)) == []


@pytest.mark.parametrize("way", TWO_WAYS)
def test_wide_codes(way, monkeypatch):
    monkeypatch.setattr("raytpnn.engine.gpu.chains.MOST_SHARED_WIDTH", 1)
    subsets = SubsetUse(90, WAYS[way])
    case = make_case("poisson", n=300, p=6, missing=0.1, prior=PRIOR, dtype=np.uint16, subsets=subsets)
    assert run_on(weighed(case), 1, (10,)) == []


@pytest.mark.parametrize("way", TWO_WAYS)
def test_a_chain_goes_back_to_a_checkpoint(way):
    """Also on other devices, where another subset was drawn last."""
    case = subset_case(way)
    chain, other = grid_chain(case, [HostDevice(), HostDevice()]), grid_chain(case, [HostDevice()])
    chain.run(0, 3, 2, 1)
    saved = chain.checkpoint()
    chain.run(3, 3, 2, 1)
    expected = chain.checkpoint()
    other.state.stream[2] = 5
    other.run(0, 2, 2, 1)
    for again in (chain, other):
        again.restore(saved)
        again.run(3, 3, 2, 1)
        assert again.checkpoint() == expected


@pytest.mark.parametrize("way", TWO_WAYS)
def test_other_feature_weights_in_another_block(way):
    case = subset_case(way)
    chain = grid_chain(case, [HostDevice()])
    assert differences(case, chain, (3,)) == []
    weight = np.arange(5, 0, -1.0)
    case.chain.problem = chain.problem = with_feature_weights(case.problem, weight / weight.sum())
    assert differences(case, chain, (3,)) == []


@pytest.mark.parametrize("way", TWO_WAYS)
@pytest.mark.parametrize("apart", [False, True], ids=["all rows", "own rows"])
def test_processes_join_their_stripes(way, apart):
    """Each with the stripes of a half of the rows, whether it was given the other half, too, or not."""
    case = subset_case(way)
    meeting = Meeting(2)
    chains = [
        GridChain(
            shard_of(case.problem, 2, i) if apart else case.problem,
            case.settings,
            case.chain.state.copy(),
            [HostDevice("lazy")],
            case.chain.watched,
            stripes=(8 * i, 8 * i + 8),
            exchange=meeting.exchange_of(i),
        )
        for i in range(2)
    ]
    assert_run_alike(case, chains)
    assert meeting.calls > 50


@pytest.mark.parametrize("way", TWO_WAYS)
def test_a_stale_subset_changes_the_draws(way, monkeypatch):
    """Broken twin: a subset that is drawn once, for the first sweep of a block."""
    draw_subset = grid_subset.draw_subset
    drawn = []

    def once(subsets, state):
        if not drawn:
            draw_subset(subsets, state)
        drawn.append(1)

    case = subset_case(way)
    chain = grid_chain(case, [HostDevice()])
    monkeypatch.setattr("raytpnn.engine.gpu.grid.chain.draw_subset", once)
    assert differences(case, chain, (1,)) == []
    assert differences(case, chain, (2,)) != []
    assert len(drawn) == 3


def test_a_fit_that_is_not_followed_changes_the_draws(monkeypatch):
    """Broken twin: proposals are screened against the fit of the subset before."""
    follow_fit = grid_subset.follow_fit
    case = subset_case("delayed")
    chain = grid_chain(case, [HostDevice()])
    follow_fit(chain.subsets, 0)
    monkeypatch.setattr("raytpnn.engine.gpu.grid.chain.follow_fit", lambda subsets, terms: None)
    assert differences(case, chain, (3,)) != []


@pytest.mark.parametrize("way", TWO_WAYS)
def test_strata_over_two_devices_are_refused(way):
    case = subset_case(way)
    devices = [HostDevice() for _ in range(4)]
    with pytest.raises(ValueError, match=r"1100 of 9000 rows has 2 strata.*fewer devices"):
        grid_chain(case, devices)
    assert not any(device.pieces for device in devices)


def test_memory_of_a_device_is_that_of_its_rows_and_its_subset():
    n, m, p, K_max = 70_001, 20_000, 5, 20
    of_data, of_pass = p + 3 * 8, 2 * 8 + 4 * (K_max + 1)
    sums = 512 * 8
    # Without subsets, with them alone, with both: a row of a subset has its number, y, w and offset besides.
    expected = {
        None: (of_data + of_pass) * n + sums * 18,
        "minibatch": of_data * n + (28 + of_pass) * m + sums * 16,
        "delayed": (of_data + of_pass) * n + (28 + of_pass) * m + sums * (18 + 16),
    }
    for way, rows in expected.items():
        subsets = None if way is None else SubsetUse(m, WAYS[way])
        case = make_case("gaussian", n=n, p=p, prior=Prior(K_max=K_max, max_order=3), subsets=subsets)
        case.chain.watched = case.chain.watched[:64]
        for count in (1, 2, 4):
            devices = [CountingDevice() for _ in range(count)]
            chain = grid_chain(case, devices)
            for device in devices:
                # Whole strata of whole row blocks; room for commands and sums of stripes, too.
                assert abs(device.most_bytes - rows / count) < 4096 * (of_data + of_pass) + 300_000
            chain.close()


@pytest.mark.parametrize("way", TWO_WAYS)
def test_what_subsets_cost_in_launches(way):
    """What kernels/README.md says: one launch draws a subset, one more gathers what it needs of the fit."""
    plain, told = counts_of("gaussian", sweeps=3), counts_of("gaussian", sweeps=3, way=WAYS[way])
    assert told["grid_subset"] == 1
    assert told.get("grid_gather", 0) == (way == "delayed")
    # Besides, whenever as many commands as there is room for have been sent.
    waited = told["grid_join"] + told.get("grid_bins", 0)
    assert waited <= told["waits"] < waited + 1 + TERMS / STAGES
    updates = told["grid_update"] + told["grid_shift"] + told["grid_terms"]
    rest = told["launches"] - updates - 2 * told["grid_join"] - told.get("grid_bins", 0)
    if way == "minibatch":
        # All terms are built for every subset and when they are refitted, by launches for which nobody waits.
        assert TERMS / 2 < rest < 2 * TERMS + 3
        # A term more is waited for twice: it is changed and moved.
        more = told["terms"] - plain["terms"]
        assert told["waits"] < plain["waits"] + 2 * more + 8
    else:
        # Terms that were accepted are built on the subset, too.
        assert rest < 3 * TERMS


@pytest.mark.parametrize("which", ["rows", "screen"])
def test_an_error_within_a_pass_comes_out(which):
    chain = grid_chain(subset_case("delayed"), [HostDevice()])

    def fail(stripes):
        raise HostError("the device is gone")

    getattr(chain, which).exchange = fail
    with pytest.raises(HostError, match="the device is gone"):
        chain.run(0, 3, 1, 1)
    assert chain.rows.problem is None
    assert chain.screen.problem is None


@pytest.mark.parametrize("way", TWO_WAYS)
def test_a_chain_that_is_told_to_stop_stops(way):
    chain = grid_chain(subset_case(way), [HostDevice()])
    before = np.frombuffer(chain.checkpoint(), STATE)["K"][0]
    chain.request_stop()
    block = chain.run(0, 5, 0, 1)
    assert (block.sweeps, block.draws, chain.state.K) == (0, 0, before)
