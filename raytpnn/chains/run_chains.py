"""A run from its first block, or the first that is missing, to its end, on threads or on Ray."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from raytpnn.chains.executors.base import Executor
from raytpnn.chains.executors.ray_session import RaySession
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.executors.sharding import Sharding
from raytpnn.chains.executors.threads import ThreadExecutor
from raytpnn.chains.monitoring.monitor import Monitor
from raytpnn.chains.observe.block_log import BlockLog
from raytpnn.chains.observe.observer import Observer
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.plan import Plan
from raytpnn.chains.run.ledger import Ledger
from raytpnn.chains.run.ownership import OwnerCheck
from raytpnn.chains.run.run import resumable
from raytpnn.chains.run.store import RunStore
from raytpnn.chains.schedule.scheduler import Finish, Goal, Learner, run_blocks
from raytpnn.chains.work.adaptive_weights import WeightLearner
from raytpnn.chains.work.learned_sets import SetLearner
from raytpnn.chains.work.replica_parts import ReplicaParts
from raytpnn.chains.work.strategy import Extent
from raytpnn.forward.probe import compile_sizes

__all__ = ["RunSetup", "connected", "run_chains"]

# Draws of all chains below which there is no verdict but that they are too few.
FEWEST_DRAWS = 100


@dataclass(frozen=True)
class RunSetup:
    """How to run the chains; none of it changes a draw.

    Attributes
    ----------
    executor : {"threads", "ray"}
    address : str or None
    resources : Resources
    sharding : Sharding or None
        On Ray, if rows of a chain are in shards.
    goal : Goal
    reporter : Reporter
    """

    executor: str = "threads"
    address: str | None = None
    resources: Resources = field(default_factory=Resources)
    sharding: Sharding | None = None
    goal: Goal = field(default_factory=Goal)
    reporter: Reporter = field(default_factory=Reporter)

    @property
    def on_ray(self) -> bool:
        """Whether blocks run on Ray."""
        return self.executor == "ray"


def run_chains(plan: Plan, run: RunStore, ledger: Ledger, names: Sequence[str], setup: RunSetup) -> Finish:
    """Run what is to do.

    Parameters
    ----------
    plan : Plan
    run : RunStore
        Where blocks go; Ray needs a run on disk.
    ledger : Ledger
    names : sequence of str
        Of the features.
    setup : RunSetup
    """
    length = plan.length
    monitor = Monitor(length.chains, names, plan.watched, length)
    for chain, reports in enumerate(ledger.reports):
        for block, report in reports.items():
            monitor.add(chain, block, report.watched)
    if not any(ledger.to_do):
        every = len(length.blocks())
        return concluded(Finish(rounds=every if length.until else None), monitor, every, setup.goal)
    executor = make_executor(plan, run, setup)
    learner: Learner | None = None
    if plan.screened:
        learner = SetLearner(plan, run.store, setup.reporter.say)
    elif plan.adaptive:
        learner = WeightLearner(length, run.store, len(plan.problem.codes))
    observers = make_observers(plan, run, ledger, setup)
    with resumable(run.place):
        finish = run_blocks(executor, length, ledger, monitor, setup.goal, setup.reporter, learner, observers)
    rounds = finish.rounds
    if rounds is None:
        rounds = ledger.complete_rounds(len(length.blocks()))
    return concluded(finish, monitor, rounds, setup.goal)


def concluded(finish: Finish, monitor: Monitor, rounds: int, goal: Goal) -> Finish:
    """How a run ended, with the verdict on the rounds that all chains have.

    Of too few draws to tell nothing is computed.
    """
    last = finish.convergence
    if last is not None and last.complete and finish.assessed == rounds:
        return finish
    begin = time.monotonic()
    draws = sum(part.n_draws for part in monitor.blocks_up_to(rounds - 1)[0])
    finish.convergence = monitor.assess(rounds - 1) if draws * monitor.chains >= FEWEST_DRAWS else None
    finish.assessed = rounds
    finish.assessing += time.monotonic() - begin
    if goal.by_rounds and finish.convergence is not None:
        finish.reached = finish.convergence.reached(goal.rhat, goal.ess, monitor.chains)
    elif goal.by_rounds:
        finish.reached = False
    return finish


def make_observers(plan: Plan, run: RunStore, ledger: Ledger, setup: RunSetup) -> list[Observer]:
    """Those who look on: the log of a run on disk, and figures for Prometheus where there is Ray."""
    if run.place is None:
        return []
    observers: list[Observer] = [BlockLog(run.place, plan.length, setup.reporter, setup.executor)]
    if run.lease is not None:
        observers.append(OwnerCheck(run.lease))
    if setup.on_ray:
        from raytpnn.chains.observe.metrics import RunMetrics

        done = sum(len(reports) for reports in ledger.reports)
        observers.append(RunMetrics(str(run.place), plan.length, done))
    return observers


def connected(setup: RunSetup) -> AbstractContextManager[Any]:
    """Connect to Ray if chains are to run there: what is wrong with it shows before anything is written."""
    if not setup.on_ray:
        return nullcontext()
    return RaySession(setup.address, setup.resources, setup.reporter, setup.sharding)


def make_executor(plan: Plan, run: RunStore, setup: RunSetup) -> Executor:
    """Workers for a run; those on Ray need it connected."""
    if not setup.on_ray:
        return ThreadExecutor(plan, run.store)
    assert run.place is not None, "workers on Ray meet in the run's folder"
    from importlib.metadata import version

    from raytpnn.engine.precompile import compile_all

    if plan.backend not in ("reference", "cuda") or (plan.backend == "cuda" and plan.shards > 1):
        # Else every worker would compile for itself.
        compile_all()
        if plan.probe is not None:
            compile_sizes(plan.probe)
        if plan.tempering is not None:
            ensemble = plan.new_chain()
            ensemble.run(0, 1, 1, 1)
            if plan.spread:
                ReplicaParts(plan).run_part(ensemble.checkpoint(), Extent(plan.problem, 0, 1, 1, 1), 0)
    from raytpnn.chains.executors.ray_pool import RayPool
    from raytpnn.chains.executors.ray_replicas import SpreadExecutor

    if setup.sharding is not None:
        from raytpnn.engine.exchange.meeting import compile_meeting

        compile_meeting()
    fence = None if run.lease is None else run.lease.fence
    asked = setup.resources, setup.reporter, version("raytpnn"), fence
    if plan.tempering is not None and plan.spread:
        return SpreadExecutor(run.place.uri, plan.length.chains, plan.tempering.replicas, *asked)
    return RayPool(run.place.uri, plan.length.chains, *asked, setup.sharding)
