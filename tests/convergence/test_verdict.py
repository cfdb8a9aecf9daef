"""One verdict on the chains of a run, wherever it is asked for, and the warning that goes with it."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from support.cli_cases import call
from support.run_cases import small_data

import raytpnn
from raytpnn import BayesianTPNNRegressor, ConvergenceWarning
from raytpnn.cli.screen.health import examine
from raytpnn.convergence.advice import worst_of
from raytpnn.convergence.forecast import outlook
from raytpnn.posterior.compared import compared_quantities, comparison_of
from raytpnn.posterior.verdict import quiet
from raytpnn.report.page.sections.convergence import convergence_section
from raytpnn.report.verdict import verdict_of

LONG = {"chains": 2, "warmup": 100, "draws": 200, "executor": "threads", "seed": 5}


def fit(**options):
    return raytpnn.sample(*small_data(60), **LONG | options)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("verdict") / "run"
    with quiet():
        return out, fit(out=out)


def test_everyone_tells_the_same(run):
    pytest.importorskip("matplotlib")
    out, post = run
    told = post.verdict()
    again = raytpnn.load(out)
    assert worst_of(post.diagnostics()) == (told.quantity, told.rhat, told.ess)
    assert again.verdict().headline == told.headline
    assert again.diagnostics().equals(post.diagnostics())
    assert examine(str(out)).judgement.headline == told.headline
    answer = verdict_of(comparison_of(again), again.diagnostics())
    assert told.headline.rstrip(".") in convergence_section(again, answer)
    diagnosed = json.loads(call("diagnose", out, "--json").stdout)
    assert diagnosed["rhat_worst"] == told.rhat
    assert diagnosed["quantity"] == told.quantity
    watched = json.loads(call("watch", out, "--json").stdout)
    assert watched["convergence"]["rhat_worst"] == pytest.approx(told.rhat)


def test_it_holds_for_these_draws_alone(run):
    _, post = run
    few = post.thin(40)
    assert "diagnostics" not in few.config
    assert not few.diagnostics().equals(post.diagnostics())
    saved = few.verdict()
    assert saved.rhat == worst_of(few.diagnostics())[1]


def test_quantities_that_cannot_be_estimated_are_kept_as_such(tmp_path):
    with quiet():
        post = fit(out=tmp_path / "run", prior=raytpnn.Prior(b_gamma=0.1, sigma_beta2=0.1))
    assert "inf" in json.dumps(post.config["diagnostics"]) or "nan" in json.dumps(post.config["diagnostics"])
    again = raytpnn.load(tmp_path / "run").diagnostics()
    assert again.equals(post.diagnostics())
    assert again.set_index("quantity").loc["b_gamma", "note"] == "constant"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"draws": 10},
            r"20 draws of 2 chain\(s\) are too few to judge; wanted: R-hat 1.01 and 400 eff",
        ),
        (
            {},
            r"the worst R-hat is \d\.\d+ \(.*\), the least effective number of draws \d+; wanted: R",
        ),
        ({"draws": None, "max_sweeps": 300}, r"have not converged: the worst R-hat"),
        ({"target_rhat": 1.02}, r"wanted: R-hat 1.02\."),
    ],
)
def test_chains_that_have_not_converged_are_warned_of(change, message):
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        fit(**change)
    assert [warning.filename for warning in caught if warning.category is ConvergenceWarning] == [__file__]


def test_estimators_and_genes_warn_and_the_quiet_do_not(run, recwarn):
    out, post = run
    X, y = small_data(60)
    with pytest.warns(ConvergenceWarning, match="too few to judge") as caught:
        BayesianTPNNRegressor(chains=1, warmup=20, draws=10, executor="threads").fit(X, y)
    assert caught[0].filename == __file__
    for own in (post, raytpnn.load(out)):
        with pytest.warns(ConvergenceWarning, match="have not converged"):
            own.genes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quiet():
            post.genes()
        raytpnn.cross_validate(X, y, cv="2x1", chains=1, warmup=10, draws=10, executor="threads")
    told = call("genes", out).stdout
    assert post.verdict().headline[:40] in " ".join(told.split())
    assert "as rough" in " ".join(told.split())


def test_chains_that_have_converged_are_not(monkeypatch):
    monkeypatch.setattr("raytpnn.convergence.advice.LEAST_ESS_A_CHAIN", 1)
    monkeypatch.setattr("raytpnn.chains.monitoring.monitor.LEAST_ESS_A_CHAIN", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        post = fit(target_rhat=9.0, target_ess=2.0)
    assert post.config["stopped"] == "target"
    assert post.verdict().converged


def test_the_forecast_of_real_chains_holds_when_they_are_made_longer(tmp_path):
    """As many draws as foreseen are about enough; what was foreseen after fewer does not recede."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 1))
    y = X[:, 0] + 0.5 * rng.normal(size=200)
    with quiet():
        short = raytpnn.sample(
            X, y, chains=4, warmup=300, draws=200, executor="threads", seed=2, out=tmp_path / "run"
        )
    ahead = outlook(compared_quantities(short), short.diagnostics(), 1.01, 400.0)
    assert ahead.apart is None
    assert 1.0 < ahead.factor < 15.0
    with quiet():
        longer = raytpnn.resume(tmp_path / "run", draws=int(np.ceil(200 * ahead.factor)))
    _, rhat, ess = worst_of(longer.diagnostics())
    assert rhat < 1.03
    assert ess > 200
    again = outlook(compared_quantities(longer), longer.diagnostics(), 1.01, 400.0)
    assert again.factor < 2.5
