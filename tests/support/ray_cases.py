"""Ray for tests: started here, stopped by handle."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

from raytpnn.chains.executors.ray_pool import RayPool
from raytpnn.chains.executors.resources import Resources
from raytpnn.chains.monitoring.monitor import Monitor
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.run.ledger import new_ledger
from raytpnn.chains.run.run import Run
from raytpnn.chains.schedule.scheduler import Goal, run_blocks
from raytpnn.storage.places.place import Place

# A dead node is noticed in about two seconds instead of fifteen; one that is slow to answer is not dead.
FAST_HEALTH_CHECKS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_timeout_ms": 10_000,
    "health_check_failure_threshold": 5,
}


@contextmanager
def local_ray(cpus):
    """Be connected to a Ray with so many CPUs, whatever the machine has."""
    import ray

    ray.init(
        address="local",
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100_000_000,
    )
    try:
        yield
    finally:
        ray.shutdown()


class Disturber(Reporter):
    """Does something to the workers, once, when the chains have run for a while.

    Parameters
    ----------
    sweeps : int
        Of all chains together, before it happens.
    act : callable
        Takes the executor. If it returns None, nothing happened yet, and it is called again.
    """

    def __init__(self, sweeps, act):
        super().__init__()
        self.after = sweeps
        self.act = act
        self.executor = None
        self.result = None

    def update(self, chains, where):
        if self.result is None and sum(status.sweeps for status in chains) >= self.after:
            self.result = self.act(self.executor)


def go_on(place, disturber=None, resources=None, workers=0):
    """Run the blocks of a run that has just begun, on the Ray that is connected; returns all reports.

    With `workers`, nothing begins before so many are there: on a busy machine the first may be done before
    the second has come up.
    """
    run = Run.open(Place(place))
    rows = run.rows()
    plan = run.plan(rows)
    reporter = disturber or Reporter()
    executor = RayPool(
        str(place),
        plan.length.chains,
        resources or Resources(),
        reporter,
        run.manifest["versions"]["raytpnn"],
    )
    if disturber is not None:
        disturber.executor = executor
    while len(executor.ready) < workers:
        executor.grow()
        executor.admit(0.1)
    ledger = new_ledger(plan.length)
    monitor = Monitor(plan.length.chains, rows.bins.names, plan.watched)
    finish = run_blocks(executor, plan.length, ledger, monitor, Goal(), reporter)
    run.end({"stopped": finish.stopped}, finish.rounds, ledger.reports)
    return [report for reports in ledger.reports for report in reports.values()]


def kill_worker(executor):
    """SIGKILL a worker that is in the middle of a block; returns its process, None if none is."""
    # Between two blocks a worker dies unnoticed: one must say that it is at work.
    import ray

    for worker in {worker for worker, *_ in executor.tasks.values()}:
        if ray.get(executor.gangs[worker].actors[0].progress.remote()):
            pid = executor.ready[worker]["pid"]
            os.kill(pid, signal.SIGKILL)
            return pid
    return None
