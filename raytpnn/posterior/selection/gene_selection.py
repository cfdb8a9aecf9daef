"""The selection as a biologist publishes it: genes, probes, controls left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from raytpnn.data.gene_symbols import Annotation
from raytpnn.posterior.effects.genes import BETWEEN
from raytpnn.posterior.selection.select import select_effects
from raytpnn.posterior.verdict import verdict_of

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["CONTROLS", "gene_selection", "is_control"]

# Probes that measure the assay and not the sample: Affymetrix controls and spiked-in RNA.
CONTROLS = re.compile(r"^(AFFX[-_]|ERCC-\d)")


def is_control(name: str) -> bool:
    """Whether a probe is a control of the assay."""
    return CONTROLS.match(name) is not None


def gene_selection(post: Posterior, fdr: float = 0.1, stability: int = 0, **options: Any) -> pd.DataFrame:
    """Genes, and pairs of genes, whose effects are real at a false discovery rate.

    Parameters
    ----------
    post : Posterior
    fdr : float
    stability : int
        Halves of the samples on which the fit and the selection are done again; 0 for none.
    **options
        Those of `raytpnn.posterior.selection.select.select_effects`.

    Returns
    -------
    DataFrame
        rank, gene (symbols, " x " between the genes of a pair), probes, order, size, size_low, size_high,
        share, direction, direction_probability, q_value, beyond, group_certainty, group (genes,
        or probes, that are nearly equal; empty for one that stands alone) and, if asked for, stability (share
        of the halves in which a gene of the effect's group is selected). `attrs` adds to those of the
        selection `verdict` (did the chains converge) and `left_out` (names of controls that were selected,
        and are not in the table).
    """
    table = select_effects(post, fdr, **options)
    annotation = post.encoder.annotation or Annotation()
    source = dict(zip(post.names, (post.encoder.source(i) for i in range(len(post.names))), strict=True))

    def gene(name: str) -> str:
        return annotation.gene(source[name])

    control = np.array([any(is_control(source[n]) for n in own) for own in table["component"]], bool)
    left_out = [source[n] for own in table["component"][control] for n in own]
    if stability:
        from raytpnn.posterior.selection.resamples import selection_stability

        table["stability"] = selection_stability(post, table, fdr, stability, **options)
    kept = table[~control].reset_index(drop=True)
    out = pd.DataFrame({"rank": np.arange(1, len(kept) + 1)})
    whole = [tuple(dict.fromkeys(gene(n) for n in own)) for own in kept["component"]]
    alone = [len(own) <= order for own, order in zip(kept["component"], kept["order"], strict=True)]
    out["gene"] = [
        BETWEEN.join(genes) if single else genes[0] for genes, single in zip(whole, alone, strict=True)
    ]
    out["probes"] = ["; ".join(source[n] for n in own) for own in kept["component"]]
    same = ["order", "size", "size_low", "size_high", "share", "probability_above", "direction"]
    for name in [*same, "direction_probability", "q_value", "beyond", "group_certainty"]:
        out[name] = kept[name]
    if stability:
        out["stability"] = kept["stability"]
    out["group"] = [
        "; ".join(dict.fromkeys(gene(n) for n in group)) if tuple(group) != tuple(own) or not single else ""
        for own, group, single in zip(kept["component"], kept["group"], alone, strict=True)
    ]
    out.attrs = table.attrs | {"verdict": verdict_of(post).headline, "left_out": left_out}
    return out
