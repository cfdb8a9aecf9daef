"""Telling the person who waits how far the chains are."""

from __future__ import annotations

import logging
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from raytpnn.chains.monitoring.monitor import Convergence

__all__ = ["ChainStatus", "LineReporter", "Reporter", "TableReporter", "duration", "make_reporter"]

# Seconds between two lines of a log: at first, and at most. In between, a part of the time that has passed.
LINE_SECONDS, MOST_LINE_SECONDS, LINE_SHARE = 2.0, 60.0, 0.05
# What is said is logged too, whoever reports; nothing is shown of it unless logging is set up.
logger = logging.getLogger("raytpnn")
# A line lists chains one by one up to this many.
LISTED_CHAINS = 8
TABLE_SECONDS = 0.25
# Lines of the terminal that the table leaves free for its head and what stands under it.
OTHER_LINES = 5
# Speeds are averages over about this many seconds.
SPEED_SECONDS = 5.0


class ChainStatus(NamedTuple):
    """Where a chain is.

    Its number, sweeps done, terms at present; and, NaN before they are known, its latest log-likelihood and
    the share of its steps of terms that moved them.
    """

    chain: int
    sweeps: int
    terms: int
    loglik: float = math.nan
    acceptance: float = math.nan


class Reporter:
    """Says nothing but to the logger "raytpnn"; the others say more. A context manager around the run.

    Parameters
    ----------
    sweeps, warmup : int
        Of every chain.

    Attributes
    ----------
    when_begun : callable or None
        Called once, without arguments, when the run's folder is there and its chains are about to start.
    """

    def __init__(self, sweeps: int = 0, warmup: int = 0) -> None:
        self.when_begun: Callable[[], None] | None = None
        self.expected = False
        self.until = False
        self.sweeps = sweeps
        self.warmup = warmup
        self.begin = time.monotonic()
        self.first: int | None = None
        self.convergence: Convergence | None = None
        self.spoken = -math.inf

    def expect(self, sweeps: int, warmup: int, until: bool = False) -> None:
        """Learn how long the chains are; the run begins next.

        With `until`, how long they may be: they go on until they have converged.
        """
        self.until = until
        self.sweeps = sweeps
        self.warmup = warmup
        self.expected = True

    def note_begin(self) -> None:
        """Tell whoever wants to know that the run has begun, the first time only."""
        if self.expected and self.when_begun is not None:
            call, self.when_begun = self.when_begun, None
            call()

    def __enter__(self) -> Reporter:
        self.note_begin()
        self.begin = time.monotonic()
        return self

    def __exit__(self, *exception: Any) -> None:
        """End of the run."""

    def say(self, text: str) -> None:
        """Say what is being done that takes time."""
        self.note_begin()
        logger.info("%s", shown(text))

    def update(self, chains: list[ChainStatus], where: str) -> None:
        """Take note of where the chains are."""
        if logger.isEnabledFor(logging.INFO) and self.is_time():
            logger.info("%s", self.line(chains, where))

    def assessed(self, convergence: Convergence) -> None:
        """Take note of R-hat."""
        self.convergence = convergence
        if self.agreement():
            logger.info("%s", self.agreement())

    def conclude(self, headline: Callable[[], str]) -> None:
        """Tell the verdict at the end; it is asked for only if somebody hears it."""
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", headline())

    def is_time(self) -> bool:
        """Whether it is time for another line: at first every two seconds, later less often."""
        now = time.monotonic()
        pause = min(max(LINE_SECONDS, LINE_SHARE * (now - self.begin)), MOST_LINE_SECONDS)
        if now - self.spoken < pause:
            return False
        self.spoken = now
        return True

    def line(self, chains: list[ChainStatus], where: str) -> str:
        """Where the chains are, in a line."""
        left = self.left_in_words(chains)
        most = "at most " if self.until else ""
        return (
            f"sweeps {listed([s.sweeps for s in chains])} of {most}{self.sweeps}, "
            f"terms {listed([s.terms for s in chains])}{f', {left}' if left else ''} [{where}]"
        )

    def stopping(self, reason: str) -> None:
        """Say that the blocks at hand are the last ones."""
        more = "; once more to stop at once, losing these" if reason == "interrupt" else ""
        self.say(f"{reason}: finishing the blocks at hand{more}")

    def time_left(self, chains: list[ChainStatus]) -> float:
        """Seconds to the last draw at the pace so far; NaN before the first sweep."""
        done = sum(status.sweeps for status in chains)
        if self.first is None:
            # A run that is resumed does not begin at nothing.
            self.first = done
        if done == self.first:
            return math.nan
        elapsed = time.monotonic() - self.begin
        return elapsed * (self.sweeps * len(chains) - done) / (done - self.first)

    def left_in_words(self, chains: list[ChainStatus]) -> str:
        """How long it will take; empty before that is known."""
        left = self.time_left(chains)
        if math.isnan(left):
            return ""
        return f"at most {duration(left)}" if self.until else f"{duration(left)} to the last draw"

    def agreement(self) -> str:
        """R-hat and ESS in a few words; empty before they are known."""
        if self.convergence is None or not self.convergence.deciding:
            return ""
        name, worst = self.convergence.worst()
        if math.isnan(worst):
            return ""
        return (
            f"R-hat {worst:.3f} ({name}), least ESS {self.convergence.least_ess():.0f} "
            f"after {self.convergence.draws} draws per chain"
        )


