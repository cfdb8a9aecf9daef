"""What `test_prior_recovery` and other tests share: PRIOR, checks, run_without_data."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from scipy import stats
from support.chain_cases import make_case

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import B_GAMMA, INTERCEPT, NUISANCE, SIGMA_BETA2
from raytpnn.model.prior import Prior

PRIOR = Prior(
    K_max=4,
    C0=0.15,
    max_order=3,
    alpha_adding=0.95,
    gamma_adding=0.1,
    a_gamma=1.4,
    v=8.0,
    sharing=0.4,
    sigma_beta2_shape=2.0,
    sigma_beta2_scale=0.3,
    # Few factors have no height: those are left out of the prior.
    b_gamma_shape=2.0,
    b_gamma_scale=1.0,
)


def z_score(series: np.ndarray, expected: float) -> float:
    """z of a chain's mean, its error by batch means."""
    if np.all(series == series[0]):
        return 0.0 if series[0] == expected else np.inf
    batches = series[: len(series) // 50 * 50].reshape(50, -1).mean(axis=1)
    return (batches.mean() - expected) / (batches.std(ddof=1) / np.sqrt(50))


def equal_pairs(record, i: int) -> int:
    """Pairs of terms of a draw that have the same set."""
    sets = [frozenset(record.features[i, t, : record.order[i, t]].tolist()) for t in range(record.K[i])]
    return sum(left == right for left, right in combinations(sets, 2))


def checks(case, record) -> dict[str, float]:
    """z of every functional of the prior."""
    p = len(case.problem.codes)
    found = {}
    for k, weight in enumerate(PRIOR.count_weights(len(case.problem.y))):
        found[f"P(K={k})"] = z_score((k == record.K).astype(float), weight)
    terms = np.arange(PRIOR.K_max) < record.K[:, None]
    mean_K = PRIOR.count_weights(len(case.problem.y)) @ np.arange(PRIOR.K_max + 1)
    orders = PRIOR.order_weights(p)
    for d, weight in enumerate(orders, start=1):
        count = np.sum((record.order == d) & terms, axis=1)
        found[f"terms of order {d}"] = z_score(count.astype(float), mean_K * weight)
    held = terms[:, :, None] & (np.arange(record.features.shape[2]) < record.order[:, :, None])
    variables = mean_K * (orders @ np.arange(1, len(orders) + 1))
    for j in range(p):
        used = np.sum((record.features == j) & held, axis=(1, 2))
        found[f"uses of feature {j}"] = z_score(used.astype(float), variables / p)
    pairs = record.K * (record.K - 1) // 2
    alike = [equal_pairs(record, i) for i in range(len(record.K))]
    alone = sum(comb(p, d) * np.exp(PRIOR.log_set_prior(p)[d]) ** 2 for d in range(1, len(orders) + 1))
    share = (PRIOR.sharing + alone) / (1.0 + PRIOR.sharing)
    found["pairs of terms on one set"] = z_score(np.asarray(alike, float) - share * pairs, 0.0)
    b_gamma = record.scalar[:, B_GAMMA][:, None, None]
    sigma = np.sqrt(record.scalar[:, SIGMA_BETA2])[:, None]
    places = {
        "b": (record.b, held, stats.uniform()),
        "gamma": (record.gamma / b_gamma, held, stats.gamma(PRIOR.a_gamma)),
        "beta": (record.beta / sigma, terms, stats.norm()),
    }
    for name, (values, mask, law) in places.items():
        total = variables if mask.ndim == 3 else mean_K
        for q in (0.1, 0.5, 0.9):
            below = np.sum((values < law.ppf(q)) & mask, axis=tuple(range(1, mask.ndim)))
            found[f"{name} below its {q} quantile"] = z_score(below.astype(float), total * q)
    scalars = {
        "b_gamma": (B_GAMMA, stats.invgamma(PRIOR.b_gamma_shape, scale=case.settings.b_gamma_scale)),
        "sigma_beta2": (
            SIGMA_BETA2,
            stats.invgamma(PRIOR.sigma_beta2_shape, scale=case.settings.sigma_beta2_scale),
        ),
        "intercept": (INTERCEPT, stats.norm(case.settings.intercept_mean, PRIOR.intercept_sd)),
    }
    if case.family.dispersion:
        scalars["nuisance"] = (NUISANCE, stats.invgamma(PRIOR.v / 2, scale=PRIOR.v * case.noise_scale / 2))
    for name, (slot, law) in scalars.items():
        for q in (0.1, 0.5, 0.9):
            below = record.scalar[:, slot] < law.ppf(q)
            found[f"{name} below its {q} quantile"] = z_score(below.astype(float), q)
    return found


def run_without_data(family: str, moves: Moves, block=None, sweeps: int = 60_000, **more):
    case = make_case(family, n=6, p=4, prior=PRIOR, moves=moves, weight=0.0, run_block=block, **more)
    record = case.chain.run(0, sweeps, 500, 1).record
    return checks(case, record)


def against_prior_draws(family: str, block=None, sweeps: int = 30_000, draws: int = 3_000) -> np.ndarray:
    """z of every functional of a chain without data against draws of the default prior, as it is."""
    case = make_case(family, n=30, p=4, prior=Prior(), moves=Moves(), weight=0.0, run_block=block)
    # A fixed scale stays as it starts: the prior's.
    case.load(case.prior_draw(), 0)
    series = []
    for start in range(0, sweeps, 20):
        case.chain.run(start, 20, 500, sweeps)
        if start >= 500:
            series.append(by_prior(case))
    batches = np.array(series)[: len(series) // 50 * 50].reshape(50, -1, len(series[0])).mean(axis=1)
    drawn = []
    for _ in range(draws):
        case.load(case.prior_draw(), 0)
        case.compute_fit()
        drawn.append(by_prior(case))
    gap = batches.mean(axis=0) - np.mean(drawn, axis=0)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 50 + np.var(drawn, axis=0, ddof=1) / draws)
    return gap[error > 1e-9] / error[error > 1e-9]


def by_prior(case) -> np.ndarray:
    """Functionals of a state; those that grow with the number of terms by term, too."""
    values = case.statistics()
    K = int(case.chain.state.K)
    quarters = np.array([25, 50, 75]) < K
    return np.concatenate([values, values[2:12] / max(K, 1), quarters])
