"""The forward pass: packs of terms over rows of codes, by table lookups."""

from __future__ import annotations

import numpy as np

from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.packs import Packs
from raytpnn.forward.vectors import (
    LANES,
    add_at,
    add_product_at,
    add_product_of_three_at,
    aligned_empty,
    set_product_at,
)
from raytpnn.numerics.elementary import exp
from raytpnn.numerics.fast_math import fast, fast_internal

__all__ = ["Evaluator"]

# Rows of a block: its sums (32 kB in float32) stay in the first-level cache while packs pass.
BLOCK = 1024


@fast_internal
def add_factor(value, weight, b, gamma, scale, sigmoid, lane, table):
    """Add scale * (1 - s/c) of one factor to a lane of a table over bins."""
    steepness = 1.0 / gamma
    for i in range(len(value)):
        sigmoid[i] = 1.0 / (1.0 + exp((b - value[i]) * steepness))
    c = 0.0
    for i in range(len(value)):
        c += weight[i] * sigmoid[i]
    inverse = scale / c
    for i in range(len(value)):
        table[i * LANES + lane] += scale - sigmoid[i] * inverse


@fast
def fill_tables(terms, term_start, factor_start, term, lane, table, first, last, sigmoid, buffer):
    """Build the tables of packs first ... last - 1 in the buffer."""
    for pack in range(first, last):
        for d in range(factor_start[pack + 1] - factor_start[pack]):
            example = terms.feature[terms.start[term[term_start[pack]]] + d]
            first_bin, n_bins = terms.first_bin[example], terms.n_bins[example]
            value = terms.value[first_bin : first_bin + n_bins]
            weight = terms.weight[first_bin : first_bin + n_bins]
            begin = table[factor_start[pack] + d]
            target = buffer[begin : begin + (n_bins + 1) * LANES]
            target[:] = 0.0
            for i in range(term_start[pack], term_start[pack + 1]):
                v = terms.start[term[i]] + d
                scale = terms.beta[term[i]] if d == 0 else 1.0
                add_factor(value, weight, terms.b[v], terms.gamma[v], scale, sigmoid, lane[i], target)


@fast_internal
def add_pack(row, table, codes, start, stop, buffer, product, out):
    """Add the products of a pack's factors to the lane sums of rows start ... stop - 1."""
    order = len(row)
    codes_a, table_a = codes[row[0]], table[0]
    if order == 1:
        for i in range(start, stop):
            add_at(out, i * LANES, buffer, table_a + codes_a[i] * LANES)
    elif order == 2:
        codes_b, table_b = codes[row[1]], table[1]
        for i in range(start, stop):
            a, b = table_a + codes_a[i] * LANES, table_b + codes_b[i] * LANES
            add_product_at(out, i * LANES, buffer, a, buffer, b)
    elif order == 3:
        codes_b, table_b = codes[row[1]], table[1]
        codes_c, table_c = codes[row[2]], table[2]
        for i in range(start, stop):
            a, b = table_a + codes_a[i] * LANES, table_b + codes_b[i] * LANES
            add_product_of_three_at(
                out, i * LANES, buffer, a, buffer, b, buffer, table_c + codes_c[i] * LANES
            )
    else:
        add_long_pack(row, table, codes, start, stop, buffer, product, out)


@fast_internal
def add_long_pack(row, table, codes, start, stop, buffer, product, out):
    """Do as `add_pack` for four and more factors: all but the last two by a block of products."""
    order = len(row)
    codes_a, table_a = codes[row[0]], table[0]
    codes_b, table_b = codes[row[1]], table[1]
    for i in range(start, stop):
        a, b = table_a + codes_a[i] * LANES, table_b + codes_b[i] * LANES
        set_product_at(product, (i - start) * LANES, buffer, a, buffer, b)
    for d in range(2, order - 2):
        codes_a, table_a = codes[row[d]], table[d]
        for i in range(start, stop):
            p = (i - start) * LANES
            set_product_at(product, p, product, p, buffer, table_a + codes_a[i] * LANES)
    codes_a, table_a = codes[row[order - 2]], table[order - 2]
    codes_b, table_b = codes[row[order - 1]], table[order - 1]
    for i in range(start, stop):
        a, b = table_a + codes_a[i] * LANES, table_b + codes_b[i] * LANES
        add_product_of_three_at(out, i * LANES, product, (i - start) * LANES, buffer, a, buffer, b)


