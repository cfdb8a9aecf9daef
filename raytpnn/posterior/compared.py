"""The quantities that are compared between chains: one list for all callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.convergence.advice import Comparison
from raytpnn.convergence.diagnostics import by_chain, scalar_quantities
from raytpnn.convergence.effects import effects
from raytpnn.families import Family
from raytpnn.families.outputs import numbers_of
from raytpnn.forward.probe import probe_of, probe_rows, sizes_over_outputs

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["compared_quantities", "comparison_of"]


def compared_quantities(post: Posterior) -> dict[str, np.ndarray]:
    """Numbers of every draw that mean the same whatever terms it holds, by name, (chains, draws) each.

    Of chains that differ in length, the first draws of each.
    """
    rows = probe_rows(post.bins.n_rows)
    codes = np.array(post.bins.codes[post.ensemble.used[:, None], rows])
    f = post.predictor.latent(codes, np.zeros(len(rows)))
    quantities = scalar_quantities(post.draws, post.family)
    for which, own in watched_outputs(post.family, f).items():
        quantities |= {f"f[{row}{which}]": own[:, i] for i, row in enumerate(rows)}
    compared = {name: by_chain(post.draws, values) for name, values in quantities.items()}
    chosen = by_chain(post.draws, np.arange(post.draws.n_draws))
    probe = probe_of(post.bins, rows)
    sizes = [sizes_over_outputs(post.draws.take(own), probe) for own in chosen]
    return compared | effects(sizes, chosen.shape[1], post.names)


def watched_outputs(family: Family, f: np.ndarray) -> dict[str, np.ndarray]:
    """The f of every output, (D, n), by what names of quantities say of it; "" of one."""
    if family.outputs is None:
        return {"": f}
    centre = numbers_of(f).mean(axis=-1) if family.shift_invariant else 0.0
    return {f", output {c}": f[name] - centre for c, name in enumerate(family.outputs)}


def comparison_of(post: Posterior, quantities: dict[str, np.ndarray] | None = None) -> Comparison:
    """What the chains of a posterior have shown.

    Parameters
    ----------
    post : Posterior
    quantities : dict of str to (chains, draws), optional
        `compared_quantities` of it, if they are known already.
    """
    return Comparison(
        quantities=compared_quantities(post) if quantities is None else quantities,
        chains=tuple(int(number) for number in np.unique(post.draws.chain)),
        acceptance=tuple(post.config.get("acceptance", [])),
        resumable=False,
        unfinished=post.config.get("stopped") not in (None, "target"),
        config=post.config,
    )
