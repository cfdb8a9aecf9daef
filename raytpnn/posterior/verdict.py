"""Whether the chains of a posterior converged: one answer, from one table, for all callers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pandas as pd

from raytpnn.convergence.advice import Judgement, judge, limits_in_words, limits_of, meets, worst_of
from raytpnn.convergence.diagnostics import COLUMNS, convergence_table

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = [
    "ConvergenceWarning",
    "diagnostics_of",
    "kept_table",
    "quiet",
    "verdict_of",
    "warn_unless_converged",
]


class ConvergenceWarning(UserWarning):
    """The chains of a posterior have not converged: what is read off it may be wrong."""


_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """No ConvergenceWarning within the block: the caller reports convergence itself."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def kept_table(config: dict[str, Any]) -> pd.DataFrame | None:
    """Table that was made when the run ended; None if there is none."""
    rows = config.get("diagnostics")
    if not rows:
        return None
    return pd.DataFrame([[row[0], *map(float, row[1:4]), row[4]] for row in rows], columns=COLUMNS)


def diagnostics_of(post: Posterior) -> pd.DataFrame:
    """Table of R-hat and effective draws: the stored one of the run, else computed from the draws."""
    from raytpnn.posterior.compared import compared_quantities

    kept = kept_table(post.config)
    return convergence_table(post.draws, compared_quantities(post)) if kept is None else kept


def verdict_of(post: Posterior) -> Judgement:
    """Judge a posterior by its table."""
    from raytpnn.posterior.compared import comparison_of

    return judge(comparison_of(post), diagnostics_of(post))


def known_to_end(config: dict[str, Any]) -> bool:
    """Whether chains were compared at the end of a run, if only to find that their draws are too few."""
    return "diagnostics" in config


def warn_unless_converged(post: Posterior, stacklevel: int = 2) -> None:
    """Warn if the chains have not converged, as far as that is known without any computation."""
    if _quiet.get() or not known_to_end(post.config):
        return
    chains = len(set(post.draws.chain.tolist()))
    aims = limits_of(chains, post.config)
    table = kept_table(post.config)
    name, rhat, ess = worst_of(pd.DataFrame(columns=COLUMNS) if table is None else table)
    if meets(rhat, ess, aims):
        return
    wanted = f"wanted: {limits_in_words(aims)}"
    if table is None or math.isnan(rhat):
        reason = f"{post.draws.n_draws} draws of {chains} chain(s) are too few to judge"
    else:
        reason = f"the worst R-hat is {rhat:.3f} ({name}), the least effective number of draws {ess:.0f}"
    warnings.warn(
        f"the chains have not converged: {reason}; {wanted}. `verdict()` of the posterior says what to do",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )
