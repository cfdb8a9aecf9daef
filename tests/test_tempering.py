"""Replicas that trade temperatures keep their joint law, and do not depend on how they are run."""

from __future__ import annotations

import numpy as np
import pytest
from chain_cases import make_case
from ensemble_cases import flat_case, make_ensemble
from numba import njit
from test_invariance import LIMIT
from test_prior_recovery import PRIOR, checks

from raytpnn.chains.tempering import Tempering
from raytpnn.engine import ensemble as compiled_ensemble
from raytpnn.engine.binding import rebuild
from raytpnn.engine.execution import EnsembleRunner
from raytpnn.engine.layout import FIT_LOGLIK, NUISANCE, TEMPERATURE
from raytpnn.engine.settings import Moves
from raytpnn.engine.swap import full_log_likelihood
from raytpnn.model.prior import Prior

FAMILIES = ["gaussian", "bernoulli", "poisson"]
SWEEPS = 20
FIXED = Tempering(2, t_min=0.0, adapt=False)


def twin(**broken) -> EnsembleRunner:
    """The compiled ensemble with some functions replaced."""

    def copy(function):
        return rebuild(function, broken, lambda source: njit(source, nogil=True, error_model="numpy"))

    return EnsembleRunner(
        compiled_ensemble.begin_replicas, None, None, copy(compiled_ensemble.run_ensemble)
    )


@njit
def flipped_ratio(settings, hot, cold):
    gap = hot.scalar[TEMPERATURE] - cold.scalar[TEMPERATURE]
    return gap * (full_log_likelihood(settings, hot) - full_log_likelihood(settings, cold))


@njit
def likelihood_of_fit_alone(settings, state):
    return state.scalar[FIT_LOGLIK] / state.scalar[NUISANCE]


def level_statistics(case, replicas) -> np.ndarray:
    """Functionals of every level's state and the data."""
    found = []
    for replica in replicas.ladder.replica_at[: replicas.tempering.replicas]:
        case.chain.restore(replicas.states[replica].tobytes())
        case.compute_fit()
        found.append(case.statistics())
    return np.concatenate(found)


def largest_z(family, cold=1.0, prior_draws=True, repetitions=1500, runner=None) -> tuple[float, float]:
    """Largest |z| of the change of a functional of the joint law, and the share of accepted swaps.

    The hot replica comes from the prior, whatever the data; the cold one from the prior too, with data from
    the likelihood to the power `cold`. For a Gaussian one that is a normal with its variance divided by the
    power, times a power of the variance that tilts the prior.
    """
    n = 6
    prior = Prior(K_max=3, C0=0.1, max_order=2, intercept_sd=0.5, v=12.0, sigma_beta2_scale=0.3)
    case = make_case(family, n=n, p=3, prior=prior, moves=Moves(adapt=False, step_size=0.9))
    case.rng = np.random.default_rng(5)
    replicas = make_ensemble(case, FIXED, runner=runner)
    replicas.ladder.prior_draws = prior_draws
    steps = np.log(np.full(len(case.chain.state.log_step), 0.9))
    changes, swapped = [], 0
    for repetition in range(repetitions):
        replicas.ladder.replica_at[:2] = [0, 1]
        replicas._hand_out_temperatures(np.array([0.0, cold]))
        for replica in (0, 1):
            case.load(case.prior_draw(), repetition + (replica << 20))
            if replica == 1 and family == "gaussian":
                shape = 0.5 * (prior.v - n * (1.0 - cold))
                case.chain.state.scalar[NUISANCE] = 0.5 * case.settings.v_lambda / case.rng.gamma(shape)
            case.chain.state.scalar[TEMPERATURE] = (0.0, cold)[replica]
            case.chain.state.log_step[:] = steps
            replicas.states[replica] = case.chain.state
        fit = case.compute_fit()
        nuisance = case.chain.state.scalar[NUISANCE] / (cold if family == "gaussian" else 1.0)
        case.problem.y[:] = case.family.sample(case.rng, fit, nuisance)
        before = level_statistics(case, replicas)
        replicas.run(0, SWEEPS, 0, SWEEPS + 1)
        changes.append(level_statistics(case, replicas) - before)
        swapped += replicas.status().swapped.sum()
    change = np.array(changes)
    spread = change.std(axis=0)
    moved = spread > 1e-9
    z = change.mean(axis=0)[moved] / (spread[moved] / np.sqrt(repetitions))
    return float(np.abs(z).max()), swapped / (repetitions * SWEEPS / 2)


@pytest.mark.parametrize("prior_draws", [True, False], ids=["prior drawn", "prior sampled by moves"])
@pytest.mark.parametrize("family", FAMILIES)
def test_joint_law_of_replicas_is_invariant(family, prior_draws):
    z, swapped = largest_z(family, prior_draws=prior_draws)
    assert swapped > 0.1, "hardly any swap: nothing was tested"
    assert z < LIMIT


def test_joint_law_is_invariant_at_half_the_temperature():
    z, swapped = largest_z("gaussian", cold=0.5)
    assert swapped > 0.1
    assert z < LIMIT


@pytest.mark.parametrize(
    "broken",
    [{"log_swap_ratio": flipped_ratio}, {"full_log_likelihood": likelihood_of_fit_alone}],
    ids=["sign flipped", "noise variance forgotten"],
)
def test_broken_swap_is_seen(broken):
    z, _ = largest_z("gaussian", runner=twin(**broken))
    assert z > LIMIT
