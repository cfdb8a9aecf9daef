"""The latent function and its mean response at new rows, streaming over rows and draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from raytpnn.families import Family
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.forward import Evaluator
from raytpnn.forward.mean_response import add_mean_response
from raytpnn.forward.packs import Packs, pack_by_component, pack_by_draw
from raytpnn.forward.vectors import LANES
from raytpnn.parallel.threads import even_ranges, run_all

__all__ = ["Predictor"]

# Rows of a task: enough that building the tables costs little, few enough for 4 MB of sums.
ROWS = 65_536
# Parts into which draws are cut; fixed, so that sums do not depend on the number of cores.
PARTS = 16
# Numbers in a block of f over all draws: 64 MB.
LATENT_ENTRIES = 8_388_608


def row_blocks(n: int, size: int) -> list[slice]:
    """Cut n rows into slices of at most `size`."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def tasks(n: int, packs: Packs) -> list[tuple[slice, range]]:
    """Pairs of rows and groups of draws."""
    ranges = even_ranges(packs.n_groups, PARTS)
    return [(rows, groups) for rows in row_blocks(n, ROWS) for groups in ranges]


@dataclass(frozen=True)
class Predictor:
    """Latent f of all draws as a function of codes.

    Codes are those of the features in use, (k, n), row i for `ensemble.used[i]`, missing as encoded.
    """

    ensemble: Ensemble

    @cached_property
    def by_draw(self) -> Packs:
        """Packs with one lane per draw."""
        return pack_by_draw(self.ensemble)

    def latent(self, codes: np.ndarray, offset: np.ndarray, packs: Packs | None = None) -> np.ndarray:
        """Latent f of every draw at every row, (D, n) float64.

        Parameters
        ----------
        codes : (k, n)
        offset : (n,)
            Added to f.
        packs : Packs, optional
            Packs by draw of some terms only; f is then their sum, without intercept.
        """
        ensemble = self.ensemble
        dense = ensemble.dense(codes)
        intercept = ensemble.intercept if packs is None else np.zeros(ensemble.n_draws)
        chosen = self.by_draw if packs is None else packs
        f = np.empty((ensemble.n_draws, codes.shape[1]))

        def evaluate(task: tuple[slice, range]) -> None:
            rows, groups = task
            evaluator = Evaluator(ensemble, chosen, np.ascontiguousarray(dense[:, rows]))
            for group in groups:
                draws = slice(group * LANES, min((group + 1) * LANES, ensemble.n_draws))
                block = f[draws, rows]
                sums = evaluator.group(group)[:, : len(block)]
                np.add(sums.T, intercept[draws, None], out=block)
                block += offset[rows]

        run_all(evaluate, tasks(codes.shape[1], chosen))
        return f

    def latent_blocks(self, codes: np.ndarray, offset: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Pairs of rows and the f of every draw there, (D, rows), of at most 64 MB."""
        size = max(LATENT_ENTRIES // max(self.ensemble.n_draws, 1), 1)
        for rows in row_blocks(codes.shape[1], size):
            yield rows, self.latent(codes[:, rows], offset[rows])

    def mean(self, family: Family, codes: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Posterior mean of the mean response, (n,) float64, in memory that does not grow with draws."""
        if family.identity_mean:
            return self.latent_mean(codes) + offset
        ensemble = self.ensemble
        dense = ensemble.dense(codes)

        def add(task: tuple[slice, range]) -> np.ndarray:
            rows, groups = task
            evaluator = Evaluator(ensemble, self.by_draw, np.ascontiguousarray(dense[:, rows]))
            total = np.zeros(rows.stop - rows.start)
            for group in groups:
                intercept = ensemble.intercept[group * LANES : (group + 1) * LANES]
                add_mean_response(family, evaluator.group(group), intercept, offset[rows], total)
            return total

        parts = tasks(codes.shape[1], self.by_draw)
        mean = np.zeros(codes.shape[1])
        for (rows, _), total in zip(parts, run_all(add, parts), strict=True):
            mean[rows] += total
        return mean / ensemble.n_draws

    def latent_mean(self, codes: np.ndarray) -> np.ndarray:
        """Posterior mean of f without offset, (n,) float64.

        f is linear in the terms, so that draws need not be kept apart.
        """
        terms_before = np.cumsum(
            np.bincount(self.ensemble.component, minlength=len(self.ensemble.components))
        )
        column = (terms_before - 1) * PARTS // max(self.ensemble.n_terms, 1)
        means = self.column_means(codes, column, PARTS)
        return means.sum(axis=1) + np.mean(self.ensemble.intercept)

    def column_means(self, codes: np.ndarray, column: np.ndarray, n_columns: int) -> np.ndarray:
        """Posterior means of sums of components.

        Parameters
        ----------
        codes : (k, n)
        column : (number of components,) int64
            Column to which a component is added; -1 leaves it out.
        n_columns : int

        Returns
        -------
        (n, n_columns) float64
            Sums are in float64 over factors in float32, which are the same whatever the columns: columns
            of any two calls add up to the same total.
        """
        ensemble = self.ensemble
        dense = ensemble.dense(codes)
        packs = pack_by_component(ensemble, column)
        means = np.zeros((n_columns, codes.shape[1]))

        def evaluate(task: tuple[slice, range]) -> None:
            rows, columns = task
            evaluator = Evaluator(ensemble, packs, np.ascontiguousarray(dense[:, rows]), np.float64)
            for i in columns:
                means[i, rows] = evaluator.group(i).sum(axis=1) / ensemble.n_draws

        ranges = even_ranges(packs.n_groups, PARTS)
        run_all(evaluate, [(rows, part) for rows in row_blocks(codes.shape[1], ROWS) for part in ranges])
        return means.T
