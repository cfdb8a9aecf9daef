"""Chains over time, and whether they visit the same values: trace and rank plots of scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.convergence.diagnostics import by_chain, scalar_quantities
from raytpnn.report.plots.canvas import GREY, chain_colours, start_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from raytpnn.posterior.posterior import Posterior

__all__ = ["plot_ranks", "plot_trace"]

MAX_POINTS = 500
RANK_BINS = 20
# More chains than this have no legend.
MAX_NAMED = 8
DEFAULT = ("loglik", "K", "nuisance", "intercept")
TITLES = {
    "loglik": "log-likelihood",
    "K": "number of terms K",
    "intercept": "intercept",
    "mean order": "mean order of terms",
    "b_gamma": "scale of gamma",
    "sigma_beta2": "variance of beta",
}


def title_of(post: Posterior, name: str) -> str:
    """What a quantity is, in words."""
    return post.family.dispersion_name if name == "nuisance" else TITLES[name]


def plot_trace(
    post: Posterior, quantities: Sequence[str] | None = None, figure: Figure | SubFigure | None = None
) -> np.ndarray:
    """Draw scalars over the draws of every chain.

    Chains that have converged look alike: hairy, level, on top of each other. Of more than 500 draws a chain,
    500 evenly spaced ones are drawn.

    Parameters
    ----------
    post : Posterior
    quantities : sequence of str, optional
        Of loglik, K, nuisance, intercept, "mean order", b_gamma, sigma_beta2; by default the first four that
        the family has.
    figure : Figure, optional

    Returns
    -------
    (len(quantities),) array of Axes
    """
    chosen = choose(post, quantities)
    axes = start(figure, len(chosen))
    labels = chain_labels(post)
    for ax, (name, values) in zip(axes, chosen.items(), strict=True):
        chains = by_chain(post.draws, values)
        step = -(-chains.shape[1] // MAX_POINTS)
        for chain, colour, label in zip(chains, chain_colours(len(chains)), labels, strict=True):
            at = np.arange(0, len(chain), step)
            ax.plot(at, chain[at], color=colour, linewidth=0.6, label=label, rasterized=True)
        ax.set_title(title_of(post, name), fontsize="small", loc="left")
    return finish(axes, "draw", f"Traces of {len(labels)} chain(s)", len(labels))


def plot_ranks(
    post: Posterior, quantities: Sequence[str] | None = None, figure: Figure | SubFigure | None = None
) -> np.ndarray:
    """Draw how often every chain visits each part of a scalar's posterior.

    Draws of all chains are ranked together; a line is one chain's histogram of ranks, and the dashed line is
    what chains in agreement come to.

    Parameters
    ----------
    post : Posterior
    quantities : sequence of str, optional
        As in `plot_trace`.
    figure : Figure, optional

    Returns
    -------
    (len(quantities),) array of Axes
    """
    from scipy.stats import rankdata

    chosen = choose(post, quantities)
    axes = start(figure, len(chosen))
    labels = chain_labels(post)
    for ax, (name, values) in zip(axes, chosen.items(), strict=True):
        chains = by_chain(post.draws, values)
        bins = min(RANK_BINS, max(chains.shape[1] // 5, 2))
        rank = (rankdata(chains).reshape(chains.shape) - 0.5) / chains.size
        edges = np.linspace(0, 1, bins + 1)
        for own, colour, label in zip(rank, chain_colours(len(chains)), labels, strict=True):
            share = np.histogram(own, edges)[0] / len(own)
            ax.stairs(share, edges, color=colour, linewidth=1.1, label=label)
        ax.axhline(1.0 / bins, color=GREY, linewidth=0.8, linestyle="--")
        ax.set_ylim(bottom=0.0)
        ax.set_title(title_of(post, name), fontsize="small", loc="left")
    return finish(
        axes, "rank among the draws of all chains", "Ranks, share of each chain's draws", len(labels)
    )


def choose(post: Posterior, quantities: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Wanted scalars by name, (D,) each."""
    there = scalar_quantities(post.draws, post.family)
    wanted = [q for q in DEFAULT if q in there] if quantities is None else list(quantities)
    unknown = [name for name in wanted if name not in there]
    if unknown or not wanted:
        raise ValueError(f"there is no scalar {(unknown or [''])[0]!r}; choose of {', '.join(there)}")
    return {name: there[name] for name in wanted}


def chain_labels(post: Posterior) -> list[str]:
    """Name the chains."""
    return [f"chain {chain}" for chain in np.unique(post.draws.chain)]


def start(figure: Figure | SubFigure | None, count: int) -> np.ndarray:
    """Axes one below the other."""
    figure = start_figure(figure, 0.9 + 1.25 * count)
    return np.atleast_1d(figure.subplots(count, 1, sharex=True))


def finish(axes: np.ndarray, xlabel: str, title: str, chains: int) -> np.ndarray:
    """Label what the axes share."""
    last: Axes = axes[-1]
    last.set_xlabel(xlabel)
    last.figure.suptitle(title, fontsize="medium")
    if chains <= MAX_NAMED:
        handles, labels = last.get_legend_handles_labels()
        last.figure.legend(handles, labels, fontsize="small", ncols=4, loc="outside lower center")
    return axes
