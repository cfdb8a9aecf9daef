"""Student, negative binomial, Weibull and survival: moves, prior, calibration, and twins that are seen.

As in `test_invariance`, `test_prior_recovery` and `test_calibration`, where the limits are explained. Of the
moves those are tested that ask the family something of its own; all together are all the others.
"""

from __future__ import annotations

import pytest
from numba import njit
from support.calibration_cases import LEVEL, calibration
from support.prior_recovery_cases import run_without_data
from support.twins import LIMIT, largest_z, only, twin

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import FIT_LOGLIK, FOR_NUISANCE, NUISANCE, TEMPERATURE
from raytpnn.engine.rows.row_passes import evaluate
from raytpnn.families import FAMILIES
from raytpnn.families.base import LIKELIHOOD
from raytpnn.numerics.elementary import exp, log, normal_quantile
from raytpnn.numerics.random import uniforms

NEW = ("student", "negative_binomial", "weibull", "survival")
WITH_DISPERSION = [name for name in NEW if FAMILIES[name].dispersion]
MOVES = {
    "nuisance": only(nuisance=True),
    "joint_beta": only(joint_beta_every=1, step_size=0.8),
    "intercept": only(intercept=True),
    "all together": Moves(adapt=False, step_size=0.9),
}


@pytest.mark.parametrize("family", NEW)
@pytest.mark.parametrize("name", MOVES)
def test_move_leaves_the_posterior_invariant(name, family):
    if name == "nuisance" and not FAMILIES[family].dispersion:
        pytest.skip("the family has no dispersion")
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
def way_back_forgotten(x, mean, precision):
    """As if every proposal were as likely as its way back."""
    return 0.0


@pytest.mark.parametrize("family", WITH_DISPERSION)
def test_dispersion_without_its_prior_is_seen(family):
    z, _ = largest_z(MOVES["nuisance"], family, 1500, block=twin(step_dispersion=step_without_prior))
    assert z > LIMIT


@pytest.mark.parametrize("family", NEW)
def test_an_approximated_curvature_that_is_not_accounted_for_is_seen(family):
    """Without the proposals' densities, a curvature that only stands for the true one leaves its trace."""
    z, _ = largest_z(MOVES["intercept"], family, 1500, block=twin(log_normal=way_back_forgotten))
    assert z > LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("family", NEW)
def test_sampler_without_data_returns_the_prior(family):
    found = run_without_data(family, Moves())
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst


@pytest.mark.slow
@pytest.mark.parametrize("family", NEW)
def test_ranks_are_uniform(family):
    p_values = calibration(family, 1000)
    assert p_values.min() > LEVEL, p_values


@pytest.mark.slow
def test_a_dispersion_without_its_prior_is_not_calibrated():
    p_values = calibration("negative_binomial", 1000, twin(step_dispersion=step_without_prior))
    assert p_values.min() < LEVEL
