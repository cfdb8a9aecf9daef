"""What `test_components` and other tests share: reference_components."""

from __future__ import annotations

import numpy as np

from raytpnn.forward.forward_numpy import term_values


def reference_components(post, codes):
    """f_S of every draw at every row by dict from sorted names, (D, n) each, term by term."""
    total = {}
    draws = post.draws
    for i in range(draws.n_draws):
        for term in range(draws.term_start[i], draws.term_start[i + 1]):
            span = slice(draws.variable_start[term], draws.variable_start[term + 1])
            key = tuple(post.bins.names[j] for j in sorted(draws.feature[span]))
            f = total.setdefault(key, np.zeros((draws.n_draws, codes.shape[1])))
            f[i] += term_values(draws, post.bins, term, codes)
    return total
