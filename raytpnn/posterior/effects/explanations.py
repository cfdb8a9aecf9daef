"""Explanation objects of other packages, for their plots: shap and interpret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from raytpnn.data.encoding.encoder import LEVEL
from raytpnn.data.tables.tables import as_table

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["interpret_explanation", "shap_explanation"]

AND = " & "


def shap_explanation(post: Posterior, X: Any) -> Any:
    """See `Posterior.to_shap`."""
    try:
        import shap
    except ImportError:
        raise ImportError("to_shap needs shap; install it with: pip install 'raytpnn[shap]'") from None
    table = post.shapley(X, by="column")
    return shap.Explanation(
        values=table.to_numpy(),
        base_values=np.full(len(table), post.intercept_mean),
        data=cells_of(post, X),
        feature_names=list(table.columns),
    )


def cells_of(post: Posterior, X: Any) -> np.ndarray:
    """Cells of a table by the columns that the model was fitted to, (n, columns) of object."""
    given = as_table(X)
    places = {name: i for i, name in enumerate(given.names)} if given.named and post.encoder.named else {}
    columns = [given.column(places.get(name, i)) for i, name in enumerate(post.encoder.input_names)]
    return np.array(columns, dtype=object).T


def interpret_explanation(post: Posterior, X: Any, y: Any, top: int) -> Any:
    """See `Posterior.to_interpret`."""
    try:
        from interpret.api.templates import FeatureValueExplanation
    except ImportError:
        raise ImportError(
            "to_interpret needs interpret; install it with: pip install 'raytpnn[interpret]'"
        ) from None
    if X is None:
        kind, (content, names, types, selector) = "global", whole_model(post, top)
    else:
        kind, (content, names, types, selector) = "local", single_rows(post, X, y, top)
    title = f"raytpnn: {post.config.get('target_name') or 'the response'}"
    return FeatureValueExplanation(kind, content, names, types, title, selector)


def whole_model(post: Posterior, top: int) -> tuple[dict[str, Any], list[str], list[str], pd.DataFrame]:
    """Importances, curves and maps of the leading effects of one and two features."""
    table = post.components()
    table = table[table["order"] <= 2].head(top)
    names = [AND.join(effect) for effect in table["component"]]
    effects = [
        curve(post, effect) if len(effect) == 1 else surface(post, effect) for effect in table["component"]
    ]
    types = [
        "interaction" if len(effect) == 2 else "nominal" if is_level(post, effect[0]) else "continuous"
        for effect in table["component"]
    ]
    ends = [
        np.concatenate([np.ravel(part["lower_bounds"]), np.ravel(part["upper_bounds"])]) for part in effects
    ]
    if ends:
        reach = (float(np.min(np.concatenate(ends))), float(np.max(np.concatenate(ends))))
        effects = [part | {"scores_range": reach} for part in effects]
    overall = {"type": "univariate", "names": names, "scores": table["importance"].tolist()}
    selector = pd.DataFrame({"Name": names, "Type": types, "Importance": table["importance"].to_numpy()})
    return {"overall": overall, "specific": effects}, names, types, selector


def is_level(post: Posterior, name: str) -> bool:
    """Whether a feature is a level of a column of text."""
    return bool(post.encoder.kind[post.encoder.index(name)] == LEVEL)


def curve(post: Posterior, effect: tuple[str, ...]) -> dict[str, Any]:
    """One feature: its values, the posterior means and the pointwise band."""
    table = post.component(effect)
    return {
        "type": "univariate",
        "names": table[effect[0]].tolist(),
        "scores": table["mean"].to_numpy(),
        "upper_bounds": table["high"].to_numpy(),
        "lower_bounds": table["low"].to_numpy(),
    }


def surface(post: Posterior, effect: tuple[str, ...]) -> dict[str, Any]:
    """Two features: a grid of posterior means, with the band beside it."""
    table = post.component(effect)
    left, right = (np.unique(table[name]) for name in effect)
    place = np.searchsorted(left, table[effect[0]]), np.searchsorted(right, table[effect[1]])
    grids = {}
    for key, column in (("scores", "mean"), ("upper_bounds", "high"), ("lower_bounds", "low")):
        grids[key] = np.full((len(left), len(right)), np.nan)
        grids[key][place] = table[column]
    return {"type": "interaction", "left_names": left.tolist(), "right_names": right.tolist(), **grids}


def single_rows(
    post: Posterior, X: Any, y: Any, top: int
) -> tuple[dict[str, Any], list[str], list[str], pd.DataFrame]:
    """What the leading effects add at each row."""
    table = post.contributions(X, top=top)
    names = [AND.join(name) if isinstance(name, tuple) else str(name) for name in table.columns]
    cells = dict(zip(post.encoder.input_names, cells_of(post, X).T, strict=True))
    mean = post.predict(X)
    seen = np.full(len(mean), np.nan) if y is None else observed(post, y)
    rows = []
    for i, adds in enumerate(table.to_numpy()):
        values = [cells[name][i] if name in cells else "" for name in names]
        rows.append(
            {
                "type": "univariate",
                "names": names,
                "scores": adds.tolist(),
                "values": values,
                "extra": {"names": ["Intercept"], "scores": [post.intercept_mean], "values": [1]},
                "perf": {
                    "is_classification": False,
                    "actual": seen[i],
                    "predicted": mean[i],
                    "actual_score": seen[i],
                    "predicted_score": mean[i],
                },
            }
        )
    selector = pd.DataFrame(
        {"Actual": seen, "Predicted": mean, "Resid": seen - mean, "AbsResid": np.abs(seen - mean)}
    ).round(3)
    types = ["interaction" if AND in name else "continuous" for name in names]
    return {"overall": None, "specific": rows}, names, types, selector


def observed(post: Posterior, y: Any) -> np.ndarray:
    """Responses as numbers: of two classes, 1 is the second."""
    labels = np.asarray(y)
    if post.classes is not None:
        return np.asarray(labels == post.classes[1], dtype=np.float64)
    return labels.astype(np.float64)
