"""The scheduler: hands out blocks, watches complete rounds, knows when to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.executors.base import Executor
from raytpnn.chains.monitoring.assessor import Assessor
from raytpnn.chains.monitoring.monitor import GROWTH, Convergence, Monitor
from raytpnn.chains.observe.observer import Observer
from raytpnn.chains.observe.progress import ChainStatus, Reporter
from raytpnn.chains.plan import Length
from raytpnn.chains.run.ledger import Ledger
from raytpnn.chains.schedule.queue import ChainQueue
from raytpnn.chains.schedule.signals import Interrupts

__all__ = ["Finish", "Goal", "run_blocks"]

POLL_SECONDS = 0.1
# Seconds of work that a worker is given at a time, in as many blocks as that takes.
BATCH_SECONDS = 0.3
MOST_BLOCKS = 10
# Blocks that a worker with many chains is given at least: while one runs, the draws of the last are written.
WIDE_BLOCKS = 4
# The same for every worker there is, if that is more: a thousand that call every second are too many.
BATCH_SECONDS_A_WORKER = 0.003
# Blocks that a chain may be ahead of the slowest when the run may stop at any round.
LEAD = 2
# Part of the run's time that may go into R-hat that nobody asked to stop by.
DISPLAY_SHARE = 0.02
# How long workers that become idle may wait for R-hat, which may end the run.
PATIENCE_SECONDS = 0.5


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

    def failed_by(self, rhat: float, ess_bulk: float, ess_tail: float) -> bool:
        """Whether one quantity is enough to say that the goal is not reached."""
        too_far = self.rhat is not None and not rhat <= self.rhat
        return too_far or (self.ess is not None and not min(ess_bulk, ess_tail) >= self.ess)

    @property
    def by_rounds(self) -> bool:
        """Whether a complete round can end the run."""
        return self.rhat is not None or self.ess is not None


class Learner(Protocol):
    """Learns from complete rounds what later blocks depend on."""

    def ready_for(self, block: int) -> bool:
        """Whether a block may begin."""

    def learn(self, ledger: Ledger, rounds: int) -> None:
        """Take note that so many rounds are complete."""


@dataclass
class Finish:
    """How a run ended.

    Attributes
    ----------
    rounds : int or None
        Complete rounds that count if a target ended the run, or if draws were drawn until it is met; None if
        all blocks that are there count.
    stopped : str or None
        "target", "time limit", "interrupt" or None if it ran to its end.
    reached : bool or None
        Whether the targets were met; None without targets.
    convergence : Convergence or None
        The last assessment.
    assessed : int
        Rounds that it was of.
    seconds, assessing : float
        Wall time of the run, and of that the time that went into R-hat.
    """

    rounds: int | None = None
    stopped: str | None = None
    reached: bool | None = None
    convergence: Convergence | None = None
    assessed: int = 0
    seconds: float = 0.0
    assessing: float = 0.0


class _Run:
    """A run under way."""

    def __init__(
        self,
        executor: Executor,
        length: Length,
        ledger: Ledger,
        monitor: Monitor,
        goal: Goal,
        reporter: Reporter,
        learner: Learner | None,
        observers: Sequence[Observer],
    ) -> None:
        self.learner = learner
        self.observers = observers
        self.executor = executor
        self.length = length
        self.ledger = ledger
        self.monitor = monitor
        self.assessor = Assessor(monitor)
        self.goal = goal
        if goal.by_rounds:
            monitor.fails = goal.failed_by
        self.reporter = reporter
        self.begin = time.monotonic()
        self.blocks = length.blocks()
        self.rounds = ledger.complete_rounds(len(self.blocks))
        self.running: dict[int, list[int]] = {}
        self.block_seconds = math.inf
        self.reported = -math.inf
        self.last_chains: dict[int, list[int]] = {}
        # Of every chain the report on its furthest block: going through all of them takes too long.
        self.latest = [reports[max(reports)] if reports else None for reports in ledger.reports]
        self.looked_at = 0
        self.known_due: tuple[int, int | None] = (-1, None)
        self.looks: list[int] = []
        if length.until:
            # Fewer draws in all than effective ones are wanted need no look.
            looks = length.looks((goal.ess or 0.0) / length.chains)
            self.looks = [at for at in looks if at >= ledger.least_rounds]
        self.finish = Finish()

    def hand_out(self) -> None:
        """Give every idle worker the chain furthest behind, or as many such as it runs together."""
        idle = self.executor.idle()
        if not idle:
            return
        turns = self.turns()
        for place, worker in enumerate(idle):
            # Chains that the worker knows, if there is a choice; the work is spread over all that are idle.
            preferred = self.last_chains.get(worker, [])
            width = min(self.executor.width(worker), -(-turns.waiting // (len(idle) - place)))
            first = turns.take(preferred)
            if first is None:
                return
            blocks = self.batch(first, width)
            chains = [first, *turns.take_more(preferred, width - 1, partial(self.has_next, blocks))]
            self.last_chains[worker] = self.running[worker] = chains
            self.executor.submit(worker, chains, blocks)

    def has_next(self, blocks: list[int], chain: int) -> bool:
        """Whether these are the next blocks of a chain."""
        return self.ledger.to_do[chain][: len(blocks)] == blocks

    def turns(self) -> ChainQueue:
        """Chains that may go on and are not at work."""
        taken = self.at_work()
        return ChainQueue(
            (blocks[0], chain)
            for chain, blocks in enumerate(self.ledger.to_do)
            if blocks and chain not in taken and self.may_begin(blocks[0])
        )

    def at_work(self) -> set[int]:
        """Chains whose blocks can be expected to end."""
        lost = self.executor.lost()
        return {chain for worker, chains in self.running.items() if worker not in lost for chain in chains}

    def batch(self, chain: int, width: int) -> list[int]:
        """Blocks that a worker is to run at once: several if they are so small that calls would count."""
        least = 1 if width == 1 else WIDE_BLOCKS
        seconds = max(BATCH_SECONDS, BATCH_SECONDS_A_WORKER * len(self.last_chains))
        most = max(least, min(int(seconds / self.block_seconds), MOST_BLOCKS))
        blocks = self.ledger.to_do[chain][:most]
        return [block for block in blocks if self.may_begin(block)]

    def may_begin(self, block: int) -> bool:
        """Whether everything is known that a block depends on, and it will hardly run in vain."""
        if self.goal.by_rounds and block > max(self.rounds, self.next_due() or 0) + LEAD:
            return False
        return self.learner is None or self.learner.ready_for(block)

    def take(self, seconds: float) -> None:
        """Wait for blocks to end, and take note of them."""
        for completed in self.executor.wait(seconds):
            self.running.pop(completed.worker, None)
            for report in completed.reports:
                self.note(completed.worker, report)
        self.rounds = self.ledger.complete_rounds(len(self.blocks))
        if self.learner is not None:
            self.learner.learn(self.ledger, self.rounds)

    def note(self, worker: int, report: BlockReport) -> None:
        """Take note of a block; one that was handed out twice ends twice, the same."""
        # One that a worker found finished took no time that says anything.
        if not math.isnan(report.seconds):
            self.block_seconds = max(report.seconds, 1e-6)
        if report.block in self.ledger.to_do[report.chain]:
            self.ledger.to_do[report.chain].remove(report.block)
            self.ledger.reports[report.chain][report.block] = report
            latest = self.latest[report.chain]
            if latest is None or latest.block < report.block:
                self.latest[report.chain] = report
            self.monitor.add(report.chain, report.block, report.watched)
            for observer in self.observers:
                observer.block(worker, report)

    def look_at_rounds(self) -> None:
        """Assess the latest complete round if it is time; stop there if the targets are met.

        With targets every round from which the draws have grown enough is assessed, in order: whether the
        run stops at a round does not depend on how many more were finished in the meantime. What takes longer
        than the patience goes on beside the blocks.
        """
        while self.finish.stopped is None:
            if not self.assessor.busy:
                due = self.due()
                if due is None:
                    return
                self.assessor.begin(due)
                self.looked_at = due
                self.forget(due)
            patience = self.assessor.begun + PATIENCE_SECONDS - time.monotonic()
            if not self.take_assessment(max(patience, 0.0)):
                return

    def forget(self, rounds: int) -> None:
        """Forget what was watched of draws that do not count after so many rounds, nor after more."""
        if self.length.until:
            warmup = self.length.counted(self.length.sweeps_of(rounds)).warmup
            blocks = warmup // self.length.block_sweeps
            self.monitor.forget(blocks)
            for reports in self.ledger.reports:
                for block, report in reports.items():
                    if block < blocks and report.watched is not None:
                        reports[block] = replace(report, watched=None)

    def due(self) -> int | None:
        """Round that is to be looked at now; None if there is none."""
        if self.goal.by_rounds:
            due = self.next_due()
            return due if due is not None and due <= self.rounds else None
        draws = self.draws_at(self.rounds)
        return self.rounds if self.rounds > self.looked_at and draws and self.affordable(draws) else None

    def take_assessment(self, seconds: float) -> bool:
        """Take note of R-hat if it is known within some seconds; stop if the targets are met."""
        found = self.assessor.result(seconds)
        if found is None:
            return False
        self.finish.convergence = found.convergence
        self.finish.assessed = found.rounds
        self.finish.assessing = self.assessor.seconds
        self.reporter.assessed(found.convergence)
        for observer in self.observers:
            observer.assessed(found.convergence)
        if self.goal.by_rounds:
            self.finish.reached = found.convergence.reached(self.goal.rhat, self.goal.ess, self.length.chains)
            if self.finish.reached:
                self.finish.stopped = "target"
                self.finish.rounds = found.rounds
        return True

    def look_at_the_end(self, interrupts: Interrupts) -> None:
        """Compare the rounds that are left with the targets, however long that takes, unless interrupted."""
        while self.finish.stopped is None and not interrupts.count:
            self.look_at_rounds()
            if not self.assessor.busy:
                return
            self.take_assessment(POLL_SECONDS)

    def next_due(self) -> int | None:
        """Next round at which the targets are compared; None after the last."""
        if self.known_due[0] != self.looked_at:
            self.known_due = self.looked_at, self.due_after(self.looked_at)
        return self.known_due[1]

    def due_after(self, looked_at: int) -> int | None:
        """Round at which the targets are compared after they were at another; None after the last."""
        if self.length.until:
            return next((at for at in self.looks if at > looked_at), None)
        total = len(self.blocks)
        least = max(self.draws_at(looked_at) * GROWTH, 1.0)
        due = next((r for r in range(looked_at + 1, total + 1) if self.draws_at(r) >= least), total)
        return due if due > looked_at else None

    def draws_at(self, rounds: int) -> int:
        """Draws of a chain after so many rounds."""
        return self.length.draws_after(rounds)

    def affordable(self, draws: int) -> bool:
        """Whether R-hat of so many draws leaves the share of the time that goes into it small."""
        spent = self.finish.assessing + self.assessor.cost(draws)
        return spent < DISPLAY_SHARE * (time.monotonic() - self.begin)

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
        for observer in self.observers:
            observer.tick()

    def status(self, chain: int, current: tuple[int, int] | None) -> ChainStatus:
        """Where one chain is."""
        last = self.latest[chain]
        sweeps, terms = current or ((last.sweeps, last.terms) if last else (0, 0))
        if last is None:
            return ChainStatus(chain, sweeps, terms)
        return ChainStatus(chain, sweeps, terms, last.loglik, acceptance(last))


def acceptance(report: BlockReport) -> float:
    """Share of refitted factors, or of Langevin steps, that were accepted; NaN before the first."""
    moves = [report.acceptance.get(move, (0, 0)) for move in ("factor", "langevin")]
    proposed, accepted = (sum(counts) for counts in zip(*moves, strict=True))
    return accepted / proposed if proposed else float("nan")


def run_blocks(
    executor: Executor,
    length: Length,
    ledger: Ledger,
    monitor: Monitor,
    goal: Goal,
    reporter: Reporter,
    learner: Learner | None = None,
    observers: Sequence[Observer] = (),
) -> Finish:
    """Run all blocks that are to do, or as many as it takes.

    An interrupt (Ctrl-C, SIGTERM) or the time limit ends the run when the blocks at hand are finished; a
    second interrupt at once, losing these.
    """
    run = _Run(executor, length, ledger, monitor, goal, reporter, learner, observers)
    if learner is not None:
        learner.learn(ledger, run.rounds)
    with Interrupts() as interrupts, ExitStack() as stack, reporter:
        for observer in observers:
            stack.enter_context(observer)
        try:
            run.look_at_rounds()
            while any(ledger.to_do):
                if run.finish.stopped is None:
                    run.hand_out()
                elif not run.at_work():
                    break
                run.take(POLL_SECONDS)
                run.report()
                if run.finish.stopped is None:
                    run.look_at_rounds()
                if run.finish.stopped is None and any(ledger.to_do):
                    if interrupts.count:
                        run.finish.stopped = "interrupt"
                    elif goal.seconds is not None and time.monotonic() - run.begin > goal.seconds:
                        run.finish.stopped = "time limit"
                    if run.finish.stopped is not None:
                        reporter.stopping(run.finish.stopped)
                if interrupts.count > 1 or run.finish.stopped == "target":
                    executor.stop()
                    break
            if goal.by_rounds:
                run.look_at_the_end(interrupts)
        finally:
            run.assessor.cancel()
            executor.close()
    run.finish.seconds = time.monotonic() - run.begin
    if length.until and run.finish.rounds is None:
        run.finish.rounds = run.rounds
    return run.finish
