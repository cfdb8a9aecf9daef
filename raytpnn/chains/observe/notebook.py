"""A bar in notebooks: how far the chains are, R-hat, the time left, and the verdict at the end."""

from __future__ import annotations

import math
import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any

from raytpnn.chains.observe.progress import Reporter, duration
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from raytpnn.chains.monitoring.monitor import Convergence
    from raytpnn.chains.observe.progress import ChainStatus

__all__ = ["NotebookReporter", "in_notebook"]

# Seconds between two pictures of the bar.
BAR_SECONDS = 0.5


def in_notebook() -> bool:
    """Whether this is a notebook, whose kernel shows HTML."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class NotebookReporter(Reporter):
    """One bar that changes in place; what was said last stands under it."""

    def __init__(self, sweeps: int = 0, warmup: int = 0) -> None:
        super().__init__(sweeps, warmup)
        self.drawn = -math.inf
        self.handle: Any = None
        self.share, self.words, self.last = 0.0, "", ""

    def say(self, text: str) -> None:
        """Put a line under the bar."""
        super().say(text)
        self.last = shown(text)
        self.draw()

    def update(self, chains: list[ChainStatus], where: str) -> None:
        """Move the bar."""
        super().update(chains, where)
        now = time.monotonic()
        if now - self.drawn < BAR_SECONDS:
            return
        self.drawn = now
        done, most = sum(status.sweeps for status in chains), self.sweeps * max(len(chains), 1)
        self.share = done / most if most else 0.0
        warm = all(status.sweeps < self.warmup for status in chains)
        words = [
            "warm-up" if warm else "sampling",
            f"{done:,} of {'at most ' if self.until else ''}{most:,} sweeps",
        ]
        words += [
            part for part in (self.left_in_words(chains), self.agreement() or "R-hat not known yet") if part
        ]
        self.words = " · ".join([*words, where])
        self.draw()

    def assessed(self, convergence: Convergence) -> None:
        """Take note of R-hat, and draw at once."""
        super().assessed(convergence)
        self.drawn = -math.inf

    def conclude(self, headline: Callable[[], str]) -> None:
        """Put the verdict in the place of the bar."""
        text = headline()
        super().conclude(lambda: text)
        self.show(f"<p>{escape(text)} ({duration(time.monotonic() - self.begin)})</p>")

    def draw(self) -> None:
        """Show the bar as it is."""
        look = f'max="1" value="{self.share:.4f}" style="width: 20em" aria-label="sweeps done"'
        bar = f"<progress {look}></progress> " if self.words else ""
        last = f"<br><small>{escape(self.last)}</small>" if self.last else ""
        self.show(f"<p>{bar}{escape(self.words)}{last}</p>")

    def show(self, html: str) -> None:
        """Show HTML in the place of what was there."""
        from IPython.display import HTML, display

        if self.handle is None:
            self.handle = display(HTML(html), display_id=True)
        else:
            self.handle.update(HTML(html))
