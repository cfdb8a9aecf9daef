"""A screen of single features: how much of the response each explains, and if that is more than noise."""

from __future__ import annotations

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.families import Family

__all__ = ["marginal_scores"]

DEGREE = 3
CHUNK_CELLS = 1 << 18


def marginal_scores(bins: Bins, y: np.ndarray, family: Family, sample_weight: np.ndarray) -> np.ndarray:
    """Correlation of each feature alone with the response, times the probability that it is an effect.

    The response is fitted by a cubic in the mid-rank of one feature (fewer degrees with fewer bins): the
    correlation is that of response and fit. The probability comes from the likelihood ratio (families with a
    dispersion) or score statistic of that fit by the BIC approximation, at prior odds of one to the number of
    features.

    Parameters
    ----------
    bins : Bins
    y : (n,) float64
    family : Family
    sample_weight : (n,) float64

    Returns
    -------
    (p,) float64
        0 or more; all zeros if there is nothing to explain.
    """
    total = sample_weight.sum()
    if total <= 0.0:
        return np.zeros(bins.n_features)
    residual = y - np.dot(sample_weight, y) / total
    variation = np.dot(sample_weight, residual**2)
    if variation <= 0.0:
        return np.zeros(bins.n_features)
    explained = explained_variation(bins, residual, sample_weight)
    share = np.clip(explained / variation, 0.0, 1.0)
    if family.dispersion:
        statistic = -total * np.log1p(-np.minimum(share, 1.0 - 1e-12))
    else:
        null = family.link(float(np.dot(sample_weight, y) / total))
        statistic = explained / float(family.variance(np.array(null)))
    degrees = np.minimum(np.diff(bins.first)[bins.marginal] - 1, DEGREE)
    evidence = 0.5 * (statistic - degrees * np.log(bins.n_rows)) - np.log(bins.n_features)
    # A logistic function, written so that it cannot overflow.
    return np.sqrt(share) * 0.5 * (1.0 + np.tanh(0.5 * evidence))


def explained_variation(bins: Bins, residual: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """Drop of the weighted sum of squares by a cubic in each feature, (p,); missing rows explain nothing."""
    n_bins = np.diff(bins.first)[bins.marginal]
    explained = np.empty(bins.n_features)
    if bins.n_rows > CHUNK_CELLS:
        for j in range(bins.n_features):
            weight, mean = bin_means(bins, j, residual, sample_weight)
            rank = 2.0 * bins.values_of(j)[None, :] - 1.0
            explained[j] = explained_by_powers(rank, weight[None, :], mean, n_bins[j : j + 1] - 1)[0]
        return explained
    step = max(1, CHUNK_CELLS // max(bins.n_rows, 1))
    for start in range(0, bins.n_features, step):
        part = slice(start, min(start + step, bins.n_features))
        codes = bins.codes[part]
        weight = np.where(codes == bins.missing_code, 0.0, sample_weight)
        place = bins.first[bins.marginal[part]][:, None] + codes
        rank = 2.0 * bins.value[np.minimum(place, len(bins.value) - 1)] - 1.0
        explained[part] = explained_by_powers(rank, weight, residual, n_bins[part] - 1)
    return explained


def bin_means(
    bins: Bins, feature: int, residual: np.ndarray, sample_weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weight and weighted mean residual of every bin of a feature: all that a function of bins is fitted to.

    Rows are gone through in chunks, so that memory does not grow with them.
    """
    size = bins.missing_code + 1
    weight, total = np.zeros(size), np.zeros(size)
    for start in range(0, bins.n_rows, CHUNK_CELLS):
        rows = slice(start, start + CHUNK_CELLS)
        codes = np.asarray(bins.codes[feature, rows], np.intp)
        weight += np.bincount(codes, sample_weight[rows], size)
        total += np.bincount(codes, sample_weight[rows] * residual[rows], size)
    n_bins = len(bins.values_of(feature))
    weight, total = weight[:n_bins], total[:n_bins]
    return weight, np.divide(total, weight, out=np.zeros(n_bins), where=weight > 0.0)


def explained_by_powers(
    rank: np.ndarray, weight: np.ndarray, residual: np.ndarray, degrees: np.ndarray
) -> np.ndarray:
    """`explained_variation` of some features.

    Parameters
    ----------
    rank : (k, n) float64
        In [-1, 1].
    weight : (k, n) float64
    residual : (n,) float64
    degrees : (k,) int
        Highest power that a feature's bins allow.
    """
    total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
    powers = []
    for degree in range(1, DEGREE + 1):
        power = rank**degree
        powers.append(power - (weight * power).sum(axis=1, keepdims=True) / total)
    gram = np.array([[np.einsum("kn,kn,kn->k", weight, a, b) for b in powers] for a in powers])
    slope = np.array([np.einsum("kn,kn,n->k", weight, a, residual) for a in powers])
    gram, slope = np.moveaxis(gram, 2, 0), slope.T
    unused = np.arange(1, DEGREE + 1) > degrees[:, None]
    scale = np.sqrt(np.maximum(np.einsum("kdd->kd", gram), 1e-300))
    scale[unused] = 1.0
    gram /= scale[:, :, None] * scale[:, None, :]
    slope /= scale
    gram[unused[:, :, None] | unused[:, None, :]] = 0.0
    slope[unused] = 0.0
    diagonal = np.arange(DEGREE)
    # The ridge also makes room for powers that rows with weight cannot tell apart.
    gram[:, diagonal, diagonal] = 1.0 + 1e-9
    return np.maximum((slope * np.linalg.solve(gram, slope[:, :, None])[:, :, 0]).sum(axis=1), 0.0)
