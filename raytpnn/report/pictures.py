"""Figures as text to put into a page."""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

from raytpnn.report.plots.canvas import WIDTH, matplotlib_module

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["picture"]

STYLE = {
    "font.size": 9.0,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Text stays text: smaller, and a browser has glyphs that matplotlib's font lacks.
    "svg.fonttype": "none",
    "svg.hashsalt": "raytpnn",
    "savefig.dpi": 150,
}


def picture(draw: Callable[[Figure], object], height: float) -> str:
    """Draw a figure and give it as a data: URI of SVG; dense layers in it are bitmaps.

    Parameters
    ----------
    draw : callable
        Draws on the empty figure it is given. No pyplot, so that no window and no memory stays behind.
    height : float
        Inches.
    """
    mpl = matplotlib_module()
    from matplotlib.figure import Figure

    with (
        mpl.rc_context({**mpl.rcParamsDefault, **STYLE, "backend": mpl.get_backend()}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        stream = BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return "data:image/svg+xml;base64," + b64encode(stream.getvalue()).decode("ascii")
