"""Tables for models that want plain numbers, learned from training rows only."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

__all__ = ["text_columns", "to_numbers"]


def text_columns(X: pd.DataFrame) -> list[str]:
    """Columns that are not numbers."""
    return [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]


def to_numbers(X: pd.DataFrame, X_new: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Text as one column a level, numbers standardised, missing numbers at the mean."""
    text = text_columns(X)
    numbers = [name for name in X.columns if name not in text]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
    ).fit(X)
    return (
        np.asarray(encoder.transform(X), np.float64),
        np.asarray(encoder.transform(X_new), np.float64),
    )
