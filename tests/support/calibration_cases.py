"""What `test_calibration` and other tests share: DEFAULT, LEVEL, calibration."""

from __future__ import annotations

import numpy as np
from scipy import stats
from support.chain_cases import make_case

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import B_GAMMA, INTERCEPT, NUISANCE, SIGMA_BETA2
from raytpnn.model.prior import Prior

LEVEL = 1e-4

BINS = 10


def prior_of(family: str) -> Prior:
    """A prior of small models.

    Signals are mild for counts: with the others' the largest mean is 1e18 now and then, and a chain that
    starts elsewhere does not get there in a few hundred sweeps. Invariance holds there too (test_invariance).
    """
    return Prior(
        K_max=4,
        C0=0.1,
        max_order=3,
        alpha_adding=0.9,
        gamma_adding=0.5,
        intercept_sd=0.7,
        v=8.0,
        sharing=0.4,
        sigma_beta2_shape=2.0,
        sigma_beta2_scale=0.05 if family == "poisson" else 0.5,
    )


# Terms are bounded, sets independent, scales fixed by the rule. Fewer terms, so that chains get around in a
# few hundred sweeps; an intercept that leaves counts finite.
DEFAULT = Prior(K_max=10, intercept_sd=0.7)


def functionals(case) -> np.ndarray:
    state = case.chain.state
    K = int(state.K)
    fit = case.fit
    return np.array(
        [
            K,
            state.order[:K].sum(),
            state.scalar[INTERCEPT],
            state.scalar[NUISANCE],
            state.scalar[B_GAMMA],
            state.scalar[SIGMA_BETA2],
            fit[0],
            fit[1],
            fit[2] * fit[3],
        ]
    )


def calibration(family: str, repetitions: int, block=None, prior: Prior | None = None, **more) -> np.ndarray:
    """p-values of the functionals' ranks, (9,)."""
    case = make_case(
        family,
        n=15,
        p=4,
        prior=prior or prior_of(family),
        moves=Moves(),
        run_block=block,
        seed=11,
        **more,
    )
    case.rng = np.random.default_rng(11)
    draws, thin, warmup = 39, 12, 300
    ranks = []
    for repetition in range(repetitions):
        case.load(case.prior_draw(), repetition)
        case.simulate_response()
        truth = functionals(case)
        case.load(case.prior_draw(), repetition)
        case.chain.state.log_step[:] = np.log(0.8)
        case.chain.state.step_count[:] = 0
        case.chain.state.walk_step[:] = np.log(0.8)
        case.chain.state.walk_count[:] = 0
        case.chain.run(0, warmup, warmup, 1)
        values = []
        for draw in range(draws):
            case.chain.run(warmup + draw * thin, thin, warmup, 1000)
            values.append(functionals(case))
        below = np.sum(np.array(values) < truth, axis=0)
        ties = np.sum(np.array(values) == truth, axis=0)
        ranks.append(below + case.rng.integers(0, ties + 1))
    counts = [np.bincount(column * BINS // (draws + 1), minlength=BINS) for column in np.array(ranks).T]
    return np.array([stats.chisquare(count).pvalue if np.ptp(count) else 1.0 for count in counts])
