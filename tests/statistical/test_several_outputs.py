"""Families of several outputs: the prior comes back without data, moves keep the posterior, twins do not.

As `test_invariance` and `test_prior_recovery`, whose limits hold: |z| < 4.5 of some 30 checks a test, a false
alarm about once in 500 runs of this file with new seeds; the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from support.chain_cases import make_case
from support.prior_recovery_cases import PRIOR, checks, z_score
from support.twins import LIMIT, largest_z, only, twin

from raytpnn.engine.moves.options import Moves

FAMILIES = ("heteroscedastic", "multinomial")
MOVES = {
    "birth_death": only(birth_death_attempts=5, output_changes=0),
    "output": only(output_changes=5),
    "output, beta from the prior": only(output_changes=5, conditional_beta=False),
    "refit": only(langevin=True, factor_steps=3, step_size=1.0, output_changes=0),
    "joint_beta": only(joint_beta_every=1, step_size=0.8, output_changes=0),
    "intercept": only(intercept=True, output_changes=0),
    "all together": Moves(adapt=False, step_size=0.9),
}


@njit
def coefficients_forgotten(settings, work, beta, moments, prior_precision, scale):
    return 0.0


@njit
def noise_forgotten(settings, output):
    """Intercepts of all outputs about the mean of the first."""
    return settings.intercept_mean


TWINS = {
    "coefficients forgotten when the output changes": (
        "output",
        {"log_output_ratio": coefficients_forgotten},
    ),
    "another output's prior of the intercept": ("intercept", {"centre_of": noise_forgotten}),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", MOVES)
def test_move_leaves_the_posterior_invariant(name, family):
    z, changed = largest_z(MOVES[name], family, 1000)
    assert changed > 0.2, "the move never moves: nothing was tested"
    assert z < LIMIT


@pytest.mark.parametrize("name", TWINS)
def test_broken_twin_is_seen(name):
    move, replacements = TWINS[name]
    z, _ = largest_z(MOVES[move], "heteroscedastic", 1000, block=twin(**replacements))
    assert z > LIMIT


def without_data(family: str, block=None, sweeps: int = 30_000) -> dict[str, float]:
    """z of the prior's functionals, and of the outputs of terms and their intercepts."""
    case = make_case(family, n=6, p=4, prior=PRIOR, moves=Moves(), weight=0.0, run_block=block)
    record = case.chain.run(0, sweeps, 500, 1).record
    found = checks(case, record)
    outputs = case.family.n_outputs
    terms = np.arange(PRIOR.K_max) < record.K[:, None]
    for c in range(outputs):
        own = np.sum((record.output == c) & terms, axis=1)
        found[f"terms of output {c}"] = z_score(own - record.K / outputs, 0.0)
        gap = record.intercepts[:, c] - case.settings.intercept_means[c]
        found[f"intercept {c}"] = z_score(gap, 0.0)
        found[f"spread of intercept {c}"] = z_score(gap**2, PRIOR.intercept_sd**2)
        shift = (record.output == c) & terms
        longer = np.sum(record.order * shift, axis=1) - np.sum(record.order * terms, axis=1) / outputs
        found[f"variables of output {c}"] = z_score(longer, 0.0)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_sampler_without_data_returns_the_prior(family):
    found = without_data(family)
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst


@njit
def first_is_likelier(settings, u):
    return min(int(u * u * settings.outputs), settings.outputs - 1)


def test_an_output_that_is_drawn_too_often_is_seen():
    found = without_data("heteroscedastic", twin(drawn_output=first_is_likelier), sweeps=5_000)
    assert abs(found["terms of output 0"]) > LIMIT
