"""Whether proposals change a posterior: largest_difference."""

from __future__ import annotations

import numpy as np
from arviz_stats.base import array_stats

import raytpnn
from raytpnn import Prior


def largest_difference(feature_weights) -> float:
    """Of K, inclusion, f and the noise variance, from uniform to other weights, in standard errors."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 3))
    y = 0.8 * X[:, 0] + rng.normal(size=40)
    size = {"chains": 4, "warmup": 600, "draws": 6000, "prior": Prior(K_max=3, max_order=2)}
    means, variances = [], []
    for weights in (None, feature_weights):
        post = raytpnn.sample(X, y, executor="threads", seed=9, feature_weights=weights, **size)
        draws = post.draws
        held = np.zeros((draws.n_draws, 3))
        held[draws.draw_of_term[draws.term_of_variable], draws.feature] = 1.0
        summary = np.column_stack([draws.K, held, post.predict_draws(X[:8]), draws.nuisance])
        chains = summary.reshape(4, -1, summary.shape[1])
        ess = [array_stats.ess(chains[:, :, i], method="mean") for i in range(summary.shape[1])]
        means.append(summary.mean(axis=0))
        variances.append(summary.var(axis=0) / np.array(ess))
    return float((np.abs(means[0] - means[1]) / np.sqrt(variances[0] + variances[1])).max())
