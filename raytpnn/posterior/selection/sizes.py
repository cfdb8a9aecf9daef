"""How large an effect is, given that it is real: given the rest of every draw.

A draw holds an effect or not, by chance, and single draws are noisy. Here the effect is there in every draw:
given the rest of the draw its coefficients are normal, with a prior variance estimated from the data, so that
their posterior is known (Rao-Blackwell); the sizes are those of samples of it, over all draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.posterior.selection.score_tests import Tests, orthonormal

if TYPE_CHECKING:
    from raytpnn.posterior.fitted import Fitted

__all__ = ["Size", "default_delta", "size_of"]

SAMPLES = 1000
# Share of the response's spread that a reader would care about.
DELTA_SHARE = 0.1
# A set of up to so many features has a direction.
DIRECTIONS = {1: ("down", "up"), 2: ("opposite", "together")}


@dataclass(frozen=True)
class Size:
    """Size of an effect.

    Attributes
    ----------
    size, low, high : float
        Posterior median and interval of the root mean square over the training rows, in units of f.
    share : float
        Square of the size as a share of the variance of f.
    above : float
        Posterior probability that the size is larger than delta.
    direction : str
        "up" or "down"; of a pair "together" or "opposite"; empty for more features.
    certainty : float
        Posterior probability of the direction, given that the effect is real; NaN where there is none.
    """

    size: float
    low: float
    high: float
    share: float
    above: float
    direction: str
    certainty: float


def default_delta(post: Fitted) -> float:
    """A tenth of the spread of the response on the scale of f.

    The spread is that of f over the training rows and of the noise together: for gaussian about the standard
    deviation of y.
    """
    nuisance = float(np.mean(post.draws.nuisance))
    mean = float(np.average(post.y, weights=post.weight))
    information = float(post.family.information(np.array(post.family.link(mean)), nuisance))
    divide = 1.0 if post.family.dispersion_in_rows or not post.family.dispersion else nuisance
    noise = divide / information if information > 0.0 else 0.0
    return DELTA_SHARE * float(np.sqrt(explained_variance(post) + noise))


def explained_variance(post: Fitted) -> float:
    """Variance of the posterior mean of f over the training rows."""
    return float(np.var(post.predictor.latent_mean(post.norm_codes())))


def size_of(
    tests: Tests,
    features: tuple[int, ...],
    order: int,
    delta: float,
    level: float,
    variance: float,
    seed: int,
    before: tuple[tuple[int, ...], ...] | None = None,
    whole: bool = False,
) -> Size:
    """Size of a component, of the leading main effect of a group, or of all levels of a column.

    Parameters
    ----------
    tests : Tests
    features : tuple of int
    order : int
    delta : float
        In units of f.
    level : float
        Posterior probability of the interval.
    variance : float
        Of f, in the square of its units.
    seed : int
    before : tuple of tuples of int, optional
        Effects beyond which the effect is meant, instead of all others.
    whole : bool
        Whether the features are the levels of one column.
    """
    fit = tests.fit
    scale = fit.scaling.scale
    ones = np.ones(len(fit.y))
    dispersion = float(np.mean([m.dispersion for m in fit.models]))
    if before is not None:
        effect = tests.basis.effect(features, 1)
        controls = [tests.basis.effect(own, 1) for own in before]
        # The features of pairs count for themselves, too, but for the effect's own.
        alone = {f for own in [*before, features] if len(own) > 1 for f in own} - set(features * (order == 1))
        controls += [tests.basis.powers(feature, 1) for feature in sorted(alone)]
        f = fit.family.start(fit.y, fit.offset) + fit.offset
        residual, curvature, _ = fit.family.reference_rows(fit.y, f, ones, dispersion)
    else:
        left_out: list[tuple[int, ...]]
        if len(features) > order:
            controls = tests.controls(features, 0)
            if whole:
                effect = tests.directions(features)
            else:
                effect = tests.basis.powers(features[0], 1)
            left_out = fit.within(features) if whole else [(feature,) for feature in features]
        else:
            effect, controls = tests.columns(features)
            left_out = [features]
        f = np.mean([m.columns @ m.coefficient for m in fit.models], axis=0) + fit.offset
        curvature = fit.family.reference_rows(fit.y, f, ones, dispersion)[1]
        residual = fit.without(left_out)
    # Working responses: on the scale of f a row's residual is its score over its curvature.
    root = np.sqrt(fit.weight * np.maximum(curvature, 1e-8))
    shared = orthonormal(np.column_stack([np.ones(len(f)), *controls]) * root[:, None])
    target = residual / np.maximum(curvature, 1e-8) * root
    target = target - shared @ (shared.T @ target)
    u = effect * root[:, None]
    u = u - shared @ (shared.T @ u)
    noise = tests.noise if before is None else fit.variance_of(residual)
    noise = max(noise / float(np.average(curvature, weights=fit.weight)), 1e-12)
    gram, right = u.T @ u, u.T @ target
    # Prior variance by moments: what the columns explain beyond noise, spread evenly over them.
    explained = float(right @ np.linalg.lstsq(gram, right, rcond=1e-8)[0])
    spread = max(explained - noise * len(right), 0.1 * noise) / max(float(np.trace(gram)), 1e-300)
    precision = gram / noise + np.eye(len(right)) / spread
    root_of_covariance = np.linalg.cholesky(np.linalg.inv(precision))
    centre = np.linalg.solve(precision, right / noise)
    normals = np.random.default_rng([seed, *features[:4]]).normal(size=(SAMPLES, len(right)))
    coefficients = centre + normals @ root_of_covariance.T
    centred = effect - np.average(effect, axis=0, weights=fit.weight)
    second = (centred * fit.weight[:, None]).T @ centred / fit.weight.sum()
    norms = np.sqrt(np.einsum("si,ij,sj->s", coefficients, second, coefficients)) * scale
    low, size, high = np.quantile(norms, [(1.0 - level) / 2.0, 0.5, (1.0 + level) / 2.0])
    words = ("", "") if whole else DIRECTIONS.get(order, ("", ""))
    up = float(np.mean(coefficients[:, 0] > 0.0))
    return Size(
        size=float(size),
        low=float(low),
        high=float(high),
        share=float(np.mean(norms**2) / variance) if variance > 0.0 else np.nan,
        above=float(np.mean(norms > delta)),
        direction=words[int(up >= 0.5)],
        certainty=max(up, 1.0 - up) if words[0] else np.nan,
    )
