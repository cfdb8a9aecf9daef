"""Draws that come from a file, checked before compiled code relies on them."""

from __future__ import annotations

import numpy as np

from raytpnn.draws.draws import Draws
from raytpnn.model.limits import MOST_TERMS, MOST_VARIABLES

__all__ = ["check_draws"]


def check_draws(draws: Draws, n_features: int) -> None:
    """Raise ValueError if a draw is none of a model with so many encoded features."""
    K, order, feature = draws.K, draws.order, draws.feature
    if len(K) and not 0 <= K.min() <= K.max() <= MOST_TERMS:
        raise ValueError(f"a draw has {K.min()} or {K.max()} terms, but must have 0 to {MOST_TERMS}")
    if len(order) and not 1 <= order.min() <= order.max() <= MOST_VARIABLES:
        raise ValueError(
            f"a term has {order.min()} or {order.max()} features, but must have 1 to {MOST_VARIABLES}"
        )
    if len(feature) and not 0 <= feature.min() <= feature.max() < n_features:
        raise ValueError(f"a term has feature {feature.min()} or {feature.max()}, but there are {n_features}")
    if len(feature) and repeated(draws.term_of_variable, feature):
        raise ValueError("a term has a feature twice")
    if len(draws.output) and not 0 <= draws.output.min() <= draws.output.max() < draws.n_outputs:
        last = draws.n_outputs - 1
        raise ValueError(f"a term has output {draws.output.min()} or {draws.output.max()}, not 0 to {last}")
    if len(draws.draw) and draws.draw.min() < 0:
        raise ValueError(f"a draw has number {draws.draw.min()}")
    # The log-likelihood is not checked: it is reported, and nothing is computed from it.
    for name in ("intercept", "intercepts", "nuisance", "b_gamma", "sigma_beta2", "beta", "b", "gamma"):
        values = getattr(draws, name)
        bad = ~np.isfinite(values)
        if name in ("nuisance", "b_gamma", "sigma_beta2", "gamma"):
            bad |= ~(values > 0.0)
        if bad.any():
            wish = "finite" if name in ("intercept", "intercepts", "beta", "b") else "a positive number"
            raise ValueError(f"{name} is {values.flat[np.argmax(bad)]} somewhere, but must be {wish}")


def repeated(owner: np.ndarray, value: np.ndarray) -> bool:
    """Whether two values of one owner are the same."""
    sort = np.lexsort((value, owner))
    same = (np.diff(owner[sort]) == 0) & (np.diff(value[sort]) == 0)
    return bool(same.any())
