"""The coordinator: hands out blocks, watches complete rounds, knows when to stop."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Protocol

from raytpnn.chains.executor import Executor
from raytpnn.chains.interrupts import Interrupts
from raytpnn.chains.monitor import GROWTH, Convergence, Monitor
from raytpnn.chains.plan import Length
from raytpnn.chains.progress import ChainStatus, Reporter
from raytpnn.chains.report import BlockReport

__all__ = ["Finish", "Goal", "Journal", "run_blocks"]

POLL_SECONDS = 0.1
# Seconds of work that a worker is given at a time, in as many blocks as that takes.
BATCH_SECONDS = 0.3
MOST_BLOCKS = 10
# Blocks that a worker with many chains is given at least: while one runs, the draws of the last are written.
WIDE_BLOCKS = 4
# Blocks that a chain may be ahead of the slowest when the run may stop at any round.
LEAD = 2
# Part of the run's time that may go into R-hat that nobody asked to stop by.
DISPLAY_SHARE = 0.02
EXPECTED_ASSESSMENT_SECONDS = 0.3


@dataclass(frozen=True)
class Goal:
    """When to stop before the last draw.

    Attributes
    ----------
    rhat : float or None
        Largest R-hat of any quantity that is watched.
    ess : float or None
        Smallest effective number of draws, all chains together.
    seconds : float or None
    """

    rhat: float | None = None
    ess: float | None = None
    seconds: float | None = None

    @property
    def by_rounds(self) -> bool:
        """Whether a complete round can end the run."""
        return self.rhat is not None or self.ess is not None


@dataclass
class Journal:
    """What is known of every chain.

    Attributes
    ----------
    to_do : list of lists of int
        Blocks that each chain has yet to run, ascending.
    reports : list of dict of int to BlockReport
        By chain and block; those of an earlier session included.
    """

    to_do: list[list[int]]
    reports: list[dict[int, BlockReport]]

    def complete_rounds(self, blocks: int) -> int:
        """Rounds that every chain has finished, from the first on."""
        missing = [chain[0] for chain in self.to_do if chain]
        return min(missing, default=blocks)


class Teacher(Protocol):
    """Learns from complete rounds what later blocks depend on."""

    def ready_for(self, block: int) -> bool:
        """Whether a block may begin."""

    def learn(self, journal: Journal, rounds: int) -> None:
        """Take note that so many rounds are complete."""


@dataclass
class Finish:
    """How a run ended.

    Attributes
    ----------
    rounds : int or None
        Complete rounds that count if a target ended the run; None if all blocks that are there count.
    stopped : str or None
        "target", "time limit", "interrupt" or None if it ran to its end.
    reached : bool or None
        Whether the targets were met; None without targets.
    convergence : Convergence or None
        The last assessment.
    seconds, assessing : float
        Wall time of the run, and of that the time that went into R-hat.
    """

    rounds: int | None = None
    stopped: str | None = None
    reached: bool | None = None
    convergence: Convergence | None = None
    seconds: float = 0.0
    assessing: float = 0.0


class _Run:
    """A run under way."""

    def __init__(
        self,
        executor: Executor,
        length: Length,
        journal: Journal,
        monitor: Monitor,
        goal: Goal,
        reporter: Reporter,
        teacher: Teacher | None,
    ) -> None:
        self.teacher = teacher
        self.executor = executor
        self.length = length
        self.journal = journal
        self.monitor = monitor
        self.goal = goal
        self.reporter = reporter
        self.begin = time.monotonic()
        self.blocks = length.blocks()
        self.rounds = journal.complete_rounds(len(self.blocks))
        self.running: dict[int, list[int]] = {}
        self.block_seconds = math.inf
        self.reported = -math.inf
        self.last_chains: dict[int, list[int]] = {}
        self.looked_at = 0
        self.assessments = 0
        self.finish = Finish()

    def hand_out(self) -> None:
        """Give every idle worker the chain that is furthest behind, or as many such as it runs together."""
        idle = self.executor.idle()
        for place, worker in enumerate(idle):
            chains, blocks = self.next_chains(worker, len(idle) - place)
            if not chains:
                return
            self.executor.submit(worker, chains, blocks)
            self.running[worker] = chains

    def at_work(self) -> set[int]:
        """Chains whose blocks can be expected to end."""
        lost = self.executor.lost()
        return {chain for worker, chains in self.running.items() if worker not in lost for chain in chains}

    def batch(self, chain: int, width: int) -> list[int]:
        """Blocks that a worker is to run at once: several if they are so small that calls would count."""
        least = 1 if width == 1 else WIDE_BLOCKS
        most = max(least, min(int(BATCH_SECONDS / self.block_seconds), MOST_BLOCKS))
        blocks = self.journal.to_do[chain][:most]
        return [block for block in blocks if self.may_begin(block)]

    def next_chains(self, worker: int, sharers: int) -> tuple[list[int], list[int]]:
        """Chains that should go on next, and their blocks: those that the worker knows if there is a choice.

        `sharers` workers are idle, this one included: what is to do is spread over them.
        """
        taken = self.at_work()
        last = self.last_chains.get(worker, [])
        free = sorted(
            (blocks[0], chain not in last, chain)
            for chain, blocks in enumerate(self.journal.to_do)
            if blocks and chain not in taken and self.may_begin(blocks[0])
        )
        if not free:
            return [], []
        width = self.executor.width(worker)
        blocks = self.batch(free[0][2], width)
        # All of them run the same blocks.
        alike = [chain for *_, chain in free if self.journal.to_do[chain][: len(blocks)] == blocks]
        chains = alike[: min(width, -(-len(free) // sharers))]
        self.last_chains[worker] = chains
        return chains, blocks

    def may_begin(self, block: int) -> bool:
        """Whether everything is known that a block depends on, and it will hardly run in vain."""
        if self.goal.by_rounds and block > self.rounds + LEAD:
            return False
        return self.teacher is None or self.teacher.ready_for(block)

    def take(self, seconds: float) -> None:
        """Wait for blocks to end, and take note of them."""
        for outcome in self.executor.wait(seconds):
            self.running.pop(outcome.worker, None)
            for report in outcome.reports:
                self.note(report)
        self.rounds = self.journal.complete_rounds(len(self.blocks))
        if self.teacher is not None:
            self.teacher.learn(self.journal, self.rounds)

    def note(self, report: BlockReport) -> None:
        """Take note of a block; one that was handed out twice ends twice, the same."""
        self.block_seconds = max(report.seconds, 1e-6)
        if report.block in self.journal.to_do[report.chain]:
            self.journal.to_do[report.chain].remove(report.block)
            self.journal.reports[report.chain][report.block] = report
            self.monitor.add(report.chain, report.block, report.watched)

    def look_at_rounds(self) -> None:
        """Assess the latest complete round if it is time; stop there if the targets are met.

        With targets every round from which the draws have grown enough is assessed, in order: whether the
        run stops at a round does not depend on how many more were finished in the meantime.
        """
        if self.goal.by_rounds:
            while (due := self.next_due()) is not None and due <= self.rounds:
                self.assess(due)
                assert self.finish.convergence is not None
                self.finish.reached = self.finish.convergence.reached(
                    self.goal.rhat, self.goal.ess, self.length.chains
                )
                if self.finish.reached:
                    self.finish.stopped = "target"
                    self.finish.rounds = due
                    return
        elif self.rounds > self.looked_at and self.draws_at(self.rounds) and self.affordable():
            self.assess(self.rounds)

    def next_due(self) -> int | None:
        """Next round at which the targets are compared; None after the last."""
        total = len(self.blocks)
        least = max(self.draws_at(self.looked_at) * GROWTH, 1.0)
        due = next((r for r in range(self.looked_at + 1, total + 1) if self.draws_at(r) >= least), total)
        return due if due > self.looked_at else None

    def draws_at(self, rounds: int) -> int:
        """Draws of a chain after so many rounds."""
        return 0 if rounds == 0 else self.length.draws_before(sum(self.blocks[rounds - 1]))

    def affordable(self) -> bool:
        """Whether another R-hat leaves the share of the time that goes into it small."""
        cost = self.finish.assessing / max(self.assessments, 1) or EXPECTED_ASSESSMENT_SECONDS
        return self.finish.assessing + cost < DISPLAY_SHARE * (time.monotonic() - self.begin)

    def assess(self, rounds: int) -> None:
        """R-hat and ESS after so many rounds."""
        begin = time.monotonic()
        self.finish.convergence = self.monitor.assess(rounds - 1)
        self.finish.assessing += time.monotonic() - begin
        self.assessments += 1
        self.looked_at = rounds
        self.reporter.assessed(self.finish.convergence)

    def report(self) -> None:
        """Show where the chains are, now and then."""
        now = time.monotonic()
        if now - self.reported < POLL_SECONDS:
            return
        self.reported = now
        current = self.executor.progress()
        self.reporter.update(
            [self.status(chain, current.get(chain)) for chain in range(self.length.chains)],
            self.executor.describe(),
        )

    def status(self, chain: int, current: tuple[int, int] | None) -> ChainStatus:
        """Where one chain is."""
        reports = self.journal.reports[chain]
        last = reports[max(reports)] if reports else None
        sweeps, terms = current or ((last.sweeps, last.terms) if last else (0, 0))
        if last is None:
            return ChainStatus(chain, sweeps, terms)
        return ChainStatus(chain, sweeps, terms, last.loglik, acceptance(last))


def acceptance(report: BlockReport) -> float:
    """Share of accepted Langevin steps; NaN before the first."""
    proposed, accepted = report.acceptance.get("langevin", (0, 0))
    return accepted / proposed if proposed else float("nan")


def run_blocks(
    executor: Executor,
    length: Length,
    journal: Journal,
    monitor: Monitor,
    goal: Goal,
    reporter: Reporter,
    teacher: Teacher | None = None,
) -> Finish:
    """Run all blocks that are to do, or as many as it takes.

    An interrupt (Ctrl-C, SIGTERM) or the time limit ends the run when the blocks at hand are finished; a
    second interrupt at once, losing these.
    """
    run = _Run(executor, length, journal, monitor, goal, reporter, teacher)
    if teacher is not None:
        teacher.learn(journal, run.rounds)
    with Interrupts() as interrupts, reporter:
        try:
            run.look_at_rounds()
            while any(journal.to_do):
                if run.finish.stopped is None:
                    run.hand_out()
                elif not run.at_work():
                    break
                run.take(POLL_SECONDS)
                run.report()
                if run.finish.stopped is None:
                    run.look_at_rounds()
                if run.finish.stopped is None and any(journal.to_do):
                    if interrupts.count:
                        run.finish.stopped = "interrupt"
                    elif goal.seconds is not None and time.monotonic() - run.begin > goal.seconds:
                        run.finish.stopped = "time limit"
                    if run.finish.stopped is not None:
                        reporter.stopping(run.finish.stopped)
                if interrupts.count > 1 or run.finish.stopped == "target":
                    executor.stop()
                    break
        finally:
            executor.close()
    run.finish.seconds = time.monotonic() - run.begin
    return run.finish
