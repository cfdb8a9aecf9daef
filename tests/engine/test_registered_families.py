"""A family that is registered from outside: sampled by every execution, predicted with, scored, saved.

Laplace has a dispersion that divides its log-likelihood, Heavy one that stands in it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numba import njit
from support.chain_cases import make_case
from support.cuda_cases import HostDevice
from support.cuda_host.build import COMPILER, HostError
from support.execution_cases import differing
from support.family_cases import Heavy, Laplace, kernels_with_families, registered
from support.twins import LIMIT, largest_z, only, twin

import raytpnn
from raytpnn.engine.gpu import device as devices
from raytpnn.engine.gpu.kernel_files import kernel_source
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import FIT_LOGLIK, FOR_NUISANCE, NUISANCE, TEMPERATURE
from raytpnn.engine.rows.row_passes import evaluate
from raytpnn.families import FAMILIES, Gaussian, family_of_code, register
from raytpnn.families.base import LIKELIHOOD
from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.random import uniforms
from raytpnn.posterior.evaluate.scores import score

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")
NEW = ("laplace", "heavy")
SHORT = {"chains": 2, "warmup": 60, "draws": 40, "seed": 5, "executor": "threads"}


@pytest.fixture(autouse=True)
def _families():
    with registered(Laplace(), Heavy()):
        yield


def data(family, n=300, dispersion=0.05, seed=2):
    """Rows, a response on a scale of its own, and f there."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    f = np.sin(5.0 * X[:, 0]) + X[:, 1]
    y = FAMILIES[family].sample(rng, f, dispersion)
    return X, 100.0 + 20.0 * y, 100.0 + 20.0 * f


def fit(family, **options):
    X, y, _ = data(family, n=60)
    prior = raytpnn.Prior(K_max=8, max_order=3)
    return raytpnn.sample(X, y, family=family, prior=prior, **SHORT | options)


def assert_same_draws(left, right):
    for field in dataclasses.fields(left.draws):
        assert np.array_equal(getattr(left.draws, field.name), getattr(right.draws, field.name)), field.name


@pytest.mark.parametrize("family", NEW)
def test_score_is_the_slope_of_the_log_likelihood(family):
    member, h = FAMILIES[family], 1e-6
    y, f, eta = np.array([0.3, -1.0, 2.0]), np.array([0.1, 0.5, -0.7]), 0.4
    w = np.array([1.0, 0.5, 2.0])
    score, curvature, _ = member.reference_rows(y, f, w, eta)
    above, below = (member.reference_rows(y, f + step, w, eta)[2] for step in (h, -h))
    np.testing.assert_allclose(score, (above - below) / (2 * h), rtol=1e-6)
    assert np.all(curvature > 0.0)


@pytest.mark.parametrize("family", NEW)
@pytest.mark.parametrize("conditional", [True, False])
def test_reference_and_compiled_chains_have_the_same_bits(family, conditional):
    ended = []
    for backend in ("numba", "reference"):
        case = make_case(
            family, n=40, missing=0.1, backend=backend, moves=Moves(conditional_beta=conditional)
        )
        case.load(case.prior_draw(), 3)
        case.chain.run(0, 20, 10, 1)
        ended.append(case.chain)
    assert differing(*ended) == []
    assert ended[0].state.scalar[NUISANCE] != 1.0


@pytest.mark.parametrize("family", NEW)
def test_replicas_of_both_executions_have_the_same_bits(family):
    tempering = raytpnn.Tempering(replicas=3, t_min=0.0)
    few = {"tempering": tempering, "chains": 1, "warmup": 8, "draws": 8}
    left, right = (fit(family, backend=backend, **few) for backend in ("numba", "reference"))
    assert_same_draws(left, right)


@needs_compiler
@pytest.mark.parametrize("family", NEW)
@pytest.mark.parametrize("options", [{}, {"shards": 2}, {"minibatch": 30}], ids=["sweep", "grid", "subset"])
def test_kernels_give_the_draws_of_numba(family, options, tmp_path):
    folder = kernels_with_families(tmp_path / "kernels")
    made = [HostDevice("lazy", order="random", folder=folder) for _ in range(2)]
    with devices.use(*made):
        left = fit(family, backend="cuda", **options)
    assert any(device.launches for device in made)
    assert_same_draws(left, fit(family, backend="numba", **options))


@needs_compiler
def test_kernels_do_not_take_one_family_for_another():
    """Kernels that were built without a family end when they meet its code."""
    with devices.use(HostDevice()), pytest.raises(HostError, match="__trap"):
        fit("laplace", backend="cuda")


def test_a_family_without_cuda_source_is_refused(monkeypatch):
    monkeypatch.setattr(Laplace, "cuda", None)
    with devices.use(HostDevice()), pytest.raises(ValueError, match="'laplace' has no CUDA source"):
        fit("laplace", backend="cuda")


def test_cupy_is_given_the_registered_families():
    text = kernel_source("sweep")
    assert text.count("FamilyRow laplace_row(") == 1
    assert "if (family == 1001) return laplace_row(y, f, w, dispersion, need);" in text


