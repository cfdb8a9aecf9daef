"""Covariates kept apart from features: what they alone say about the response becomes an offset.

As ordinary features two or three covariates would drown among tens of thousands of genes, some of which
follow the batch by chance. Instead a small model of the response on the covariates alone is fitted first
(normal prior of variance 1 on standardised numbers and on levels; its mode), and its linear predictor,
centred, is a known part of f: genes then explain what the covariates leave. Where a covariate goes with the
outcome, it gets the credit, and the uncertainty of this first step is not carried on.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.tables.cells import is_missing, level_text
from raytpnn.data.tables.tables import quoted
from raytpnn.expression.targets import cells_of, find_column, plain_level

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Adjustment"]

# Up to this many distinct whole numbers are group codes, such as batches; more are plain numbers.
MOST_CODES = 10
STEPS = 100


@dataclass(frozen=True)
class Covariate:
    """One covariate.

    Attributes
    ----------
    name : str
    levels : tuple of str
        Of a group; empty for a number.
    location, scale : float
        Of a number: mean and standard deviation over the training samples.
    shares : tuple of float
        Of a group: share of each level among the training samples: it stands for a level that is not known.
    """

    name: str
    levels: tuple[str, ...] = ()
    location: float = 0.0
    scale: float = 1.0
    shares: tuple[float, ...] = ()

    @staticmethod
    def of(name: str, cells: np.ndarray) -> Covariate:
        """Learn from training samples."""
        known = cells[~is_missing(cells)]
        levels = sorted({plain_level(cell) for cell in known})
        if len(levels) < 2:
            raise ValueError(f"covariate {name!r} has the same value in every sample: leave it out")
        if cells.dtype.kind == "f":
            codes = (
                np.all(known == np.floor(known))
                and len(levels) <= MOST_CODES
                and 2 * len(levels) < len(known)
            )
            if not codes:
                return Covariate(name, (), float(np.mean(known)), float(np.std(known)))
        elif 2 * len(levels) > len(known):
            raise ValueError(
                f"covariate {name!r} is text with {len(levels)} levels in {len(known)} samples: too many "
                "for groups"
            )
        plain = [plain_level(cell) for cell in known]
        shares = tuple(plain.count(level) / len(plain) for level in levels)
        return Covariate(name, tuple(levels), shares=shares)

    def design(self, cells: np.ndarray) -> np.ndarray:
        """Columns of the small model, (n, k): the average where the covariate is missing or not known."""
        missing = is_missing(cells)
        if not self.levels:
            if cells.dtype.kind != "f":
                raise ValueError(f"covariate {self.name!r} was a number in training; here it is text")
            return np.where(missing, 0.0, (cells - self.location) / self.scale)[:, None]
        plain = ["" if gone else plain_level(cell) for cell, gone in zip(cells, missing, strict=True)]
        unseen = sorted(
            {level_text(cell) for cell, text in zip(cells, plain, strict=True) if text} - set(self.levels)
        )
        unseen = [level for level in unseen if plain_level(level) not in self.levels]
        if unseen:
            warnings.warn(
                f"covariate {self.name!r} has levels that training did not have, which count as the average: "
                f"{quoted(unseen)}",
                stacklevel=4,
            )
        # Runs of earlier versions do not have the shares.
        average = list(self.shares) or [0.0] * len(self.levels)
        rows = [
            [float(text == level) for level in self.levels] if text in self.levels else average
            for text in plain
        ]
        return np.array(rows).reshape(len(cells), -1)


@dataclass(frozen=True)
class Adjustment:
    """A fitted offset.

    Attributes
    ----------
    covariates : tuple of Covariate
    coefficients : tuple of float
    centre : float
        Mean of the linear predictor over the training samples.
    """

    covariates: tuple[Covariate, ...]
    coefficients: tuple[float, ...]
    centre: float

    @staticmethod
    def fit(samples: pd.DataFrame, names: Sequence[str], y: np.ndarray, family: str) -> Adjustment:
        """Fit the small model to training samples.

        Parameters
        ----------
        samples : DataFrame
            Table of the training samples.
        names : sequence of str
            Covariates, columns of it.
        y : (n,) float64
            Response; 0 and 1 for two classes.
        family : str
        """
        found = [find_column(samples, name)[0] for name in names]
        cells = [cells_of(samples[name]) for name in found]
        covariates = tuple(Covariate.of(name, column) for name, column in zip(found, cells, strict=True))
        design = np.hstack([c.design(column) for c, column in zip(covariates, cells, strict=True)])
        coefficients = mode(design, np.asarray(y, np.float64), family)
        return Adjustment(covariates, tuple(coefficients.tolist()), float(np.mean(design @ coefficients)))

    def offset(self, samples: pd.DataFrame) -> np.ndarray:
        """Offset of samples, (n,) float64.

        Raises
        ------
        ValueError
            If a covariate is not there.
        """
        parts = [c.design(cells_of(samples[find_column(samples, c.name)[0]])) for c in self.covariates]
        return np.hstack(parts) @ np.array(self.coefficients) - self.centre

    def sentence(self) -> str:
        """What is adjusted for."""
        parts = [
            f"{c.name} ({len(c.levels)} levels)" if c.levels else f"{c.name} (number)"
            for c in self.covariates
        ]
        return f"adjusting for {', '.join(parts)}: their own effect is an offset, they are no features"

    def as_json(self) -> dict[str, Any]:
        """Terms of JSON."""
        return asdict(self)

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Adjustment:
        """Take back what `as_json` gave."""
        covariates = tuple(
            Covariate(**c | {"levels": tuple(c["levels"]), "shares": tuple(c.get("shares", ()))})
            for c in stored["covariates"]
        )
        return Adjustment(covariates, tuple(stored["coefficients"]), float(stored["centre"]))


def mode(design: np.ndarray, y: np.ndarray, family: str) -> np.ndarray:
    """Posterior mode of the coefficients, (k,), by Newton's method; the intercept is free."""
    from raytpnn.families import get_family

    model = get_family(family)
    location, scale = model.scaling(y)
    target = (y - location) / scale
    X = np.column_stack([np.ones(len(y)), design])
    precision = np.diag([1e-6, *np.ones(design.shape[1])])
    coefficients = np.zeros(X.shape[1])

    def objective(b: np.ndarray) -> float:
        loglik = float(np.sum(model.log_density(target, X @ b, 1.0)))
        return loglik - 0.5 * float(b @ precision @ b)

    for _ in range(STEPS):
        f = X @ coefficients
        score, curvature, _ = model.reference_rows(target, f, np.ones(len(y)), 1.0)
        gradient = X.T @ score - precision @ coefficients
        step = np.linalg.solve((X * curvature[:, None]).T @ X + precision, gradient)
        here, size = objective(coefficients), 1.0
        while objective(coefficients + size * step) < here and size > 1e-8:
            size *= 0.5
        coefficients = coefficients + size * step
        if np.max(np.abs(size * step)) < 1e-10:
            break
    return scale * coefficients[1:]
