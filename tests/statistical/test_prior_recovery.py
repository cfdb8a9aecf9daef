"""With no data (all weights 0) the whole sampler returns the prior.

One long chain a family; each check is a z-test of a mean with the Monte Carlo error of a correlated chain.
About 45 checks at |z| < 4.5 a family: a false alarm about once in 1,000 families with new seeds; the seeds
are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.prior_recovery_cases import against_prior_draws, run_without_data
from support.twins import DISCOVERING_TWINS, TWINS, twin

from raytpnn.engine.moves.options import Moves

LIMIT = 4.5


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_sampler_without_data_returns_the_prior(family):
    found = run_without_data(family, Moves())
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_births_by_weight_and_from_a_table_return_the_prior(family):
    found = run_without_data(family, Moves(), discovering=True)
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst


@pytest.mark.parametrize("name", DISCOVERING_TWINS)
def test_forgotten_proposal_of_a_birth_is_seen_without_data(name):
    block = twin(**DISCOVERING_TWINS[name])
    found = run_without_data("gaussian", Moves(birth_death_attempts=2), block=block, discovering=True)
    assert max(abs(z) for z in found.values()) > LIMIT


def test_paper_moves_without_data_return_the_prior():
    moves = Moves(
        **{**vars(Moves.paper()), "scales": True, "birth_death_attempts": 4, "step_size": 0.1},
    )
    found = run_without_data("gaussian", moves)
    worst = max(found, key=lambda name: abs(found[name]))
    assert abs(found[worst]) < LIMIT, worst


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_sampler_without_data_returns_the_default_prior(family):
    """Up to 100 terms, scales by the rule: up to 31 z-tests against draws of that prior."""
    z = against_prior_draws(family)
    assert np.abs(z).max() < LIMIT, z


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log((K+1)/(Kmax-K)) dropped", "log-gamma Jacobian left out of a refit"])
def test_broken_twin_is_seen_without_data_and_with_the_default_prior(name):
    _, replacements = TWINS[name]
    z = against_prior_draws("gaussian", twin(**replacements), 10_000, 1_000)
    assert np.abs(z).max() > LIMIT


# What only the likelihood can tell shows in test_invariance alone.
@pytest.mark.parametrize(
    "name",
    [name for name in TWINS if not any(word in name for word in ("determinant", "height", "likelihood"))],
)
def test_broken_twin_is_seen_without_data(name):
    move, replacements = TWINS[name]
    steps = 0 if move == "langevin" else Moves().factor_steps
    # Few births and deaths: they draw sets from the prior, and hide what a wrong Deleting does.
    found = run_without_data(
        "gaussian", Moves(birth_death_attempts=1, factor_steps=steps), block=twin(**replacements)
    )
    assert max(abs(z) for z in found.values()) > LIMIT