class LineReporter(Reporter):
    """Plain lines, at first every two seconds, later fewer, for logs and pipes."""

    def __enter__(self) -> Reporter:
        if self.until:
            most = f"at most {self.sweeps} sweeps per chain, {self.warmup} or more of them warm-up"
            self.say(f"sampling until the chains agree: {most}")
        else:
            self.say(f"sampling: {self.sweeps} sweeps per chain, {self.warmup} of them warm-up")
        return super().__enter__()

    def say(self, text: str) -> None:
        """Print a line."""
        super().say(text)
        print(shown(text), file=sys.stderr, flush=True)

    def update(self, chains: list[ChainStatus], where: str) -> None:
        """Print a line if it is time."""
        if self.is_time():
            self.say(self.line(chains, where))

    def assessed(self, convergence: Convergence) -> None:
        """Print R-hat."""
        self.convergence = convergence
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

        super().__enter__()
        self.live = Live(console=self.console, auto_refresh=False)
        self.live.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.live.stop()
        self.live = None

    def say(self, text: str) -> None:
        """Print a line above the table."""
        super().say(text)
        # Names of quantities have brackets, which are not meant as markup.
        self.console.print(shown(text), highlight=False, markup=False)

    def update(self, chains: list[ChainStatus], where: str) -> None:
        """Draw the table anew."""
        super().update(chains, where)
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
            table.add_column(heading, justify="right", no_wrap=True)
        room = max(self.console.height - OTHER_LINES, 3)
        shown = chains
        if len(chains) > room:
            # Those that the end is waiting for.
            shown = sorted(sorted(chains, key=lambda status: status.sweeps)[:room])
        for status in shown:
            table.add_row(*self.cells(status))
        left = self.left_in_words(chains)
        words = [left] if left else []
        words += [self.agreement() or "R-hat not known yet", where]
        if len(shown) < len(chains):
            words.insert(0, f"{len(chains) - len(shown)} chains that are further on not shown")
        return Group(table, Text(" · ".join(words)))

    def cells(self, status: ChainStatus) -> tuple[str, ...]:
        """Row of a chain."""
        done = status.sweeps >= self.sweeps
        phase = "done" if done else "warm-up" if status.sweeps < self.warmup else "sampling"
        return (
            str(status.chain),
            phase,
            f"{status.sweeps:,} of {self.sweeps:,}",
            number(self.speeds.get(status.chain, math.nan), ",.0f"),
            str(status.terms),
            number(status.loglik, ",.1f"),
            number(status.acceptance, ".0%"),
        )


def number(value: float, form: str) -> str:
    """Formatted number, or a dash for one that is not known."""
    return "-" if math.isnan(value) else format(value, form)


def listed(values: Sequence[int]) -> str:
    """Values of all chains; of many chains the least and the most."""
    if len(values) <= LISTED_CHAINS:
        return " ".join(str(value) for value in values)
    return f"{min(values)} to {max(values)}"


def duration(seconds: float) -> str:
    """Seconds as a person says them: "42 s", "3 min 20 s", "2 h 05 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def make_reporter(progress: bool | Reporter | None, sweeps: int = 0, warmup: int = 0) -> Reporter:
    """Reporter fit for where it speaks; one that is given is taken as it is, None is a bar in notebooks."""
    from raytpnn.chains.observe.notebook import NotebookReporter, in_notebook

    if isinstance(progress, Reporter):
        return progress
    if progress is not False and in_notebook():
        return NotebookReporter(sweeps, warmup)
    if not progress:
        return Reporter(sweeps, warmup)
    changes_in_place = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    kind = TableReporter if changes_in_place else LineReporter
    return kind(sweeps, warmup)
