"""`post.plot`: every plot by a short name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["Plots"]


class Plots:
    """Plots of a posterior, by matplotlib (extra `report`).

    Parameters
    ----------
    post : Posterior
    """

    def __init__(self, post: Posterior) -> None:
        self.post = post

    def __repr__(self) -> str:
        names = [name for name in dir(self) if not name.startswith("_") and name != "post"]
        return f"post.plot has: {', '.join(names)}"

    def effect(self, *features: Any, ax: Any = None, **options: Any) -> Any:
        """Draw an effect: a curve of one feature, a map of two, maps of three.

        Parameters
        ----------
        *features : str or tuple of str
            A name, several names, or a tuple as `components()` has it: `effect("bmi")`,
            `effect("bmi", "bp")`, `effect(("bmi", "bp"))`.
        ax : Axes, optional
            For one and two features; for three give `figure=`.
        **options
            Those of `plot_effect`, `plot_interaction` or `plot_slices`.
        """
        from raytpnn.report.plots.effects import plot_effect
        from raytpnn.report.plots.heatmaps import plot_interaction
        from raytpnn.report.plots.slices import plot_slices

        names = (
            tuple(features[0]) if len(features) == 1 and isinstance(features[0], (tuple, list)) else features
        )
        if len(names) == 1:
            return plot_effect(self.post, names[0], ax, **options)
        if len(names) == 2:
            return plot_interaction(self.post, names, ax, **options)
        if len(names) == 3:
            return plot_slices(self.post, names, **options)
        raise ValueError(
            f"an effect of one, two or three features can be drawn, not of {len(names)}: {names!r}"
        )

    def importance(self, *arguments: Any, **options: Any) -> Any:
        """Draw the leading effects as bars. See `raytpnn.report.plot_importance`."""
        from raytpnn.report.plots.importance import plot_importance

        return plot_importance(self.post, *arguments, **options)

    def calibration(self, *arguments: Any, **options: Any) -> Any:
        """Draw what was promised beside what was seen. See `raytpnn.report.plot_calibration`."""
        from raytpnn.report.plots.calibration import plot_calibration

        return plot_calibration(self.post, *arguments, **options)

    def shapley(self, *arguments: Any, **options: Any) -> Any:
        """Draw Shapley values of rows. See `raytpnn.report.plot_shapley`."""
        from raytpnn.report.plots.shapley import plot_shapley

        return plot_shapley(self.post, *arguments, **options)

    def row(self, *arguments: Any, **options: Any) -> Any:
        """Draw how effects add up at a row. See `raytpnn.report.plot_waterfall`."""
        from raytpnn.report.plots.waterfall import plot_waterfall

        return plot_waterfall(self.post, *arguments, **options)

    def trace(self, *arguments: Any, **options: Any) -> Any:
        """Draw scalars over the draws. See `raytpnn.report.plot_trace`."""
        from raytpnn.report.plots.traces import plot_trace

        return plot_trace(self.post, *arguments, **options)

    def ranks(self, *arguments: Any, **options: Any) -> Any:
        """Draw ranks of scalars. See `raytpnn.report.plot_ranks`."""
        from raytpnn.report.plots.traces import plot_ranks

        return plot_ranks(self.post, *arguments, **options)
