"""Names that the user may have misspelt."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

__all__ = ["did_you_mean"]

FEW = 5
# How alike a name must be to be offered, from 0 to 1.
ALIKE = 0.7


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """End of a sentence about an unknown name: those near it, else the first few that there are."""
    by_lower = {str(other).lower(): str(other) for other in known}
    alike = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=ALIKE)
    near = [by_lower[text] for text in ([name.lower()] if name.lower() in by_lower else alike)]
    if near:
        return "; did you mean " + " or ".join(repr(other) for other in near) + "?"
    listed = ", ".join(repr(str(other)) for other in known[:FEW])
    more = f" and {len(known) - FEW} more" if len(known) > FEW else ""
    return f"; there are {listed}{more}" if known else ""
