"""Draws as tables a person can read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pandas as pd

from raytpnn.draws.draws import Draws

__all__ = ["scalar_table", "term_table"]


def scalar_table(draws: Draws, outputs: Sequence[str] | None = None) -> pd.DataFrame:
    """Table with one row per draw: chain, draw, K, loglik, intercept, nuisance, b_gamma, sigma_beta2.

    With names of outputs, there is an intercept for each: "intercept[name]".
    """
    intercepts = {"intercept": draws.intercept}
    if outputs is not None:
        intercepts = {f"intercept[{name}]": draws.intercepts[:, c] for c, name in enumerate(outputs)}
    return pd.DataFrame(
        {
            "chain": draws.chain,
            "draw": draws.draw,
            "K": draws.K,
            "loglik": draws.loglik,
            **intercepts,
            "nuisance": draws.nuisance,
            "b_gamma": draws.b_gamma,
            "sigma_beta2": draws.sigma_beta2,
        }
    )


def term_table(draws: Draws, names: Sequence[str], outputs: Sequence[str] | None = None) -> pd.DataFrame:
    """Table with one row per term: chain, draw, features (tuple of names), b and gamma (lists), beta, output.

    The last column is there if there are names of outputs.
    """
    start = draws.variable_start.tolist()
    spans = [slice(a, b) for a, b in pairwise(start)]
    name = [names[feature] for feature in draws.feature.tolist()]
    b, gamma = draws.b.tolist(), draws.gamma.tolist()
    owner = draws.draw_of_term
    table = pd.DataFrame(
        {
            "chain": draws.chain[owner],
            "draw": draws.draw[owner],
            "features": pd.Series([tuple(name[span]) for span in spans], dtype=object),
            "b": pd.Series([b[span] for span in spans], dtype=object),
            "gamma": pd.Series([gamma[span] for span in spans], dtype=object),
            "beta": draws.beta,
        }
    )
    if outputs is not None:
        table["output"] = [outputs[output] for output in draws.output.tolist()]
    return table
