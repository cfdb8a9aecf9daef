"""Several classes: the outputs are scores of the classes, whose softmax is their probabilities.

There is an output for every class, all with the same prior: with one class left out as a reference, its
probability would have another prior than the others', and effects would mean something else for another
reference. What all outputs have in common is not in the likelihood: intercepts draw it from their prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, MOST_OUTPUTS
from raytpnn.families.outputs import OutputsFamily, as_records, numbers_of
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import exp, log
from raytpnn.numerics.jit import internal

__all__ = ["Multinomial"]

# Rows of a level, on average, below which text is taken for names rather than classes.
LEAST_ROWS = 4


@internal
def rows(y, f, w, dispersion, score, curvature, loglik, need, fits, output):
    """Score, curvature and log-likelihood of one block of rows, in the output at hand."""
    top, total = loglik, curvature
    for i in range(len(y)):
        top[i] = f[i]
    for c in range(len(fits)):
        if c != output:
            part = fits[c]
            for i in range(len(y)):
                top[i] = part[i] if part[i] > top[i] else top[i]
    for i in range(len(y)):
        total[i] = exp(f[i] - top[i])
    if need & DERIVATIVES:
        for i in range(len(y)):
            score[i] = total[i]
    for c in range(len(fits)):
        if c != output:
            part = fits[c]
            for i in range(len(y)):
                total[i] += exp(part[i] - top[i])
    if need & LIKELIHOOD:
        for i in range(len(y)):
            label = int(y[i])
            own = f[i] if label == output else fits[label, i]
            loglik[i] = w[i] * ((own - top[i]) - log(total[i]))
    if need & DERIVATIVES:
        for i in range(len(y)):
            share = score[i] / total[i]
            is_class = 1.0 if int(y[i]) == output else 0.0
            score[i] = w[i] * (is_class - share)
            curvature[i] = w[i] * (share * (1.0 - share))


class Multinomial(OutputsFamily):
    """Y is one of several classes, numbered from 0, with probabilities softmax(f).

    The registered family knows no classes; `with_classes` gives one that does.
    """

    name = "multinomial"
    code = 20
    description = (
        "Several classes (multinomial). Effects of an output add up to the score of that class: +0.7 about "
        "doubles its odds against any other."
    )
    kernel = staticmethod(rows)
    outputs: tuple[str, ...] = ()
    shift_invariant = True
    discrete = True
    labelled = True
    # Chosen by folds within training parts. The terms of a state are shared out among the classes.
    sigma_beta2 = 2.0
    wide_sigma_beta2 = 30.0
    boosting_objective = "multi:softprob"
    scores = ("nll", "error", "ece")
    statistics = ("mean", "log_loss")
    guess_order = 4

    def with_classes(self, classes: Sequence[Any] | None) -> Multinomial:
        """The family of these classes, in the order of their numbers."""
        if classes is None:
            return self
        if len(classes) > MOST_OUTPUTS:
            raise ValueError(f"there are {len(classes)} classes, but at most {MOST_OUTPUTS} can be modelled")
        names = tuple(str(label) for label in classes)
        if len(set(names)) < len(names):
            raise ValueError("two classes have the same name once they are text; rename one of them")
        made = copy(self)
        made.outputs = names
        return made

    def problem(self, y):
        """Numbers of classes."""
        most = max(len(self.outputs), 1)
        bad = np.flatnonzero((y < 0) | (y >= most) | (y != np.floor(y)))
        if len(bad):
            return f"row {bad[0]} is {y[bad[0]]:g}; classes are numbered from 0 to {most - 1}"
        return None

    def guess(self, values, distinct, numeric):
        """Text with several levels that come back."""
        if numeric or not 2 < len(distinct) <= MOST_OUTPUTS or len(values) < LEAST_ROWS * len(distinct):
            return None
        levels = ", ".join(repr(level) for level in distinct[:3])
        return f"it is text with {len(distinct)} levels, {levels}{', ...' if len(distinct) > 3 else ''}"

    def starts(self, y, offset):
        """Log shares of the classes; half a row more of each."""
        counts = np.bincount(y.astype(np.int64), minlength=len(self.outputs)) + 0.5
        scores = np.log(counts / counts.sum())
        return tuple(float(value) for value in scores - scores.mean())

    def null_curvatures(self, starts, offset, dispersion):
        """P (1 - p) of the shares."""
        share = np.exp(np.array(starts) - np.max(starts))
        share = share / share.sum()
        return tuple(float(p) for p in share * (1.0 - share))

    def user_outputs(self, location, scale):
        """As they are."""
        return ((0.0, 1.0),) * len(self.outputs)

    def reference_rows(self, y, f, w, dispersion, fits=None, output=0):
        """Score, curvature and log-likelihood in one output."""
        fits = np.array(fits)
        fits[output] = f
        top = fits.max(axis=0)
        own = elementary_numpy.exp(f - top)
        total = own.copy()
        for c in range(len(fits)):
            if c != output:
                total = total + elementary_numpy.exp(fits[c] - top)
        label = y.astype(np.int64)
        mine = fits[label, np.arange(len(y))]
        share = own / total
        loglik = w * ((mine - top) - elementary_numpy.log(total))
        return w * ((label == output) * 1.0 - share), w * (share * (1.0 - share)), loglik

    def information(self, f, dispersion=1.0):
        """Largest of the classes' P (1 - p)."""
        p = self.mean(f)
        return np.max(p * (1.0 - p), axis=-1)

    def mean(self, f):
        """Probabilities, the classes in a last axis."""
        scores = numbers_of(f)
        odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return odds / odds.sum(axis=-1, keepdims=True)

    def variance(self, f, nuisance=1.0):
        """P (1 - p) of every class, in a last axis."""
        p = self.mean(f)
        return p * (1.0 - p)

    def link(self, mean):
        """Scores of equal probabilities: means of class numbers say nothing."""
        return as_records([np.zeros(np.shape(mean))] * len(self.outputs), self.outputs)

    def log_density(self, y, f, nuisance):
        """Log probability of class y."""
        scores = numbers_of(f)
        top = scores.max(axis=-1)
        label = np.broadcast_to(np.asarray(y, np.int64), top.shape)[..., None]
        own = np.take_along_axis(scores, label, axis=-1)[..., 0]
        return own - top - np.log(np.exp(scores - top[..., None]).sum(axis=-1))

    def cdf(self, y, f, nuisance):
        """Probability of the classes up to y."""
        below = np.cumsum(self.mean(f), axis=-1)
        y = np.floor(np.broadcast_to(np.asarray(y, np.float64), below.shape[:-1]))
        place = np.clip(y, 0, below.shape[-1] - 1).astype(np.int64)
        value = np.take_along_axis(below, place[..., None], axis=-1)[..., 0]
        return np.where(y < 0, 0.0, np.where(y >= below.shape[-1] - 1, 1.0, value))

    def quantile(self, u, f, nuisance):
        """First class up to which the probability is u."""
        below = np.cumsum(self.mean(f), axis=-1)
        short = np.asarray(u)[..., None] > below[..., :-1]
        return short.sum(axis=-1).astype(np.float64)

    def sample(self, rng, f, nuisance):
        """Numbers of classes."""
        return self.quantile(rng.random(np.shape(f)), f, nuisance)
