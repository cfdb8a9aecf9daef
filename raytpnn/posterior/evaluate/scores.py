"""How good predictions are: point, density, probability and interval scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.families import Family
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.parallel.threads import run_all

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["auroc", "class_scores", "coverage", "ece", "mixture_crps", "nll", "rmse", "score", "width"]

# Gauss-Legendre nodes on a panel, and how wide a panel may be in the smallest standard deviation.
NODES = 16
PANEL = 4.0


def rmse(y: np.ndarray, mean: np.ndarray) -> float:
    """Root mean squared error of a prediction; both (n,)."""
    return float(np.sqrt(np.mean((np.asarray(y) - np.asarray(mean)) ** 2)))


def nll(log_density: np.ndarray) -> float:
    """Mean negative log predictive density, from the log density of every row."""
    return -float(np.mean(log_density))


def auroc(y: np.ndarray, probability: np.ndarray) -> float:
    """Area under the ROC curve of the probability of a 1; NaN if y holds one class only."""
    from sklearn.metrics import roc_auc_score

    if len(np.unique(y)) < 2:
        return float("nan")
    return float(roc_auc_score(y, probability))


def ece(y: np.ndarray, probability: np.ndarray, bins: int = 15) -> float:
    """Calibration error (ECE) of the probability of a 1.

    Parameters
    ----------
    y : (n,)
        0 or 1.
    probability : (n,)
    bins : int
        Bins of equal width over [0, 1].

    Returns
    -------
    float
        Mean over rows of |share of ones - mean probability| of the row's bin.
    """
    y, probability = np.asarray(y, np.float64), np.asarray(probability, np.float64)
    place = np.minimum((probability * bins).astype(np.int64), bins - 1)
    gap = np.bincount(place, y - probability, minlength=bins)
    return float(np.sum(np.abs(gap)) / len(y))


def class_scores(y: np.ndarray, probability: np.ndarray) -> dict[str, float]:
    """Scores of the probabilities of several classes.

    Parameters
    ----------
    y : (n,)
        Numbers of the classes.
    probability : (n, classes)

    Returns
    -------
    dict
        error, the share of wrong classes; ece, the calibration error of the likeliest class.
    """
    right = np.argmax(probability, axis=1) == np.asarray(y)
    return {"error": float(np.mean(~right)), "ece": ece(right, probability.max(axis=1))}


def coverage(y: np.ndarray, interval: np.ndarray) -> float:
    """Share of y within intervals (n, 2), ends included."""
    return float(np.mean((interval[:, 0] <= y) & (y <= interval[:, 1])))


def width(interval: np.ndarray) -> float:
    """Mean width of intervals (n, 2)."""
    return float(np.mean(interval[:, 1] - interval[:, 0]))


def mixture_crps(
    family: Family, y: np.ndarray, f: np.ndarray, nuisance: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Continuous ranked probability score of the mixture over draws: the integral of (F(x) - [x >= y])^2.

    F is the mixture's own distribution function. For whole numbers the integral is a sum; otherwise it is
    taken by Gauss-Legendre panels no wider than four standard deviations of any part, on both sides of y.

    Parameters
    ----------
    family : Family
    y : (n,)
    f : (D, n)
    nuisance : (D,)
    weight : (D, n), optional
        Weights of the draws, columns adding up to 1; equal ones if not given.

    Returns
    -------
    (n,) float64
    """
    weight = np.broadcast_to(1.0 / len(f), f.shape) if weight is None else weight
    one = crps_of_counts if family.discrete else crps_of_reals

    def evaluate(i: int) -> float:
        return one(family, float(y[i]), f[:, i], nuisance, np.ascontiguousarray(weight[:, i]))

    return np.array(run_all(evaluate, range(len(y))))


def crps_of_counts(
    family: Family, y: float, f: np.ndarray, nuisance: np.ndarray, weight: np.ndarray
) -> float:
    """Sum over whole numbers."""
    low, high = support(family, f, nuisance)
    inside = min(max(y, low), high)
    total, step = abs(y - inside), max(262_144 // len(f), 1)
    for start in np.arange(low, high + 1.0, step):
        x = np.arange(start, min(start + step, high + 1.0))
        cdf = weight @ family.cdf(x, f[:, None], nuisance[:, None])
        total += float(np.sum((cdf - (x >= inside)) ** 2))
    return total


def crps_of_reals(family: Family, y: float, f: np.ndarray, nuisance: np.ndarray, weight: np.ndarray) -> float:
    """Integral of F^2 up to y and of (1 - F)^2 from y on."""
    low, high = support(family, f, nuisance)
    inside = min(max(y, low), high)
    deviation = float(np.sqrt(np.min(family.variance(f, nuisance))))
    node, node_weight = np.polynomial.legendre.leggauss(NODES)
    total = abs(y - inside)
    for start, stop, above in ((low, inside, 0.0), (inside, high, 1.0)):
        panels = int(np.ceil((stop - start) / (PANEL * deviation)))
        half = 0.5 * (stop - start) / max(panels, 1)
        for panel in range(panels):
            x = start + half * (2 * panel + 1 + node)
            cdf = weight @ family.cdf(x, f[:, None], nuisance[:, None])
            total += half * float(node_weight @ (cdf - above) ** 2)
    return total


def support(family: Family, f: np.ndarray, nuisance: np.ndarray) -> tuple[float, float]:
    """Range that holds the mixture but for `Family.tail` on either side: beyond it, F is taken for 0 or 1."""
    low = float(np.min(family.quantile(np.asarray(family.tail), f, nuisance)))
    return low, float(np.max(family.quantile(np.asarray(1.0 - family.tail), f, nuisance)))


def score(
    posterior: Posterior, X: Any, y: Any, offset: Any = None, level: float = CREDIBLE_LEVEL
) -> dict[str, float]:
    """All scores that suit the family, on rows not used for fitting.

    Parameters
    ----------
    posterior : Posterior
    X : table
    y : (n,)
        Responses; class labels for two classes.
    offset : (n,), optional
    level : float
        Of the predictive interval.

    Returns
    -------
    dict
        nll always; concordance, uno and brier for times until an event; auroc, ece and error (share of
        wrong classes) for bernoulli; error and ece for multinomial; rmse, crps, coverage and width for the
        others.
    """
    y = posterior.encode_response(y)
    if posterior.family.censored:
        from raytpnn.posterior.evaluate.survival_scores import survival_scores

        return survival_scores(posterior, X, y, offset)
    scores = {"nll": nll(posterior.log_density_of(X, y, offset))}
    mean = posterior.predict(X, offset)
    if posterior.family.binary:
        return scores | {
            "auroc": auroc(y, mean),
            "ece": ece(y, mean),
            "error": float(np.mean((mean > 0.5) != (y == 1.0))),
        }
    if posterior.family.labelled:
        return scores | class_scores(y, mean)
    interval = posterior.interval(X, level, offset)
    crps = [
        mixture_crps(posterior.family, y[rows], f, posterior.draws.nuisance)
        for rows, f in posterior.latent_blocks(X, offset)
    ]
    return scores | {
        "rmse": rmse(y, mean),
        "crps": float(np.mean(np.concatenate(crps))),
        "coverage": coverage(y, interval),
        "width": width(interval),
    }
