"""Rows unlike those of training: the out-of-distribution score of the paper, for two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.posterior.evaluate.scores import auroc

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["certainty", "detection_auroc"]


def certainty(posterior: Posterior, X: Any, offset: Any = None) -> np.ndarray:
    """Certainty of the predicted class, (n,): 1 + log2 max(p, 1 - p), from 0 (a coin) to 1.

    p is the posterior mean of the probability, so that draws that disagree make it uncertain. Low values
    point to rows that training did not hold.

    Raises
    ------
    ValueError
        If the family is not bernoulli.
    """
    if not posterior.family.binary:
        raise ValueError(
            f"certainty is of a predicted class, for family 'bernoulli', not {posterior.family.name!r}; "
            "use predictive_sd or the width of interval"
        )
    probability = posterior.predict(X, offset)
    return 1.0 + np.log2(np.maximum(probability, 1.0 - probability))


def detection_auroc(posterior: Posterior, inside: Any, outside: Any) -> float:
    """Area under the ROC curve of telling rows `inside` the distribution from rows `outside` by certainty.

    Rows inside count as 1, rows outside as 0; 0.5 is chance.
    """
    known, novel = certainty(posterior, inside), certainty(posterior, outside)
    return auroc(np.repeat([1.0, 0.0], [len(known), len(novel)]), np.concatenate([known, novel]))
