"""Five random splits 80/20 with fixed seeds, and folds within a training part."""

from __future__ import annotations

import numpy as np

from raytpnn.validation.splits import Scheme, make_splits

__all__ = ["SPLITS", "folds", "split"]

SPLITS = 5
TRAINING_SHARE = 0.8


def split(n: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows for training and for testing: split `number` of n rows, the same for every model and table."""
    order = np.random.default_rng(number).permutation(n)
    cut = int(TRAINING_SHARE * n)
    return order[:cut], order[cut:]


def folds(y: np.ndarray, count: int, stratify: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds of a training part for choosing settings: pairs of rows to fit and rows to judge by."""
    made = make_splits(Scheme(count, 1), y, stratify, seed=0)
    return [(part.train, part.test) for part in made]