@fast
def add_packs(factor_start, row, table, first, last, codes, buffer, product, out):
    """Add packs first ... last - 1, whose tables are in the buffer, to the lane sums of all rows."""
    n = codes.shape[1]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for pack in range(first, last):
            factors = slice(factor_start[pack], factor_start[pack + 1])
            add_pack(row[factors], table[factors], codes, start, stop, buffer, product, out)


@fast
def add_squares(run, factor_start, row, table, first, last, codes, buffer, product, out, squares):
    """Per run of packs, the mean over rows of the squared lane sums, to squares (runs, 8).

    `out` is carried from one call to the next, so that a run may go on in the next slice.
    """
    n = codes.shape[1]
    for pack in range(first, last):
        if pack == 0 or run[pack] != run[pack - 1]:
            out[:] = 0.0
        factors = slice(factor_start[pack], factor_start[pack + 1])
        for start in range(0, n, BLOCK):
            add_pack(row[factors], table[factors], codes, start, min(start + BLOCK, n), buffer, product, out)
        if pack == len(run) - 1 or run[pack] != run[pack + 1]:
            sums = out.reshape(n, LANES)
            for lane in range(LANES):
                total = 0.0
                for i in range(n):
                    total += np.float64(sums[i, lane]) * sums[i, lane]
                squares[run[pack], lane] = total / n


class Evaluator:
    """Evaluates packs at rows; every thread has its own.

    Parameters
    ----------
    ensemble : Ensemble
    packs : Packs
    codes : (k, n) uint8 or uint16
        Dense codes (see `Ensemble.dense`) of the features in use.
    dtype : float32 or float64
        Of the sums; factors and their products are float32.
    """

    def __init__(self, ensemble: Ensemble, packs: Packs, codes: np.ndarray, dtype: type = np.float32):
        self.ensemble = ensemble
        self.packs = packs
        self.codes = codes
        self.sigmoid = np.empty(int(ensemble.terms.n_bins.max(initial=0)))
        self.buffer = aligned_empty(packs.buffer_size, np.float32)
        self.product = aligned_empty(BLOCK * LANES, np.float32)
        self.sums = aligned_empty(codes.shape[1] * LANES, dtype)

    def fill(self, first: int, last: int) -> None:
        """Build the tables of packs first ... last - 1, which lie in one slice."""
        packs = self.packs
        fill_tables(
            self.ensemble.terms,
            packs.term_start,
            packs.factor_start,
            packs.term,
            packs.lane,
            packs.table,
            first,
            last,
            self.sigmoid,
            self.buffer,
        )

    def group(self, group: int) -> np.ndarray:
        """Lane sums of one group: (n, 8), overwritten by the next call."""
        packs = self.packs
        self.sums[:] = 0.0
        for first, last in packs.pieces(int(packs.group_start[group]), int(packs.group_start[group + 1])):
            self.fill(first, last)
            add_packs(
                packs.factor_start,
                packs.row,
                packs.table,
                first,
                last,
                self.codes,
                self.buffer,
                self.product,
                self.sums,
            )
        return self.sums.reshape(-1, LANES)

    def squares(self, run: np.ndarray, first: int, last: int, squares: np.ndarray) -> None:
        """Mean over rows of the squared lane sums of every run of packs.

        Parameters
        ----------
        run : (P,) int64
            Number of the run of a pack, ascending. No run may reach beyond first ... last - 1.
        first, last : int
            Packs to go through.
        squares : (runs, 8) float64
            Written to.
        """
        packs = self.packs
        for begin, end in packs.pieces(first, last):
            self.fill(begin, end)
            add_squares(
                run,
                packs.factor_start,
                packs.row,
                packs.table,
                begin,
                end,
                self.codes,
                self.buffer,
                self.product,
                self.sums,
                squares,
            )
