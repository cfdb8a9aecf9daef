"""The forward pass on a device: latent f of all draws at rows of codes, by `kernels/forward.cu`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from raytpnn.engine.gpu.device import Device
from raytpnn.engine.gpu.memory import on_device
from raytpnn.families import Family
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.packs import Packs
from raytpnn.forward.prediction import Predictor

__all__ = ["DevicePredictor", "latent_on_device"]

THREADS = 256
# As in the kernel.
ROWS_OF_THREAD = 4
MOST_SHARED_WIDTH = 1024
# Entries of the tables, and numbers of the result, that are on the device at a time: 256 MB each.
MOST_TABLE_ENTRIES = 2**26
MOST_RESULTS = 2**25


@dataclass(frozen=True)
class DevicePredictor(Predictor):
    """Predictor whose f of all draws comes from a device, to float32 accuracy.

    Means of f and of components are linear in the terms and cheap: those stay on the CPU.
    """

    device: Device

    def latent(self, codes: np.ndarray, offset: np.ndarray, packs: Packs | None = None) -> np.ndarray:
        """Latent f of every draw at every row, (D, n) float64; of some terms only, on the CPU."""
        if packs is not None:
            return super().latent(codes, offset, packs)
        return latent_on_device(self.device, self.ensemble, codes, offset)

    def mean(self, family: Family, codes: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Posterior mean of the mean response, (n,) float64."""
        if family.identity_mean:
            return super().mean(family, codes, offset)
        blocks = self.latent_blocks(codes, offset)
        return np.concatenate([np.zeros(0), *(family.mean(f).mean(axis=0) for _, f in blocks)])


class _Memory:
    """Arrays on a device, given back together."""

    def __init__(self, device: Device, stream: Any) -> None:
        self.device = device
        self.stream = stream
        self.addresses: list[int] = []
        self.kept: list[np.ndarray] = []

    def put(self, array: np.ndarray) -> np.int64:
        self.kept.append(np.ascontiguousarray(array))
        self.addresses.append(on_device(self.device, self.kept[-1], self.stream))
        return np.int64(self.addresses[-1])

    def room(self, n_bytes: int) -> np.int64:
        self.addresses.append(self.device.allocate(max(n_bytes, 1)))
        return np.int64(self.addresses[-1])

    def close(self) -> None:
        for address in self.addresses:
            self.device.free(address)
        self.addresses, self.kept = [], []


def latent_on_device(
    device: Device, ensemble: Ensemble, codes: np.ndarray, offset: np.ndarray, threads: int = THREADS
) -> np.ndarray:
    """Latent f of every draw at every row, (D, n) float64, that of `Predictor.latent` to float32 accuracy.

    Parameters
    ----------
    device : Device
    ensemble : Ensemble
    codes : (k, n) uint8 or uint16
        Codes of the features in use.
    offset : (n,)
        Added to f.
    threads : int
        Of a block.
    """
    dense = ensemble.dense(codes)
    terms, n = ensemble.terms, codes.shape[1]
    width = int(terms.n_bins.max(initial=0)) + 1
    in_shared = width <= MOST_SHARED_WIDTH
    macros = (f"WIDE_CODES={int(dense.dtype == np.uint16)}", f"TABLES_IN_SHARED={int(in_shared)}")
    module = device.compile("forward", macros)
    stream = device.stream()
    shared = _Memory(device, stream)
    f = np.empty((ensemble.n_draws, n))
    tiles = -(-n // (ROWS_OF_THREAD * threads))
    try:
        rows = shared.put(dense), np.int64(n), np.int64(tiles)
        shift = shared.put(np.asarray(offset, np.float64))
        first_bin, n_bins = shared.put(terms.first_bin), shared.put(terms.n_bins)
        marginals = first_bin, n_bins, shared.put(terms.value), shared.put(terms.weight)
        for draws in chunks(ensemble, n):
            mine = _Memory(device, stream)
            try:
                part = factors_of(ensemble, draws)
                feature, start = mine.put(part["feature"]), mine.put(part["table_start"])
                tables = mine.room(4 * int(part["entries"]))
                numbers = (mine.put(part[name]) for name in ("b", "gamma", "scale"))
                if len(part["feature"]):
                    arguments = feature, *numbers, start, *marginals, tables
                    module.launch("forward_tables", len(part["feature"]), threads, arguments, 0, stream)
                out = mine.room(8 * n * len(draws))
                own = mine.put(part["draw_start"]), mine.put(part["term_start"]), feature, start
                intercept = mine.put(ensemble.intercept[draws.start : draws.stop])
                arguments = (*rows, *own, n_bins, tables, intercept, shift, out)
                room = 4 * width if in_shared else 0
                module.launch("forward", tiles * len(draws), threads, arguments, room, stream)
                device.download(f[draws.start : draws.stop], int(out), stream)
                device.synchronize(device.record(stream))
            finally:
                mine.close()
    finally:
        shared.close()
    return f


def chunks(ensemble: Ensemble, n: int) -> Iterator[range]:
    """Ranges of draws whose tables and results fit, at least one draw each."""
    terms = ensemble.terms
    entries = np.concatenate([[0], np.cumsum(terms.n_bins[terms.feature] + 1)])
    ends = np.searchsorted(ensemble.draw, np.arange(ensemble.n_draws + 1))
    before = entries[terms.start[ends]]
    first = 0
    while first < ensemble.n_draws:
        fit = int(np.searchsorted(before, before[first] + MOST_TABLE_ENTRIES, side="right")) - 1
        last = max(first + 1, min(fit, first + max(MOST_RESULTS // max(n, 1), 1), ensemble.n_draws))
        yield range(first, last)
        first = last


def factors_of(ensemble: Ensemble, draws: range) -> dict[str, Any]:
    """Terms and factors of some draws, numbered from 0, and where the factors' tables start."""
    terms = ensemble.terms
    ends = np.searchsorted(ensemble.draw, np.arange(draws.start, draws.stop + 1))
    first, last = int(ends[0]), int(ends[-1])
    start = terms.start[first : last + 1]
    factors = slice(int(start[0]), int(start[-1]))
    scale = np.ones(factors.stop - factors.start)
    # The coefficient is part of the first factor.
    scale[start[:-1] - start[0]] = terms.beta[first:last]
    feature = terms.feature[factors]
    table_end = np.cumsum(terms.n_bins[feature] + 1)
    return {
        "draw_start": ends - ends[0],
        "term_start": start - start[0],
        "feature": feature,
        "b": terms.b[factors],
        "gamma": terms.gamma[factors],
        "scale": scale,
        "table_start": np.concatenate([[0], table_end[:-1]]).astype(np.int64),
        "entries": table_end[-1] if len(table_end) else 0,
    }
