"""What is compared between the chains of a posterior, and what they have shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.posterior.advice import Evidence
from raytpnn.posterior.diagnostics import (
    by_chain,
    component_quantities,
    feature_importance,
    scalar_quantities,
)
from raytpnn.posterior.norms import evenly_spaced

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["compared_quantities", "components_by_chain", "evidence_of"]

PROBE_ROWS = 64
LEADING_FEATURES = 10
LEADING_COMPONENTS = 10


def compared_quantities(post: Posterior) -> dict[str, np.ndarray]:
    """Numbers of every draw that mean the same whatever terms it holds, by name, (D,) each."""
    rows = evenly_spaced(post.bins.n_rows, PROBE_ROWS)
    codes = np.array(post.bins.codes[post.ensemble.used[:, None], rows])
    f = post.predictor.latent(codes, np.zeros(len(rows)))
    quantities = scalar_quantities(post.draws, post.family)
    quantities |= {f"f[{row}]": f[:, i] for i, row in enumerate(rows)}
    quantities |= feature_importance(post.ensemble, post.norms, post.names, LEADING_FEATURES)
    return quantities | component_quantities(post.ensemble, post.norms, post.names, LEADING_COMPONENTS)


def components_by_chain(post: Posterior) -> dict[str, np.ndarray]:
    """Importance and inclusion of the leading components, (chains, draws) each."""
    leading = component_quantities(post.ensemble, post.norms, post.names, LEADING_COMPONENTS)
    return {name: by_chain(post.draws, values) for name, values in leading.items()}


def evidence_of(post: Posterior, quantities: dict[str, np.ndarray] | None = None) -> Evidence:
    """What the chains of a posterior have shown.

    Parameters
    ----------
    post : Posterior
    quantities : dict of str to (D,), optional
        `compared_quantities` of it, if they are known already.
    """
    flat = compared_quantities(post) if quantities is None else quantities
    return Evidence(
        quantities={name: by_chain(post.draws, values) for name, values in flat.items()},
        chains=tuple(int(number) for number in np.unique(post.draws.chain)),
        acceptance=tuple(post.config.get("acceptance", [])),
        resumable=False,
        unfinished=post.config.get("stopped") not in (None, "target"),
        config=post.config,
    )
