"""Names and numbers as they stand in plots and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from raytpnn.families.outputs import OneOutput

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = [
    "TIMES",
    "component_label",
    "latent_unit",
    "number",
    "percent",
    "plot_text",
    "probability",
    "shorten",
    "shorten_all",
]

TIMES = " × "
LONGEST = 22


def shorten(name: str, most: int = LONGEST) -> str:
    """Cut a name to at most `most` characters: what is cut out of the middle becomes an ellipsis.

    Long names of genes and probes differ at both ends, so both are kept. Line breaks become spaces.
    """
    name = " ".join(str(name).split()) or "(blank)"
    if len(name) <= most:
        return name
    tail = (most - 1) // 3
    return name[: most - 1 - tail] + "…" + name[len(name) - tail :]


def shorten_all(names: Sequence[str], most: int = LONGEST) -> list[str]:
    """Shortened names; equal ones are numbered."""
    short = [shorten(name, most) for name in names]
    seen: dict[str, set[str]] = {}
    for name, brief in zip(names, short, strict=True):
        seen.setdefault(brief, set()).add(name)
    ranks = {brief: {name: i for i, name in enumerate(sorted(full), 1)} for brief, full in seen.items()}
    return [
        f"{brief} ({ranks[brief][name]})" if len(seen[brief]) > 1 else brief
        for name, brief in zip(names, short, strict=True)
    ]


def component_label(features: Sequence[str], most: int = LONGEST) -> str:
    """Names of a component's features, shortened, with a times sign between them."""
    each = most if len(features) == 1 else max(8, most * 4 // (3 * len(features)))
    return TIMES.join(shorten(name, each) for name in features)


def plot_text(text: str) -> str:
    """Text that matplotlib does not take for mathematics."""
    return text.replace("$", r"\$")


def number(x: float, digits: int = 3) -> str:
    """Number with some significant digits, without an exponent where possible."""
    if not math.isfinite(x):
        return "–" if math.isnan(x) else ("∞" if x > 0 else "−∞")
    if x == round(x) and abs(x) < 1e7:
        return f"{x:,.0f}".replace("-", "−", 1)
    magnitude = math.floor(math.log10(abs(x)))
    if magnitude >= 7 or magnitude < -4:
        text = f"{x:.{digits - 1}e}"
    else:
        text = f"{x:,.{max(digits - 1 - magnitude, 0)}f}"
    return text.replace("-", "−", 1) if x < 0 else text


def percent(share: float) -> str:
    """Give a share in percent, "<1%" and ">99%" where rounding would say none or all."""
    if math.isnan(share):
        return "–"
    if 0 < share < 0.01:
        return "<1%"
    if 0.99 < share < 1:
        return ">99%"
    return f"{100 * share:.0f}%"


def probability(p: float) -> str:
    """Give a probability to three decimals, "<0.001" and ">0.999" where they would say never or always."""
    if math.isnan(p):
        return "–"
    if p < 0.0005:
        return "<0.001"
    if p > 0.9995:
        return ">0.999"
    return f"{p:.3f}"


def latent_unit(post: Posterior) -> str:
    """Say what f, and every effect, is measured in."""
    if post.family.binary:
        return "log odds"
    if post.family.censored:
        return "log hazard" if post.family.in_intervals else "log time"
    if isinstance(post.family, OneOutput):
        return f"units of output {shorten(post.family.output, 40)}"
    if post.family.discrete:
        return "log of expected count"
    return "units of the response"
