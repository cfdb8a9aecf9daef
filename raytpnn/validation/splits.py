"""Which rows are held out: repeated folds and repeated random splits, stratified, by seed."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

__all__ = ["Scheme", "Split", "make_splits"]

MOST_FITS = 10_000


@dataclass(frozen=True)
class Scheme:
    """How rows are split.

    Attributes
    ----------
    folds : int
        Every row is held out in one of so many folds; 0 for random splits.
    repeats : int
        Times that rows are dealt into folds anew; of random splits, their number.
    test_share : float
        Of random splits: share of the rows that is held out.
    """

    folds: int
    repeats: int
    test_share: float = 0.2

    def __post_init__(self) -> None:
        if self.folds != 0 and self.folds < 2:
            raise ValueError(f"cross-validation needs 2 folds or more, got {self.folds}")
        if self.repeats < 1 or self.fits > MOST_FITS:
            raise ValueError(f"cross-validation is of 1 to {MOST_FITS:,} fits, got {self.fits}")
        if not 0.0 < self.test_share < 1.0:
            raise ValueError(f"the share of rows held out must lie between 0 and 1, got {self.test_share!r}")

    @property
    def fits(self) -> int:
        """How many fits that is."""
        return max(self.folds, 1) * self.repeats

    @property
    def control(self) -> Scheme:
        """What is run for one permutation of the response: one round of folds, or five random splits."""
        return Scheme(self.folds, 1 if self.folds else min(self.repeats, 5), self.test_share)

    def __str__(self) -> str:
        if self.folds == 0:
            return f"{self.repeats} random splits, {self.test_share:.0%} of the rows held out"
        again = f", {self.repeats} times" if self.repeats > 1 else ""
        return f"{self.folds} folds{again}"

    @staticmethod
    def of(cv: str | int | Scheme | None, splits: int | None = None, test_share: float = 0.2) -> Scheme:
        """Scheme from what a user says.

        Parameters
        ----------
        cv : str, int or Scheme, optional
            "5x5" is five folds five times, "5" or 5 five folds once.
        splits : int, optional
            Instead of folds, so many random splits.
        test_share : float
            See `Scheme`.
        """
        if (cv is None) == (splits is None):
            raise ValueError("say how to split: cv='5x5' for folds x repeats, or splits=20; one of the two")
        if splits is not None:
            if isinstance(splits, bool) or not isinstance(splits, (int, np.integer)):
                raise ValueError(f"splits must be a whole number, got {splits!r}")
            return Scheme(0, int(splits), test_share)
        if isinstance(cv, Scheme):
            return cv
        found = re.fullmatch(r"(\d{1,6})(?:\s*[xX]\s*(\d{1,6}))?", str(cv).strip())
        if found is None or isinstance(cv, bool):
            raise ValueError(f"cv must be like '5x5' (folds x repeats) or '5' (folds), got {cv!r}")
        return Scheme(int(found[1]), int(found[2] or 1))


@dataclass(frozen=True)
class Split:
    """One division of the rows.

    Attributes
    ----------
    repeat, fold : int
        From 0.
    test, train : (k,), (n - k,) int64
        Rows, ascending.
    """

    repeat: int
    fold: int
    test: np.ndarray
    train: np.ndarray


def make_splits(scheme: Scheme, y: np.ndarray, stratify: bool, seed: int) -> list[Split]:
    """Split rows.

    Parameters
    ----------
    scheme : Scheme
    y : (n,)
        Response.
    stratify : bool
        Whether every part gets its share of every value of y.
    seed : int
        The same seed gives the same splits; a repeat does not depend on how many there are.

    Raises
    ------
    ValueError
        If there are too few rows, or too few of one class, to be in every part.
    """
    n = len(y)
    groups = [np.flatnonzero(y == value) for value in np.unique(y)] if stratify else [np.arange(n)]
    least = min(len(group) for group in groups)
    needed = scheme.folds or 2
    if least < needed:
        what = f"of one class there are {least} rows" if stratify else f"there are {n} rows"
        raise ValueError(f"{what}: too few for {scheme}; every part needs one")
    made = []
    for repeat in range(scheme.repeats):
        rng = np.random.default_rng([seed, repeat])
        shuffled = [rng.permutation(group) for group in groups]
        if scheme.folds:
            parts = dealt(shuffled, scheme.folds)
        else:
            parts = [held_out(shuffled, scheme.test_share)]
        for fold, test in enumerate(parts):
            made.append(Split(repeat, fold, test, np.setdiff1d(np.arange(n), test)))
    return made


def dealt(groups: list[np.ndarray], folds: int) -> list[np.ndarray]:
    """Rows dealt into folds like cards, group after group: sizes differ by one at most, within groups too."""
    hand = np.arange(sum(len(group) for group in groups)) % folds
    cards = np.concatenate(groups)
    return [np.sort(cards[hand == fold]) for fold in range(folds)]


def held_out(groups: list[np.ndarray], share: float) -> np.ndarray:
    """Share of every group, at least one row and never all of them."""
    counts = [min(max(round(share * len(group)), 1), len(group) - 1) for group in groups]
    return np.sort(np.concatenate([group[:count] for group, count in zip(groups, counts, strict=True)]))
