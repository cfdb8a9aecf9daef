"""Which chains are odd, and what a person is told to do."""

from __future__ import annotations

import numpy as np
import pytest

from raytpnn.convergence import odd_chains as rules
from raytpnn.convergence.advice import Comparison, convergence_of, judge, round_up, worst_of
from raytpnn.convergence.forecast import outlook
from raytpnn.convergence.odd_chains import odd_chains, worst_rhat

FINE = {"birth": (1000, 80), "langevin": (5000, 2900)}


def quantities(seed, chains=4, draws=400, correlation=0.0, names=6):
    """Stationary chains of one distribution."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(names, chains, draws))
    for t in range(1, draws):
        values[:, :, t] = correlation * values[:, :, t - 1] + np.sqrt(1 - correlation**2) * values[:, :, t]
    listed = ["loglik", "K", "intercept", *(f"f[{i}]" for i in range(names))]
    return dict(zip(listed, values, strict=False))


def evidence(values, chains=None, **more):
    numbers = tuple(range(len(values["loglik"]))) if chains is None else chains
    return Comparison(values, numbers, tuple(FINE for _ in numbers), **more)


def judged(values, **more):
    seen = evidence(values, **more)
    return judge(seen, convergence_of(seen))


def named(values, chains=None):
    seen = evidence(values, chains)
    return [(odd.chain, odd.kind) for odd in odd_chains(values, seen.chains, seen.acceptance)]


def test_chains_that_agree_are_all_well():
    values = quantities(0, draws=1000)
    judgement = judged(values)
    assert (judgement.state, judgement.odd, judgement.advice) == ("yes", [], [])


@pytest.mark.parametrize("where", ["loglik", "f[0]"])
def test_a_chain_apart_is_named_by_its_number(where):
    values = quantities(1)
    values[where][2] += 4.0
    assert named(values, (3, 5, 8, 9)) == [(8, "apart")]
    judgement = judged(values)
    assert judgement.state == "no"
    assert "falls from" in judgement.odd[0].reason
    assert any("Chain 2 is unlike the others" in advice for advice in judgement.advice)


def test_nobody_is_named_when_two_disagree_with_two():
    values = quantities(2)
    values["f[0]"][2:] += 4.0
    assert worst_rhat(values) > 1.5
    assert named(values) == []


def test_nobody_is_named_of_two_chains():
    values = quantities(3, chains=2)
    values["f[0]"][1] += 4.0
    assert named(values) == []


def test_chains_that_mix_slowly_are_seldom_called_apart(monkeypatch):
    """Chains of one distribution: at most 3 false alarms of 40 (1.2 are expected, 4 or more: 3%).

    The twin without a lower limit of R-hat, and content with any improvement, raises more.
    """

    def alarms():
        return sum(
            bool(named(quantities(seed, draws=150, correlation=correlation, names=3)))
            for seed in range(20)
            for correlation in (0.0, 0.9)
        )

    assert alarms() <= 3
    monkeypatch.setattr(rules, "LEAST_RHAT", 1.0)
    monkeypatch.setattr(rules, "EXCESS_LEFT", 1.0)
    assert alarms() > 3


def test_a_chain_that_accepts_nothing_is_stuck():
    values = quantities(4)
    refused = {"birth": (500, 0), "langevin": (9000, 0), "intercept": (500, 500)}
    odd = odd_chains(values, (0, 1, 2, 3), [FINE, refused, FINE, {"langevin": (20, 0)}])
    assert [(chain.chain, chain.kind) for chain in odd] == [(1, "stuck")]
    assert "none of 9,500 proposals" in odd[0].reason


def test_a_chain_that_does_not_move_is_stuck():
    values = quantities(5)
    for part in values.values():
        part[0] = part[0, 0]
    assert (0, "stuck") in named(values)
    assert [chain for chain, _ in named(values)] == [0], "and is not named twice"


def test_a_short_warm_up_is_recognised():
    values = quantities(6, draws=1000)
    drift = np.linspace(6.0, 0.0, 300) * np.array([[1.0], [-1.0], [0.5], [-0.5]])
    values["f[0]"][:, :300] += drift
    judgement = judged(values, config={"warmup": 500, "thin": 1})
    assert any("still on their way" in advice and "--warmup 1000" in advice for advice in judgement.advice)
    level = quantities(6, draws=1000)
    level["f[0]"] += np.array([[1.0], [-1.0], [0.5], [-0.5]])
    assert not any("still on their way" in advice for advice in judged(level).advice)


def test_a_warm_up_that_is_short_is_told():
    values = quantities(6, draws=1000)
    values["f[0]"] += np.array([[1.0], [-1.0], [0.5], [-0.5]])
    for warmup, told in ((60, True), (1000, False)):
        advice = judged(values, config={"warmup": warmup}).advice
        assert any("A warm-up of 60 sweeps is short" in line for line in advice) is told


@pytest.mark.parametrize("tempering", [None, {"replicas": 4}])
def test_replicas_are_advised_where_there_are_none(tempering):
    values = quantities(6, draws=200)
    values["f[0]"] += np.array([[9.0], [-9.0], [9.0], [-9.0]])
    (last,) = judged(values, config={"warmup": 1000, "tempering": tempering}).advice[-1:]
    assert ("--replicas 8" in last) is (tempering is None)
    assert "max_order" in last


def test_the_number_of_draws_to_ask_for_comes_from_the_effective_ones():
    values = quantities(7, draws=1000, correlation=0.96)
    seen = evidence(values, run="'my run'")
    table = convergence_of(seen)
    needed = round_up(1000 * outlook(values, table, 1.01, 400.0).factor)
    judgement = judge(seen, table)
    (more,) = [advice for advice in judgement.advice if advice.startswith("More draws")]
    assert f"about {needed:,} draws per chain" in more
    assert "raytpnn resume 'my run' --draws" in more
    longer = quantities(7, draws=needed, correlation=0.96)
    _, rhat, got = worst_of(convergence_of(evidence(longer)))
    assert 250 < got < 1500, "and so many draws have about 400 effective ones"
    assert rhat < 1.02


def test_inner_quantities_do_not_decide_but_are_told():
    values = quantities(8, draws=1000)
    values["K"][:2] += 4.0
    judgement = judged(values)
    assert judgement.state == "yes"
    assert any(advice.startswith("K differs between chains") for advice in judgement.advice)
    values["f[0]"][:2] += 4.0
    assert judged(values).state == "no"


def test_components_that_lead_decide():
    values = quantities(7)
    split = np.repeat([[0.0], [0.0], [1.0], [1.0]], 400, axis=1)
    split[:, ::50] = 0.5
    assert judged(values).state == "yes"
    assert judged(values).advice == []
    assert judged(values | {"component[a x b]": split}).state == "no"


def test_chains_are_apart_by_what_decides():
    values = quantities(8, draws=1000)
    values["f[0]"][1] += 0.9
    values["K"][3] += 9.0
    assert [odd.chain for odd in judged(values).odd] == [1]
    seen = evidence(values)
    assert [odd.chain for odd in judge(seen, convergence_of(seen), 1.01).odd] == [1]


def test_targets_decide_where_they_are_given():
    values = quantities(9, draws=1000)
    seen = evidence(values)
    table = convergence_of(seen)
    assert judge(seen, table, 1.0001).state == "no"
    told = judge(seen, table, 1.2, 300.0)
    assert told.state == "yes"
    assert "R-hat 1.2 and 300 effective draws" in told.headline
    of_run = evidence(values, config={"target_rhat": 1.0001, "target_ess": None})
    assert judge(of_run, table).state == "no", "those of the run, if none are given"
    few = evidence(quantities(9, draws=45))
    distrust = judge(few, convergence_of(few), 1.2)
    assert distrust.state == "no"
    assert "below 200 effective draws R-hat is not to be trusted" in distrust.headline


def test_a_limit_of_terms_that_is_reached_is_told():
    values = quantities(10, draws=50, correlation=0.9)
    values["K"] = np.full_like(values["K"], 100.0)
    values["K"][:, ::2] = 99.0
    assert any("K_max = 200" in advice for advice in judged(values, config={"prior": {"K_max": 100}}).advice)
    assert not any("K_max = " in advice for advice in judged(values, config={"prior": {"K_max": 101}}).advice)


def test_too_little_to_judge_by():
    one = judged(quantities(11, chains=1, draws=100))
    assert one.state == "no"
    assert "one chain was compared with itself" in one.headline
    assert any("resume RUN --chains 4" in line for line in one.advice)
    few = judged(quantities(12, draws=3))
    assert few.state == "unknown"
    assert "3 draws per chain" in few.headline
    none = judge(Comparison({}, ()), convergence_of(Comparison({}, ())))
    assert none.state == "unknown"


@pytest.mark.parametrize(("number", "rounded"), [(7, 7), (99.1, 100), (1234, 1300), (20001, 21000), (0.2, 1)])
def test_rounding_up(number, rounded):
    assert round_up(number) == rounded


def in_modes(seed, draws, hop=0.0):
    """Chains that move freely within one of two modes, and change it with a probability at each draw."""
    rng = np.random.default_rng(seed)
    values = quantities(seed, draws=draws, correlation=0.9)
    changes = np.cumsum(rng.random((4, draws)) < hop, axis=1)
    values["f[0]"] = values["f[0]"] + 3.0 * ((changes + np.array([[0], [1], [0], [1]])) % 2)
    return values


@pytest.mark.parametrize("correlation", [0.5, 0.9, 0.97])
def test_the_forecast_holds_for_chains_made_longer(correlation):
    """Seen over twelve seeds: 0.8 to 3.1 times the draws that are needed, and never "apart"."""
    true = 400.0 * (1.0 + correlation) / (1.0 - correlation) / 4.0
    for seed in range(4):
        values = quantities(seed, draws=1000, correlation=correlation)
        ahead = outlook(values, convergence_of(evidence(values)), 1.01, 400.0)
        assert ahead.apart is None
        assert ahead.factor == 1.0 or 0.6 < 1000 * ahead.factor / true < 4.0


@pytest.mark.parametrize("draws", [1000, 8000])
def test_no_number_of_draws_is_foretold_for_modes(draws):
    """The number that a forecast by effective draws alone gives grows with the draws: here seen to fail."""
    values = in_modes(3, draws)
    told = judged(values, config={"warmup": 1000, "tempering": None})
    text = " ".join(told.advice)
    assert "More draws will not mend that" in text
    assert "--replicas 8" in text
    assert "would take about" not in text
    ess = convergence_of(evidence(values))[["ess_bulk", "ess_tail"]].to_numpy().min()
    assert draws * 400.0 / ess > 30 * draws, "by effective draws alone the end recedes as the chains grow"


def test_chains_that_change_modes_now_and_then_are_slow_not_apart():
    values = in_modes(4, 20_000, hop=0.005)
    assert outlook(values, convergence_of(evidence(values)), 1.01, 400.0).apart is None


def test_too_slow_to_foresee():
    values = quantities(5, draws=300, correlation=0.995)
    (line,) = [line for line in judged(values).advice if line.startswith("More draws")]
    assert "cannot be foreseen" in line
