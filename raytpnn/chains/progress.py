"""Telling the person who waits how far the chains are."""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

__all__ = ["ChainStatus", "LineReporter", "Reporter", "TableReporter", "make_reporter"]

LINE_SECONDS = 2.0


class ChainStatus(NamedTuple):
    """Where a chain is: its number, sweeps done, terms at present, latest log-likelihood or NaN."""

    chain: int
    sweeps: int
    terms: int
    loglik: float


class Reporter:
    """Says nothing; the others say more. A context manager around the run."""

    def __init__(self, sweeps: int, warmup: int) -> None:
        self.sweeps = sweeps
        self.warmup = warmup
        self.begin = time.monotonic()

    def __enter__(self) -> Reporter:
        self.begin = time.monotonic()
        return self

    def __exit__(self, *exception: Any) -> None:
        """End of the run."""

    def update(self, chains: list[ChainStatus]) -> None:
        """Take note of where the chains are."""

    def time_left(self, chains: list[ChainStatus]) -> float:
        """Seconds to go at the pace so far; NaN before the first sweep."""
        done = sum(status.sweeps for status in chains)
        if done == 0:
            return float("nan")
        elapsed = time.monotonic() - self.begin
        return elapsed * (self.sweeps * len(chains) - done) / done


class LineReporter(Reporter):
    """A plain line every two seconds, for logs and pipes."""

    def __init__(self, sweeps: int, warmup: int) -> None:
        super().__init__(sweeps, warmup)
        self.spoken = float("-inf")

    def __enter__(self) -> Reporter:
        print(f"sampling: {self.sweeps} sweeps a chain, {self.warmup} of them warm-up", file=sys.stderr)
        return super().__enter__()

    def update(self, chains: list[ChainStatus]) -> None:
        """Print a line if the last one is two seconds old."""
        now = time.monotonic()
        if now - self.spoken >= LINE_SECONDS:
            self.spoken = now
            self._say(chains)

    def _say(self, chains: list[ChainStatus]) -> None:
        done = " ".join(f"{status.sweeps}" for status in chains)
        terms = " ".join(f"{status.terms}" for status in chains)
        left = self.time_left(chains)
        left_text = "" if left != left else f", {left:.0f} s left"
        print(f"sweeps {done} of {self.sweeps}, terms {terms}{left_text}", file=sys.stderr, flush=True)


class TableReporter(Reporter):
    """A bar a chain, for terminals."""

    def __enter__(self) -> Reporter:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.bars = Progress(
            TextColumn("chain {task.fields[chain]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[phase]:8}"),
            TextColumn("{task.fields[terms]:>3} terms"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.bars.start()
        self.tasks: dict[int, Any] = {}
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        self.bars.stop()

    def update(self, chains: list[ChainStatus]) -> None:
        """Move the bars."""
        for status in chains:
            if status.chain not in self.tasks:
                self.tasks[status.chain] = self.bars.add_task(
                    "", total=self.sweeps, chain=status.chain, phase="warm-up", terms=0
                )
            phase = "warm-up" if status.sweeps < self.warmup else "sampling"
            self.bars.update(
                self.tasks[status.chain], completed=status.sweeps, phase=phase, terms=status.terms
            )


def make_reporter(progress: bool, sweeps: int, warmup: int) -> Reporter:
    """Reporter fit for where standard error goes."""
    if not progress:
        return Reporter(sweeps, warmup)
    kind = TableReporter if sys.stderr.isatty() else LineReporter
    return kind(sweeps, warmup)
