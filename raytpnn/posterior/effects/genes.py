"""Ranked genes: probes of one gene taken together, alone and in combinations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from raytpnn.data.gene_symbols import Annotation
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.norms import Norms, gathered
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.columns import column_norms
from raytpnn.posterior.effects.components import by_importance, check_level

if TYPE_CHECKING:
    from raytpnn.posterior.fitted import Fitted

__all__ = ["BETWEEN", "gene_table", "term_slopes"]

BETWEEN = " x "
# Entries of a table of factors over bins held at a time: 32 MB.
ENTRIES = 1 << 22
DIRECTIONS = {1: ("down", "up"), 2: ("opposite", "together")}


def gene_table(post: Fitted, level: float = CREDIBLE_LEVEL) -> pd.DataFrame:
    """Genes, and combinations of genes that act together, by importance.

    All probes of a gene count as one: in every draw their effects are added up before the size of the sum is
    taken. The importance is the root mean square over the training samples, 0 in draws without the gene.

    Parameters
    ----------
    post : Posterior
    level : float
        Posterior probability of the interval of the importance, with equal tails.

    Returns
    -------
    DataFrame
        rank; gene (symbols, " x " between the genes of a combination; the probe where no symbol is known);
        accession; probes (those that some draw uses, the commonest first); order (number of genes);
        importance, importance_low, importance_high; share_of_draws (share of draws in which the effect of
        exactly these genes is larger than `post.negligible`); share_of_draws_any (of a single gene: the same
        of all that it does, alone or in combinations); direction and direction_probability. Direction is the
        sign of the covariance, over the training marginal, of the effect with the rank of the expression:
        "up" if the response (for two classes, the probability of the second) rises with expression, "down" if
        it falls; for two genes "together" if it is higher where both are high or both low, "opposite" if
        where one is high and the other low; empty for more. Its probability is that among the draws that hold
        the effect.
    """
    check_level(level)
    ensemble, encoder = post.ensemble, post.encoder
    annotation = encoder.annotation or Annotation()
    source = {int(f): encoder.source(int(f)) for f in ensemble.used}
    names = {f: annotation.gene(name) for f, name in source.items()}
    genes = list(dict.fromkeys(names.values()))
    number = {gene: i for i, gene in enumerate(genes)}
    gene_of = np.full(encoder.n_features, -1, np.int64)
    gene_of[ensemble.used] = [number[names[int(f)]] for f in ensemble.used]
    sets, norms = column_norms(ensemble, gene_of, post.norm_codes(), post.negligible)
    members = components_of(ensemble, gene_of, sets)
    up = share_up(ensemble, term_slopes(ensemble), members, len(sets))
    anywhere = gene_shares(sets, norms, len(genes))
    order = np.array([len(genes_in) for genes_in in sets], np.int64)
    share_of_draws = norms.share_of_draws
    terms_of = np.bincount(ensemble.component, minlength=len(ensemble.components))
    texts = [
        describe(source, annotation, ensemble.components, own, terms_of) for own in by_set(members, len(sets))
    ]
    words = [DIRECTIONS.get(int(d), ("", "")) for d in order]
    known = np.isfinite(up) & (order <= max(DIRECTIONS))
    table = pd.DataFrame(
        {
            "gene": [BETWEEN.join(genes[g] for g in genes_in) for genes_in in sets],
            "accession": [accession for accession, _ in texts],
            "probes": [probes for _, probes in texts],
            "order": order,
            "importance": norms.mean,
            "importance_low": norms.quantile((1.0 - level) / 2.0),
            "importance_high": norms.quantile((1.0 + level) / 2.0),
            "share_of_draws": share_of_draws,
            "share_of_draws_any": [
                anywhere[genes_in[0]] if len(genes_in) == 1 else share
                for genes_in, share in zip(sets, share_of_draws, strict=True)
            ],
            "direction": [w[int(u >= 0.5)] if k else "" for w, u, k in zip(words, up, known, strict=True)],
            "direction_probability": np.where(known, np.maximum(up, 1.0 - up), np.nan),
        }
    )
    table = table.iloc[by_importance(norms)].reset_index(drop=True)
    table.insert(0, "rank", np.arange(1, len(table) + 1))
    return table


def components_of(ensemble: Ensemble, gene_of: np.ndarray, sets: list[tuple[int, ...]]) -> np.ndarray:
    """Set of genes of every component, (components,) int64."""
    place = {genes: i for i, genes in enumerate(sets)}
    genes_of = gene_of.tolist()
    found = [place[tuple(sorted({genes_of[f] for f in c}))] for c in ensemble.components]
    return np.array(found, np.int64)


def by_set(members: np.ndarray, n_sets: int) -> list[list[int]]:
    """Components of every set of genes."""
    lists: list[list[int]] = [[] for _ in range(n_sets)]
    for component, own in enumerate(members):
        lists[own].append(component)
    return lists


def describe(
    source: dict[int, str],
    annotation: Annotation,
    sets: Sequence[tuple[int, ...]],
    components: list[int],
    terms_of: np.ndarray,
) -> tuple[str, str]:
    """Accessions and probes of some components, those with the most terms first."""
    ranked = sorted(components, key=lambda i: -terms_of[i])
    probes = ["+".join(source[f] for f in sets[i]) for i in ranked]
    sources = dict.fromkeys(source[f] for i in ranked for f in sets[i])
    accessions = dict.fromkeys(annotation.accession[s] for s in sources if s in annotation.accession)
    return "; ".join(accessions), "; ".join(dict.fromkeys(probes))


def term_slopes(ensemble: Ensemble) -> np.ndarray:
    """Coefficient of every term times the covariances of its factors with the values of their bins, (T,).

    For one feature this is the covariance of the term with the feature's rank over its training marginal.
    """
    from scipy.special import expit

    terms = ensemble.terms
    slope = np.empty(len(terms.b))
    kinds, place = np.unique(
        np.stack([terms.first_bin[terms.feature], terms.n_bins[terms.feature]]), axis=1, return_inverse=True
    )
    for kind, (first, size) in enumerate(kinds.T):
        value, weight = terms.value[first : first + size], terms.weight[first : first + size]
        centred = weight * (value - value @ weight)
        factors = np.flatnonzero(place.ravel() == kind)
        step = max(1, ENTRIES // max(int(size), 1))
        for start in range(0, len(factors), step):
            part = factors[start : start + step]
            s = expit((value - terms.b[part, None]) / terms.gamma[part, None])
            slope[part] = -(s @ centred) / np.maximum(s @ weight, 1e-300)
    return terms.beta * np.multiply.reduceat(np.append(slope, 1.0), terms.start[:-1])[: len(terms.beta)]


def share_up(ensemble: Ensemble, slopes: np.ndarray, members: np.ndarray, n_sets: int) -> np.ndarray:
    """Of the draws that hold an effect of a set of genes, the share in which its slope is positive, (sets,).

    Effects of two probes of one gene together have no slope; NaN where no draw has one.
    """
    own = members[ensemble.component]
    n_draws = ensemble.n_draws
    held, place = np.unique(own * n_draws + ensemble.draw, return_inverse=True)
    total = np.bincount(place, slopes, minlength=len(held))
    moved = total != 0.0
    group = held[moved] // n_draws
    up = np.bincount(group, total[moved] > 0.0, minlength=n_sets)
    with np.errstate(invalid="ignore"):
        return up / np.bincount(group, minlength=n_sets)


def gene_shares(sets: Sequence[tuple[int, ...]], norms: Norms, n_genes: int) -> np.ndarray:
    """Posterior probability that what a gene does, alone and in combinations, is not negligible, (genes,)."""
    holder = np.repeat(np.arange(len(sets)), [len(genes) for genes in sets])
    gene = np.array([gene for genes in sets for gene in genes], np.int64)
    return gathered(norms, holder, gene, n_genes).share_of_draws
