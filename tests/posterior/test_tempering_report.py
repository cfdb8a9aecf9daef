"""What ensembles report, on the user's scale."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numba.core import event
from support.chain_cases import make_case
from support.ensemble_cases import make_ensemble

from raytpnn.chains.plan import Length, Plan
from raytpnn.chains.run.collect import draws_of_block
from raytpnn.convergence.tempering import TemperingReport, TemperingSummary
from raytpnn.engine.problem import Scaling
from raytpnn.engine.tempering.options import Tempering
from raytpnn.model.prior import Prior


def run(case, tempering, sweeps=300):
    ladders, logliks = [], []
    for chain in range(2):
        case.chain.state.stream[2] = chain
        replicas = make_ensemble(case, tempering)
        block = replicas.run(0, sweeps, 100, 1)
        ladders.append(json.loads(json.dumps(replicas.status().as_dict())))
        logliks.append(block.level_loglik)
    return TemperingReport(ladders, logliks)


def test_report_of_levels_and_ensembles():
    report = run(make_case(n=12, p=3, prior=Prior(K_max=3, max_order=1)), Tempering(5))
    levels = report.levels()
    assert levels[["chain", "level"]].to_numpy().tolist() == [[c, k] for c in (0, 1) for k in range(5)]
    for _, part in levels.groupby("chain"):
        assert part["temperature"].is_monotonic_increasing
        assert part["loglik_mean"].iloc[0] < part["loglik_mean"].iloc[-1]
        assert part["swap_rate"].notna().tolist() == [True] * 4 + [False]
        rates = part[["swap_rate", "rejection"]].to_numpy()[:-1]
        assert rates.sum(axis=1) == pytest.approx(1.0, abs=0.15)
    ensembles = report.ensembles()
    assert (ensembles["round_trips"] > 0).all()
    assert (ensembles["restarts"] >= ensembles["round_trips"]).all()
    assert (ensembles["note"] == "").all()
    evidence = report.evidence()
    assert np.isfinite([evidence.log_evidence, evidence.error]).all()


def summary_of(report):
    return TemperingSummary.of({"tempering": json.loads(json.dumps(report.summary()))})


def test_the_report_in_words():
    report = run(make_case(n=12, p=3, prior=Prior(K_max=3, max_order=1)), Tempering(5))
    told = summary_of(report).sentences()
    assert told[0].startswith("Every chain is the coldest of 5 replicas, the hottest at 0 of the")
    trips = report.ensembles()["round_trips"]
    assert f"{trips.min()} to {trips.max()} round trips" in told[1] or f"{trips.min()} round trips" in told[1]
    assert f"{report.levels()['swap_rate'].min():.0%} to " in told[1]
    assert told[2].startswith(f"Log evidence: {report.evidence().log_evidence:.2f}, standard error ")
    assert len(told) == 3
    early = summary_of(run(make_case(n=12, p=3), Tempering(3), sweeps=80)).sentences()
    assert "swapped in - of the attempts" in early[1]
    assert "too few" in early[2]
    assert early[3] == "Chain 0: no swaps after warm-up yet."


def test_too_few_replicas_are_told():
    rng = np.random.default_rng(0)
    y = 4.0 * np.arange(400) / 400 + rng.normal(0, 0.05, 400)
    report = run(make_case(n=400, p=3, y=y), Tempering(3, t_min=0.0), sweeps=150)
    note = report.ensembles()["note"][0]
    assert "no replica came from the hot end" in note
    assert "replicas, not 3, or a larger t_min" in note


def test_before_any_swap_there_is_nothing_to_report():
    report = run(make_case(n=12, p=3), Tempering(3), sweeps=80)
    assert (report.ensembles()["note"] == "no swaps after warm-up yet").all()
    assert report.levels()["swap_rate"].isna().all()
    assert "too few" in report.evidence().note
    with pytest.raises(ValueError, match="2 ladders, but log-likelihoods of 1"):
        TemperingReport(report.ladders, report.level_loglik[:1])


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_cold_level_has_the_log_likelihood_of_the_draws(family):
    case = make_case(family, n=20, p=4)
    scaling = Scaling(1.0, 2.5) if family == "gaussian" else Scaling()
    plan = Plan(
        case.problem,
        case.settings,
        scaling,
        case.family,
        case.prior,
        case.moves,
        1.0,
        float(case.family.log_constant(case.problem.y, case.problem.w)),
        0,
        Length(1, 10, 10),
        "numba",
    )
    block = make_ensemble(case, Tempering(3)).run(0, 30, 10, 1)
    draws = draws_of_block(plan, 0, 0, block)
    assert block.level_loglik[:, -1] + plan.level_constant() == pytest.approx(draws.loglik, rel=1e-12)


def test_a_second_ensemble_compiles_nothing():
    for threads in (1, 2):
        make_ensemble(make_case(n=12, p=3), Tempering(3), threads=threads).run(0, 20, 10, 1)
    with event.install_recorder("numba:compile") as recorder:
        for threads in (1, 2):
            case = make_case("poisson", n=30, p=5, prior=Prior(K_max=7, max_order=2))
            make_ensemble(case, Tempering(6, swap_every=2), threads=threads).run(0, 20, 10, 1)
    assert [item.data["dispatcher"].__name__ for _, item in recorder.buffer if item.is_start] == []
