"""What `test_stripes` and other tests share: response."""

from __future__ import annotations

import numpy as np
from support.chain_cases import random_bins

from raytpnn.families import get_family


def response(family, n, p, seed):
    """One that depends on the features, so that there are terms to sum over."""
    rng = np.random.default_rng(seed)
    codes = random_bins(n, p, seed).codes.astype(float)
    signal = sum(np.sin((j + 2) * codes[j] / codes[j].max()) for j in range(p))
    return get_family(family).sample(rng, signal - signal.mean(), 0.1)
