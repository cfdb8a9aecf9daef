"""What a person looks at: plots and the HTML page; they need 'raytpnn[report]'.

In: a posterior. Out: matplotlib axes, or one HTML file.

page      One self-contained HTML page about a posterior.
plots     One file for each kind of plot.
html      Pieces of HTML. Whatever is text is escaped here, and nowhere else.
names     Names and numbers as they stand in plots and tables.
plotting  `post.plot`: every plot by a short name.
quality   How good predictions are: leave-one-out on training rows, plain on others.
rows      Rows to look at: those of training, which are kept encoded, or new ones of the user.
svg       Drawings of the page as inline SVG.
verdict   Did the chains converge: the answer of `raytpnn.convergence.advice`, with its reasons.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Where a public name lives, resolved when first used.
_HOMES = {
    "plot_calibration": "raytpnn.report.plots.calibration",
    "plot_effect": "raytpnn.report.plots.effects",
    "plot_importance": "raytpnn.report.plots.importance",
    "plot_interaction": "raytpnn.report.plots.heatmaps",
    "plot_ranks": "raytpnn.report.plots.traces",
    "plot_shapley": "raytpnn.report.plots.shapley",
    "plot_slices": "raytpnn.report.plots.slices",
    "plot_trace": "raytpnn.report.plots.traces",
    "plot_waterfall": "raytpnn.report.plots.waterfall",
    "write_report": "raytpnn.report.page.write",
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
    from raytpnn.report.page.write import write_report
    from raytpnn.report.plots.calibration import plot_calibration
    from raytpnn.report.plots.effects import plot_effect
    from raytpnn.report.plots.heatmaps import plot_interaction
    from raytpnn.report.plots.importance import plot_importance
    from raytpnn.report.plots.shapley import plot_shapley
    from raytpnn.report.plots.slices import plot_slices
    from raytpnn.report.plots.traces import plot_ranks, plot_trace
    from raytpnn.report.plots.waterfall import plot_waterfall


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
