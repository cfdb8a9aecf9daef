"""How likely each feature is to be proposed: the weights of the prior on variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.tables.tables import quoted
from raytpnn.families import Family

__all__ = ["LEARNED", "SCHEMES", "UNIFORM_SHARE", "is_screened", "resolve_feature_weights"]

SCHEMES = ("uniform", "xgboost", "marginal")
# Schemes that learn in warm-up: by what chains hold, by screens, and by screens where they pay.
LEARNED = ("adaptive", "screen", "auto")
# What a named scheme gives to all features alike, so that none is out of reach.
UNIFORM_SHARE = 0.05


def resolve_feature_weights(
    spec: Any,
    bins: Bins,
    y: np.ndarray,
    family: Family,
    encoder: Encoder | None = None,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Weights of the encoded features.

    Parameters
    ----------
    spec : None, str, array or mapping
        None or "uniform": all alike. "marginal" or "xgboost": by importance, with 5% spread over all
        features. An array with a value for each encoded feature, or for each input column, which its encoded
        features then share. A mapping (or a Series) from names of encoded features or of input columns to
        values.
    bins : Bins
        Encoded training data.
    y : (n,) float64
        Response.
    family : Family
    encoder : Encoder, optional
        Needed for weights by input column.
    sample_weight : (n,) float64, optional
        Row weights, for the named schemes.

    Returns
    -------
    (p,) float64
        Strictly positive, sum 1.

    Raises
    ------
    ValueError
        If the scheme is unknown, or a given weight is not a positive number: the message names its feature.
    ImportError
        If "xgboost" is asked for and not installed.
    """
    p = bins.n_features
    if spec is None or (isinstance(spec, str) and spec == "uniform"):
        return np.full(p, 1.0 / p)
    if isinstance(spec, str):
        weight = np.ones(bins.n_rows) if sample_weight is None else sample_weight
        return mix_uniform(scheme_scores(spec, bins, y, family, weight))
    if (
        hasattr(spec, "to_dict")
        and hasattr(spec, "index")
        and all(isinstance(key, str) for key in spec.index)
    ):
        spec = spec.to_dict()
    given = by_name(spec, bins, encoder) if isinstance(spec, Mapping) else by_position(spec, bins, encoder)
    return given / given.sum()


def is_screened(scheme: Any, n_rows: int, n_features: int) -> bool:
    """Whether feature weights and sets are learned by screens; "auto" leaves it to the size of the data."""
    from raytpnn.model.screens.set_table import screening_pays

    return scheme == "screen" or (scheme == "auto" and screening_pays(n_rows, n_features))


def scheme_scores(
    scheme: str, bins: Bins, y: np.ndarray, family: Family, sample_weight: np.ndarray
) -> np.ndarray:
    """Compute importances by a named scheme, (p,), not yet a distribution."""
    if scheme == "marginal":
        from raytpnn.model.marginal import marginal_scores

        return marginal_scores(bins, y, family, sample_weight)
    if scheme == "xgboost":
        from raytpnn.model.boosted import xgboost_scores

        return xgboost_scores(bins, y, family, sample_weight)
    choices = "None, an array, " + ", ".join(repr(name) for name in SCHEMES)
    raise ValueError(f"unknown feature_weights {scheme!r}; choose {choices}")


def mix_uniform(scores: np.ndarray) -> np.ndarray:
    """Distribution over features: 95% by score, 5% alike; all alike if no score is above 0."""
    p, total = len(scores), scores.sum()
    if not total > 0.0:
        return np.full(p, 1.0 / p)
    weights = (1.0 - UNIFORM_SHARE) * scores / total + UNIFORM_SHARE / p
    return weights / weights.sum()


def by_position(values: Any, bins: Bins, encoder: Encoder | None) -> np.ndarray:
    """Weights given as an array, (p,), checked."""
    try:
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"feature_weights must be numbers, not {values!r:.60}") from None
    p = bins.n_features
    inputs = len(encoder.input_names) if encoder is not None else p
    if weights.ndim != 1 or len(weights) not in (p, inputs):
        lengths = f"{p} (encoded features)" + (f" or {inputs} (input columns)" if inputs != p else "")
        raise ValueError(
            f"feature_weights has the shape {weights.shape}; give one dimension of length {lengths}"
        )
    if encoder is None:
        refuse_weights(weights, bins.names)
        return weights
    one_to_one = inputs == p and np.array_equal(encoder.column, np.arange(p))
    if inputs == p and not one_to_one:
        raise ValueError(
            f"feature_weights has {p} values, but there are as many input columns as encoded features, and "
            "they are not the same: give a mapping from name to weight"
        )
    if len(weights) == p:
        refuse_weights(weights, bins.names)
        return weights
    used = np.unique(encoder.column)
    refuse_weights(weights[used], [encoder.input_names[i] for i in used])
    return share_columns(weights, encoder)


def by_name(values: Mapping[str, float], bins: Bins, encoder: Encoder | None) -> np.ndarray:
    """Weights given by name of encoded feature or input column, (p,), checked."""
    position = {name: j for j, name in enumerate(bins.names)}
    inputs = {name: i for i, name in enumerate(encoder.input_names)} if encoder is not None else {}
    unknown = [name for name in values if name not in position and name not in inputs]
    if unknown:
        raise ValueError(f"feature_weights names what is neither feature nor column: {quoted(unknown)}")
    weights = np.full(bins.n_features, np.nan)
    if encoder is not None:
        columns = np.full(len(encoder.input_names), np.nan)
        for name, i in inputs.items():
            columns[i] = values.get(name, np.nan)
        weights = share_columns(columns, encoder)
    for name, j in position.items():
        # A name of both kinds means the column.
        if name in values and name not in inputs:
            weights[j] = values[name]
    absent = [
        bins.names[j] for j in np.flatnonzero(np.isnan(weights)) if not named(int(j), bins, encoder, values)
    ]
    if absent:
        raise ValueError(
            f"feature_weights gives no weight to {quoted(absent)}; name every feature or its column"
        )
    refuse_weights(weights, bins.names)
    return weights


def named(feature: int, bins: Bins, encoder: Encoder | None, values: Mapping[str, float]) -> bool:
    """Whether a weight was given for the feature or its column."""
    return bins.names[feature] in values or (encoder is not None and encoder.source(feature) in values)


def share_columns(columns: np.ndarray, encoder: Encoder) -> np.ndarray:
    """Weights of input columns, each divided among its encoded features, (p,)."""
    features = np.bincount(encoder.column, minlength=len(columns))
    return columns[encoder.column] / features[encoder.column]


def refuse_weights(weights: np.ndarray, names: Any) -> None:
    """Raise unless every weight is a positive finite number."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0.0)))
    if len(bad):
        raise ValueError(
            f"feature_weights is {weights[bad[0]]:g} for {names[bad[0]]!r}; weights must be above 0 (leave a "
            "feature out of X to exclude it)"
        )
