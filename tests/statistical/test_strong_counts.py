"""Strong poisson signals: the sampler keeps their posterior, however slowly it gets around in it.

A truth is a draw of the prior, data come from the truth: given the data, the truth is an exact draw of the
posterior. A chain that starts there is stationary from its first sweep on if the sampler is right, whether it
mixes or not, so that no functional of (state, data) changes in mean. What slow mixing does to chains that
start elsewhere (see test_coverage) does not show. In a quarter of the truths some mean is beyond e^6.

Step sizes are those that another chain on the same data has learned: they depend on the data alone. A run
makes up to 26 z-tests, each fails by chance with probability 7e-6 (|z| > 4.5): both runs together raise a
false alarm about once in 2,700 runs with new seeds; the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from support.chain_cases import Case, make_case
from support.twins import twin

from raytpnn.engine.records import INTERCEPT
from raytpnn.model.prior import Prior

LIMIT = 4.5
PILOT, SWEEPS = 150, 60
PRIORS = {
    "bounded": Prior(K_max=8, max_order=2, intercept_sd=1.0, sigma_beta2_shape=4.0, sigma_beta2_scale=15.0),
    "unbounded": Prior(
        K_max=8, max_order=2, intercept_sd=1.0, bounded=False, sigma_beta2_shape=4.0, sigma_beta2_scale=15.0
    ),
}
# Beyond, y f - exp(f) is nothing but rounding, and counts cannot be drawn.
LARGEST_F = 18.0


def strong_truth(case: Case, stream: int) -> None:
    """Load a truth from the prior, given that its means can be told apart, and draw data from it."""
    while True:
        case.load(case.prior_draw(), stream)
        if case.compute_fit().max() < LARGEST_F:
            case.simulate_response()
            # The log-likelihood, too, is now that of the new response.
            case.compute_fit()
            return


def learn_steps(case: Case, stream: int) -> None:
    """Run another chain on the same data, without terms at first; only its step sizes stay."""
    state = case.chain.state
    state.K = 0
    state.scalar[INTERCEPT] = case.settings.intercept_mean
    state.log_step[:] = np.log(0.8)
    state.step_count[:] = 0
    state.stream[2] = stream
    centre = case.family.start(case.problem.y, case.problem.offset)
    case.settings.null_curvature = np.mean(case.family.variance(centre + case.problem.offset))
    case.settings.adapt = True
    case.chain.run(0, PILOT, PILOT, 1)
    case.settings.adapt = False


def misfit(case: Case) -> np.ndarray:
    """How far data lie from their means, in standard deviations, where means are large and over all."""
    y, mean = case.problem.y, case.family.mean(case.fit)
    gap = (y - mean) / np.sqrt(mean + 1.0)
    largest = int(np.argmax(y))
    deviance = np.sum(case.family.row_loglik(y, case.fit)) - np.sum(y * np.log(np.maximum(y, 1.0)) - y)
    values = np.array(
        [np.mean(gap**2), gap[largest], np.sum(y - mean) / np.sqrt(np.sum(mean)), deviance / len(y)]
    )
    return np.arcsinh(values)


def statistics(case: Case) -> np.ndarray:
    return np.concatenate([case.statistics(), misfit(case), [np.tanh(case.fit.max() / 6.0)]])


def largest_z(prior: Prior, repetitions: int, block=None) -> tuple[float, float, np.ndarray]:
    """Largest |z| of a change in mean, mean change of f in standard errors of f, largest f of the truths."""
    case = make_case("poisson", n=60, p=3, prior=prior, run_block=block, seed=5)
    case.rng = np.random.default_rng(5)
    case.settings.intercept_mean = 0.0
    case.problem.offset[:] = 0.0
    changes, largest, moved = [], [], []
    for repetition in range(repetitions):
        strong_truth(case, 2 * repetition)
        truth = case.chain.checkpoint()
        before, f = statistics(case), case.fit.copy()
        learn_steps(case, 2 * repetition + 1)
        steps = case.chain.state.log_step.copy()
        case.chain.restore(truth)
        case.chain.state.log_step[:] = steps
        case.chain.run(0, SWEEPS, SWEEPS, 1)
        changes.append(statistics(case) - before)
        largest.append(f.max())
        moved.append(np.mean(np.abs(case.fit - f) * np.exp(0.5 * f)))
    change = np.array(changes)
    spread = change.std(axis=0)
    used = spread > 1e-9
    z = change.mean(axis=0)[used] / (spread[used] / np.sqrt(repetitions))
    return float(np.abs(z).max()), float(np.median(moved)), np.array(largest)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_chains_from_the_truth_stay_in_the_posterior(name):
    z, moved, largest = largest_z(PRIORS[name], 2000)
    print(f"{name}: z {z:.2f}, f moved by {moved:.2f}, largest f {np.quantile(largest, [0.1, 0.5, 0.9])}")
    assert moved > 0.1, "the chains stay where they are: nothing was tested"
    assert np.mean(largest > 6.0) > 0.2, "the signals are not strong"
    assert z < LIMIT


@njit
def no_coefficient_ratio(settings, work, beta, mean, precision, prior_precision):
    return 0.0


TWINS = {
    "coefficient's proposal forgotten": {"log_prior_over_proposal": no_coefficient_ratio},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_broken_twin_is_seen_with_strong_signals(name):
    z, _, _ = largest_z(PRIORS["bounded"], 1000, twin(**TWINS[name]))
    assert z > LIMIT
