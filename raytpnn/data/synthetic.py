"""Data with a known truth: the synthetic functions of the paper and their functional ANOVA components.

A function is a sum of parts, each of a few variables. Which components it has follows part by part: a product
of functions of one variable each has the component S unless a factor in S is constant or a factor outside S
has mean zero; a part that changes sign with a variable that is symmetric about zero has no component without
that variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DESIGNS", "Design", "Part", "Synthetic", "make", "make_f1", "make_f2", "make_f3", "make_poisson"]

SIGNAL_TO_NOISE = 5.0


@dataclass(frozen=True)
class Synthetic:
    """A simulated data set.

    Attributes
    ----------
    X : DataFrame
        Independent features "x1", "x2", ...
    y : (n,) float64
        Response.
    f : (n,) float64
        True function: the mean of y, for the Poisson set the logarithm of the mean.
    noise_variance : float
        Variance of y around f, a fifth of the variance of f; NaN for the Poisson set.
    components : frozenset of tuples of str
        The sets S whose f_S is not zero, all orders, names in the order of X.
    """

    X: pd.DataFrame
    y: np.ndarray
    f: np.ndarray
    noise_variance: float
    components: frozenset[tuple[str, ...]]


@dataclass(frozen=True)
class Part:
    """One summand of a function.

    Attributes
    ----------
    variables : tuple of int
        From 1, as in the paper.
    function : callable
        Takes an array a variable, gives their values.
    components : tuple of tuples of int
        The sets for which the part's component is not zero.
    """

    variables: tuple[int, ...]
    function: Callable[..., np.ndarray]
    components: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Design:
    """A function and the distribution of its inputs.

    Attributes
    ----------
    parts : tuple of Part
    low, high : (p,) float64
        Ranges of the independent uniform inputs.
    variance : float
        Variance of the function, by quadrature; it fixes the noise.
    """

    parts: tuple[Part, ...]
    low: np.ndarray
    high: np.ndarray
    variance: float

    def function(self, X: np.ndarray) -> np.ndarray:
        """Value of the function, (n,), at the rows of X, (n, p)."""
        total = np.zeros(len(X))
        for part in self.parts:
            total += part.function(*(X[:, j - 1] for j in part.variables))
        return total

    @property
    def components(self) -> frozenset[tuple[int, ...]]:
        """Sets of variables whose component is not zero. No two parts cancel each other."""
        return frozenset(S for part in self.parts for S in part.components)


def subsets(*variables: int) -> tuple[tuple[int, ...], ...]:
    """All subsets but the empty one."""
    return tuple(S for size in range(1, len(variables) + 1) for S in combinations(variables, size))


def _f1_parts() -> tuple[Part, ...]:
    """Parts of f1: all its inputs are positive, so that every factor has a mean other than zero."""
    return (
        Part((1, 2, 3), lambda a, b, c: np.pi ** (a * b) * np.sqrt(2 * np.abs(c)), subsets(1, 2, 3)),
        Part((4,), lambda d: -np.arcsin(0.5 * d), subsets(4)),
        Part((3, 5), lambda c, e: np.log(np.abs(c + e) + 1), subsets(3, 5)),
        Part(
            (7, 8, 9, 10),
            lambda g, h, i, j: i / (1 + np.abs(j)) * np.sqrt(g / (1 + np.abs(h))),
            subsets(7, 8, 9, 10),
        ),
        Part((2, 7), lambda b, g: -b * g, subsets(2, 7)),
    )


def _f2_parts() -> tuple[Part, ...]:
    """Parts of f2: its inputs are symmetric about zero, so that x1 x2 has no main effects."""
    return (
        Part((1, 2), lambda a, b: a * b, ((1, 2),)),
        Part((3, 5, 6), lambda c, e, f: 2 ** (c + e + f), subsets(3, 5, 6)),
        Part((3, 4, 5, 7), lambda c, d, e, g: 2 ** (c + d + e + g), subsets(3, 4, 5, 7)),
        # Odd in x7, and odd in (x8, x9) together: without x7, or with x7 alone, nothing is left.
        Part((7, 8, 9), lambda g, h, i: np.sin(g * np.sin(h + i)), ((7, 8), (7, 9), (7, 8, 9))),
        Part((10,), lambda j: np.arccos(0.9 * j), subsets(10)),
    )


def _f3_parts() -> tuple[Part, ...]:
    """Parts of f3: its inputs are symmetric about zero."""
    # tanh(a + b) with a = x1 x2, b = x3 x4 is a sum of a^i b^j with i + j odd. The odd power needs both of
    # its variables, the even one any of its own; sqrt|x5| has a mean, so x5 may be there or not.
    products = ((1, 2), (3, 4), (1, 2, 3), (1, 2, 4), (1, 3, 4), (2, 3, 4), (1, 2, 3, 4))
    return (
        Part(
            (1, 2, 3, 4, 5),
            lambda a, b, c, d, e: np.tanh(a * b + c * d) * np.sqrt(np.abs(e)),
            products + tuple((*S, 5) for S in products),
        ),
        Part((5, 6), lambda e, f: np.exp(e + f), subsets(5, 6)),
        Part((6, 7, 8), lambda f, g, h: np.log((f * g * h) ** 2 + 1), subsets(6, 7, 8)),
        Part((9, 10), lambda i, j: i * j, ((9, 10),)),
        Part((10,), lambda j: 1 / (1 + np.abs(j)), subsets(10)),
    )


def _ranges_of_f1() -> tuple[np.ndarray, np.ndarray]:
    """U(0, 1) and U(0.6, 1) for the first ten, U(-1, 1) for the rest."""
    low, high = np.full(50, -1.0), np.ones(50)
    low[:10] = 0.0
    low[[3, 4, 7, 9]] = 0.6
    return low, high


DESIGNS: dict[str, Design] = {
    "f1": Design(_f1_parts(), *_ranges_of_f1(), variance=0.481756),
    "f2": Design(_f2_parts(), np.full(50, -1.0), np.ones(50), variance=4.063833),
    "f3": Design(_f3_parts(), np.full(50, -1.0), np.ones(50), variance=1.606184),
    "poisson": Design(_f1_parts(), np.zeros(10), np.ones(10), variance=0.553897),
}


def make(name: str, n: int, seed: int = 0) -> Synthetic:
    """Simulate one of the paper's data sets.

    Parameters
    ----------
    name : {"f1", "f2", "f3", "poisson"}
    n : int
        Number of rows.
    seed : int
        Equal seeds give equal data.

    Returns
    -------
    Synthetic

    Raises
    ------
    ValueError
        If there is no set of that name or n is below 1.
    """
    import pandas as pd

    if name not in DESIGNS:
        raise ValueError(f"unknown synthetic data {name!r}; choose one of {', '.join(DESIGNS)}")
    if n < 1:
        raise ValueError(f"n must be 1 or more, not {n}")
    design = DESIGNS[name]
    rng = np.random.default_rng(seed)
    X = rng.uniform(design.low, design.high, size=(n, len(design.low)))
    f = design.function(X)
    if name == "poisson":
        noise_variance = np.nan
        y = rng.poisson(np.exp(f)).astype(np.float64)
    else:
        noise_variance = design.variance / SIGNAL_TO_NOISE
        y = f + rng.normal(scale=np.sqrt(noise_variance), size=n)
    names = [f"x{j}" for j in range(1, X.shape[1] + 1)]
    components = frozenset(tuple(names[j - 1] for j in S) for S in design.components)
    return Synthetic(pd.DataFrame(X, columns=names), y, f, noise_variance, components)


def make_f1(n: int, seed: int = 0) -> Synthetic:
    """f1 of the paper, 50 features of which 9 matter; x6 does not. See `make`."""
    return make("f1", n, seed)


def make_f2(n: int, seed: int = 0) -> Synthetic:
    """f2 of the paper, 50 features of which 10 matter. See `make`."""
    return make("f2", n, seed)


def make_f3(n: int, seed: int = 0) -> Synthetic:
    """f3 of the paper, 50 features of which 10 matter. See `make`."""
    return make("f3", n, seed)


def make_poisson(n: int, seed: int = 0) -> Synthetic:
    """Poisson set of the paper: counts with log mean f1 on ten features U(0, 1). See `make`."""
    return make("poisson", n, seed)
