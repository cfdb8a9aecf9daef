"""What a person looks at: plots and the HTML page. Plots need matplotlib: pip install 'raytpnn[report]'."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Where a public name lives, resolved when first used.
_HOMES = {
    "plot_calibration": "raytpnn.report.calibration",
    "plot_effect": "raytpnn.report.effects",
    "plot_importance": "raytpnn.report.importance",
    "plot_interaction": "raytpnn.report.heatmaps",
    "plot_ranks": "raytpnn.report.traces",
    "plot_shapley": "raytpnn.report.shapley",
    "plot_slices": "raytpnn.report.slices",
    "plot_trace": "raytpnn.report.traces",
    "plot_waterfall": "raytpnn.report.waterfall",
    "write_report": "raytpnn.report.page",
}

__all__ = [
    "plot_calibration",
    "plot_effect",
    "plot_importance",
    "plot_interaction",
    "plot_ranks",
    "plot_shapley",
    "plot_slices",
    "plot_trace",
    "plot_waterfall",
    "write_report",
]

if TYPE_CHECKING:
    from raytpnn.report.calibration import plot_calibration
    from raytpnn.report.effects import plot_effect
    from raytpnn.report.heatmaps import plot_interaction
    from raytpnn.report.importance import plot_importance
    from raytpnn.report.page import write_report
    from raytpnn.report.shapley import plot_shapley
    from raytpnn.report.slices import plot_slices
    from raytpnn.report.traces import plot_ranks, plot_trace
    from raytpnn.report.waterfall import plot_waterfall


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
