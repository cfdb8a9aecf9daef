"""Components at a few training rows: how large each is in every draw, as far as chains are compared by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.draws.draws import Draws
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.norms import component_norms, evenly_spaced
from raytpnn.forward.prediction import Predictor
from raytpnn.parallel.threads import at_most

__all__ = [
    "NO_SIZES",
    "PROBE_ROWS",
    "Sizes",
    "compile_sizes",
    "component_sizes",
    "probe_of",
    "probe_rows",
    "sizes_over_outputs",
]

# Training rows at which chains are compared.
PROBE_ROWS = 64


@dataclass(frozen=True)
class Sizes:
    """Sizes of the components that draws hold; those not held have size 0.

    Attributes
    ----------
    draw : (m,) int32
        Place of the draw among the draws looked at.
    component : (m,) int32
        Place in `sets`.
    size : (m,) float32
        Root of the mean square of the component over the probe rows.
    sets : tuple of tuples of int
        Encoded features of the components, ascending.
    """

    draw: np.ndarray
    component: np.ndarray
    size: np.ndarray
    sets: tuple[tuple[int, ...], ...]


NO_SIZES = Sizes(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32), ())


def probe_rows(n: int) -> np.ndarray:
    """Training rows at which chains are compared, of n: at most 64, evenly spaced."""
    return evenly_spaced(n, PROBE_ROWS)


def probe_of(bins: Bins, rows: np.ndarray | None = None, codes: np.ndarray | None = None) -> Bins:
    """Bins with the probe rows alone.

    Parameters
    ----------
    bins : Bins
    rows : (W,) int, optional
        By default those of `probe_rows`.
    codes : (p, W), optional
        Their codes, if `bins` does not hold them.
    """
    if codes is None:
        chosen = probe_rows(bins.n_rows) if rows is None else rows
        codes = np.ascontiguousarray(bins.codes[:, chosen])
    return Bins(codes, bins.names, bins.marginal, bins.first, bins.value, bins.weight)


def component_sizes(draws: Draws, probe: Bins) -> Sizes:
    """Size of every component in every draw.

    Parameters
    ----------
    draws : Draws
    probe : Bins
        The probe rows, see `probe_of`.
    """
    # One core: the others run chains.
    with at_most(1):
        ensemble = Ensemble.of(draws, of_features(probe, draws.used_features()))
        norms = component_norms(Predictor(ensemble), probe.codes[ensemble.used])
    # By draw, then by component: the order does not depend on the sizes.
    sort = np.lexsort((norms.component, norms.draw))
    return Sizes(
        norms.draw[sort].astype(np.int32),
        norms.component[sort].astype(np.int32),
        norms.norm[sort].astype(np.float32),
        ensemble.components,
    )


def sizes_over_outputs(draws: Draws, probe: Bins) -> Sizes:
    """Sizes of the components of all outputs together: the root of the sum of their squares."""
    if draws.n_outputs == 1:
        return component_sizes(draws, probe)
    sets: dict[tuple[int, ...], int] = {}
    keys, squares = [], []
    for output in range(draws.n_outputs):
        own = component_sizes(draws.of_output(output), probe)
        place = np.array([sets.setdefault(features, len(sets)) for features in own.sets], np.int64)
        keys.append(np.stack([own.draw.astype(np.int64), place[own.component]]))
        squares.append(own.size.astype(np.float64) ** 2)
    (draw, component), at = np.unique(np.concatenate(keys, axis=1), axis=1, return_inverse=True)
    total = np.bincount(at.ravel(), np.concatenate(squares), minlength=len(draw))
    return Sizes(
        draw.astype(np.int32), component.astype(np.int32), np.sqrt(total).astype(np.float32), tuple(sets)
    )


def compile_sizes(probe: Bins) -> None:
    """Compile what sizes take, so that other processes find it in the cache."""
    one, none = np.ones(1), np.zeros(1, np.int32)
    start = np.array([0, 1])
    component_sizes(Draws(none, none, one, one, one, one, one, start, one, start, none, one, one), probe)


def of_features(bins: Bins, used: np.ndarray) -> Bins:
    """The same bins without the marginals of features that are not used."""
    kept, place = np.unique(bins.marginal[used], return_inverse=True)
    marginal = np.zeros(len(bins.marginal), bins.marginal.dtype)
    marginal[used] = place
    spans = [slice(bins.first[m], bins.first[m + 1]) for m in kept]
    first = np.concatenate([[0], np.cumsum([span.stop - span.start for span in spans])]).astype(np.int64)
    value, weight = (
        np.concatenate([np.zeros(0), *(array[span] for span in spans)]) for array in (bins.value, bins.weight)
    )
    return Bins(bins.codes, bins.names, marginal, first, value, weight)