MOVES = {
    "nuisance": only(nuisance=True),
    "joint_beta": only(joint_beta_every=1, step_size=0.8),
    "all together": Moves(adapt=False, step_size=0.9),
}


@pytest.mark.parametrize("family", NEW)
@pytest.mark.parametrize("name", MOVES)
def test_moves_leave_the_posterior_invariant(name, family):
    z, changed = largest_z(MOVES[name], family, 1000)
    assert changed > 0.2, "the move never moves: nothing was tested"
    assert z < LIMIT


@njit
def step_without_prior(problem, settings, state, work):
    """`step_dispersion` whose ratio forgets the prior."""
    old = state.scalar[NUISANCE]
    u, v = uniforms(state, FOR_NUISANCE, 0, 0)
    state.scalar[NUISANCE] = old * exp(normal_quantile(u))
    features = work.trial_features[0]
    evaluate(problem, settings, state, work, work.fit, 0, 0.0, 0, 0.0, LIKELIHOOD, 0, features, 0)
    if log(v) < state.scalar[TEMPERATURE] * (work.sums[0] - state.scalar[FIT_LOGLIK]):
        state.scalar[FIT_LOGLIK] = work.sums[0]
    else:
        state.scalar[NUISANCE] = old


@njit
def shape_of_a_gaussian(settings, state):
    return 0.5 * (settings.v + state.scalar[TEMPERATURE] * settings.weight_sum)


@pytest.mark.parametrize(
    ("family", "move", "broken"),
    [
        ("heavy", "nuisance", {"step_dispersion": step_without_prior}),
        ("laplace", "nuisance", {"dispersion_shape": shape_of_a_gaussian}),
    ],
)
def test_broken_twin_is_seen(family, move, broken):
    z, _ = largest_z(MOVES[move], family, 1500, block=twin(**broken))
    assert z > LIMIT


@pytest.mark.parametrize("family", NEW)
def test_a_fit_is_predicted_with_scored_and_saved(family, tmp_path):
    X, y, f = data(family, n=600)
    length = {"chains": 2, "warmup": 300, "draws": 200, "thin": 4, "seed": 1, "executor": "threads"}
    post = raytpnn.sample(X, y, family=family, **length)
    X_new, y_new, f_new = data(family, n=200, seed=9)
    found = score(post, X_new, y_new)
    assert found["rmse"] < 1.15 * np.sqrt(np.mean((y_new - f_new) ** 2))
    assert 0.85 < found["coverage"] < 0.95
    assert np.sqrt(np.mean((post.predict(X) - f) ** 2)) < 0.25 * np.std(f)
    # What was drawn is the dispersion of the user's scale.
    member = FAMILIES[family]
    truth = float(member.user_dispersion(0.05, 20.0))
    assert 0.8 * truth < post.draws.nuisance.mean() < 1.25 * truth
    # And the log-likelihood is that of the user's response.
    latent = post.predictor.latent(post.training_codes(), np.zeros(len(y)))
    expected = member.log_density(y, latent, post.draws.nuisance[:, None]).sum(axis=1)
    np.testing.assert_allclose(post.draws.loglik, expected, rtol=1e-5)
    # The right law is better than a normal one.
    other = raytpnn.sample(X, y, **length)
    assert found["nll"] < score(other, X_new, y_new)["nll"]
    post.save(tmp_path / "run")
    again = raytpnn.load(tmp_path / "run")
    np.testing.assert_array_equal(again.predict(X_new), post.predict(X_new))
    assert "nuisance" in set(post.diagnostics()["quantity"])
    assert len(post.predictive_check()) == len(member.statistics)


@pytest.mark.parametrize("family", NEW)
def test_an_unfinished_run_is_gone_on_with(family, tmp_path):
    whole = fit(family, out=tmp_path / "run")
    for path in (tmp_path / "run" / "checkpoint").rglob("chain=1/block=*"):
        path.unlink()
    assert_same_draws(raytpnn.resume(tmp_path / "run", executor="threads"), whole)


def test_cross_validation_and_feature_weights_take_it():
    X, y, _ = data("laplace", n=80)
    options = {"chains": 1, "warmup": 30, "draws": 30, "executor": "threads", "feature_weights": "marginal"}
    table = raytpnn.cross_validate(X, y, family="laplace", cv=2, **options).scores()
    assert list(table.index) == ["rmse", "nll", "crps"]


def test_a_name_or_a_code_is_taken_once():
    class Other(Gaussian):
        name = "other"

    with pytest.raises(ValueError, match="names and codes are used once"):
        register(Other())
    with pytest.raises(ValueError, match="no family has code 77"):
        family_of_code(77)
    case = make_case()
    case.settings.family = 77
    with pytest.raises(ValueError, match="no family has code 77"):
        type(case.chain)(case.problem, case.settings, case.chain.state, None)
    assert "other" not in FAMILIES
