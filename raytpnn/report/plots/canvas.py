"""Where plots are drawn: matplotlib on demand, colours, and an axes that says why it is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "ACCENT",
    "GREY",
    "LINE",
    "NEGATIVE",
    "POSITIVE",
    "RUG",
    "SIMULTANEOUS",
    "WIDTH",
    "chain_colours",
    "matplotlib_module",
    "say_empty",
    "start_axes",
    "start_figure",
]

# Colours that stay apart for colour-blind readers and, as text, keep 4.5 : 1 against white.
LINE = "#1b4f8a"
POINTWISE = "#8fb2d9"
SIMULTANEOUS = "#d6e3f2"
POSITIVE = "#b3460f"
NEGATIVE = "#1b4f8a"
ACCENT = "#b3460f"
GREY = "#595959"
RUG = "#333333"
# Inches: narrow enough to be read on a phone without zooming in.
WIDTH = 4.0


def matplotlib_module() -> Any:
    """Give matplotlib.

    Raises
    ------
    ImportError
        Saying how to install it.
    """
    try:
        import matplotlib
    except ImportError:
        raise ImportError("plots need matplotlib; install it with: pip install 'raytpnn[report]'") from None
    return matplotlib


def start_axes(ax: Axes | None, height: float = 3.0) -> Axes:
    """The given axes, or the axes of a new pyplot figure."""
    matplotlib_module()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]


def start_figure(figure: Figure | SubFigure | None, height: float = 3.0) -> Figure | SubFigure:
    """Give the given figure, or a new one of pyplot."""
    matplotlib_module()
    if figure is not None:
        return figure
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(WIDTH, height), layout="constrained")


def say_empty(ax: Axes, message: str) -> Axes:
    """Write a message instead of a plot."""
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.text(0.5, 0.5, message, ha="center", va="center", transform=ax.transAxes, color=GREY, wrap=True)
    return ax


def chain_colours(n: int) -> list[Any]:
    """Give n colours that can be told apart, dark to light."""
    colormap = matplotlib_module().colormaps["viridis"]
    return [colormap(0.85 * i / max(n - 1, 1)) for i in range(n)]
