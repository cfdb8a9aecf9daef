"""Draws as tables a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pandas as pd

from raytpnn.draws.draws import Draws

__all__ = ["scalar_table", "term_table"]


def scalar_table(draws: Draws) -> pd.DataFrame:
    """Table with one row per draw: chain, draw, K, loglik, intercept, nuisance, b_gamma, sigma_beta2."""
    return pd.DataFrame(
        {
            "chain": draws.chain,
            "draw": draws.draw,
            "K": draws.K,
            "loglik": draws.loglik,
            "intercept": draws.intercept,
            "nuisance": draws.nuisance,
            "b_gamma": draws.b_gamma,
            "sigma_beta2": draws.sigma_beta2,
        }
    )


def term_table(draws: Draws, names: Sequence[str]) -> pd.DataFrame:
    """Table with one row per term: chain, draw, features (tuple of names), b and gamma (lists), beta."""
    start = draws.variable_start.tolist()
    spans = [slice(a, b) for a, b in pairwise(start)]
    name = [names[feature] for feature in draws.feature.tolist()]
    b, gamma = draws.b.tolist(), draws.gamma.tolist()
    owner = draws.draw_of_term
    return pd.DataFrame(
        {
            "chain": draws.chain[owner],
            "draw": draws.draw[owner],
            "features": pd.Series([tuple(name[span]) for span in spans], dtype=object),
            "b": pd.Series([b[span] for span in spans], dtype=object),
            "gamma": pd.Series([gamma[span] for span in spans], dtype=object),
            "beta": draws.beta,
        }
    )
