"""Telling the person who waits how far the chains are."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from raytpnn.chains.monitor import Convergence

__all__ = ["ChainStatus", "LineReporter", "Reporter", "TableReporter", "make_reporter"]

LINE_SECONDS = 2.0
TABLE_SECONDS = 0.25
# Speeds are averages over about this many seconds.
SPEED_SECONDS = 5.0


class ChainStatus(NamedTuple):
    """Where a chain is.

    Its number, sweeps done, terms at present; and, NaN before they are known, its latest log-likelihood and
    the share of Langevin steps it accepts.
    """

    chain: int
    sweeps: int
    terms: int
    loglik: float = math.nan
    acceptance: float = math.nan


class Reporter:
    """Says nothing; the others say more. A context manager around the run.

    Parameters
    ----------
    sweeps, warmup : int
        Of every chain.
    """

    def __init__(self, sweeps: int = 0, warmup: int = 0) -> None:
        self.expect(sweeps, warmup)
        self.begin = time.monotonic()
        self.first: int | None = None
        self.convergence: Convergence | None = None

    def expect(self, sweeps: int, warmup: int) -> None:
        """Learn how long the chains are."""
        self.sweeps = sweeps
        self.warmup = warmup

    def __enter__(self) -> Reporter:
        self.begin = time.monotonic()
        return self

    def __exit__(self, *exception: Any) -> None:
        """End of the run."""

    def say(self, text: str) -> None:
        """Say what is being done that takes time."""

    def update(self, chains: list[ChainStatus], where: str) -> None:
        """Take note of where the chains are."""

    def assessed(self, convergence: Convergence) -> None:
        """Take note of R-hat."""
        self.convergence = convergence

    def stopping(self, reason: str) -> None:
        """Say that the blocks at hand are the last ones."""
        more = "; once more to stop at once, losing these" if reason == "interrupt" else ""
        self.say(f"{reason}: finishing the blocks at hand{more}")

    def time_left(self, chains: list[ChainStatus]) -> float:
        """Seconds to go at the pace so far; NaN before the first sweep."""
        done = sum(status.sweeps for status in chains)
        if self.first is None:
            # A run that is resumed does not begin at nothing.
            self.first = done
        if done == self.first:
            return math.nan
        elapsed = time.monotonic() - self.begin
        return elapsed * (self.sweeps * len(chains) - done) / (done - self.first)

    def agreement(self) -> str:
        """R-hat and ESS in a few words; empty before they are known."""
        if self.convergence is None or not self.convergence.rhat:
            return ""
        name, worst = self.convergence.worst()
        return (
            f"R-hat {worst:.3f} ({name}), least ESS {self.convergence.least_ess():.0f} "
            f"after {self.convergence.draws} draws a chain"
        )


class LineReporter(Reporter):
    """A plain line every two seconds, for logs and pipes."""

    spoken = -math.inf

    def __enter__(self) -> Reporter:
        self.say(f"sampling: {self.sweeps} sweeps a chain, {self.warmup} of them warm-up")
        return super().__enter__()

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, file=sys.stderr, flush=True)

    def update(self, chains: list[ChainStatus], where: str) -> None:
        """Print a line if the last one is two seconds old."""
        now = time.monotonic()
        if now - self.spoken < LINE_SECONDS:
            return
        self.spoken = now
        done = " ".join(f"{status.sweeps}" for status in chains)
        terms = " ".join(f"{status.terms}" for status in chains)
        left = self.time_left(chains)
        left_text = "" if math.isnan(left) else f", {left:.0f} s left"
        self.say(f"sweeps {done} of {self.sweeps}, terms {terms}{left_text} [{where}]")

    def assessed(self, convergence: Convergence) -> None:
        """Print R-hat."""
        super().assessed(convergence)
        if self.agreement():
            self.say(self.agreement())


class TableReporter(Reporter):
    """A table that changes in place, for terminals."""

    def __init__(self, sweeps: int = 0, warmup: int = 0) -> None:
        super().__init__(sweeps, warmup)
        from rich.console import Console

        self.console = Console(stderr=True)
        self.live: Any = None
        self.drawn = -math.inf
        self.marks: dict[int, tuple[float, int]] = {}
        self.speeds: dict[int, float] = {}

    def __enter__(self) -> Reporter:
        from rich.live import Live

        self.live = Live(console=self.console, auto_refresh=False)
        self.live.start()
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        self.live.stop()
        self.live = None

    def say(self, text: str) -> None:
        """Print a line above the table."""
        self.console.print(text, highlight=False)

    def update(self, chains: list[ChainStatus], where: str) -> None:
        """Draw the table anew."""
        now = time.monotonic()
        if now - self.drawn < TABLE_SECONDS and any(s.sweeps < self.sweeps for s in chains):
            return
        self.drawn = now
        for status in chains:
            self.clock(status, now)
        self.live.update(self.table(chains, where), refresh=True)

    def clock(self, status: ChainStatus, now: float) -> None:
        """Measure the speed of a chain."""
        then, sweeps = self.marks.setdefault(status.chain, (now, status.sweeps))
        if now - then >= SPEED_SECONDS or (status.chain not in self.speeds and now > then):
            self.speeds[status.chain] = (status.sweeps - sweeps) / (now - then)
            self.marks[status.chain] = (now, status.sweeps)

    def table(self, chains: list[ChainStatus], where: str) -> Any:
        """Table of the chains, and under it what concerns all of them."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("chain", justify="right")
        table.add_column("phase")
        for heading in ("sweep", "sweeps/s", "K", "log-likelihood", "accepted"):
            table.add_column(heading, justify="right")
        for status in chains:
            done = status.sweeps >= self.sweeps
            phase = "done" if done else "warm-up" if status.sweeps < self.warmup else "sampling"
            speed = self.speeds.get(status.chain, math.nan)
            table.add_row(
                str(status.chain),
                phase,
                f"{status.sweeps:,} of {self.sweeps:,}",
                number(speed, ",.0f"),
                str(status.terms),
                number(status.loglik, ",.1f"),
                number(status.acceptance, ".0%"),
            )
        left = self.time_left(chains)
        words = [] if math.isnan(left) else [f"{left:.0f} s left"]
        words += [self.agreement() or "R-hat not known yet", where]
        return Group(table, Text(" · ".join(words)))


def number(value: float, form: str) -> str:
    """Formatted number, or a dash for one that is not known."""
    return "-" if math.isnan(value) else format(value, form)


def make_reporter(progress: bool, sweeps: int = 0, warmup: int = 0) -> Reporter:
    """Reporter fit for where standard error goes."""
    if not progress:
        return Reporter(sweeps, warmup)
    kind = TableReporter if sys.stderr.isatty() else LineReporter
    return kind(sweeps, warmup)
