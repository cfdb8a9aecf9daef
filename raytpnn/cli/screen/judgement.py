"""The answer to "did it converge" on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raytpnn.cli.screen.text import tell

if TYPE_CHECKING:
    from raytpnn.convergence.advice import Judgement

__all__ = ["tell_judgement"]


def tell_judgement(console: Any, judgement: Judgement) -> None:
    """Tell whether chains converged, which of them are odd, and what to do."""
    tell(console, "\nDid it converge? " + judgement.headline)
    for odd in judgement.odd:
        what = "is stuck" if odd.kind == "stuck" else "is apart from the others"
        tell(console, f"Chain {odd.chain} {what}: {odd.reason}.")
    if judgement.advice:
        tell(console, "\nWhat to do:")
    for advice in judgement.advice:
        tell(console, f"- {advice}")
