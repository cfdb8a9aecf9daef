"""How many chains one scheduler can lead: its load, storage traffic and object store, 10 to 1,000 chains.

    python examples/benchmarks/scaling.py                          the table
    python examples/benchmarks/scaling.py --chains 1000 --profile  where the scheduler's time goes

The scheduler, its monitor, its ledger and its side of Ray are the real ones. The workers are stand-ins: a
few processes play all of them, wait as long as a block would take and send the report of a real block,
recorded before, so that two cores can play a thousand. What workers would write is counted, not written.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from chains import boston_rows, config_of, plan_of

from raytpnn import Resources
from raytpnn.chains.executors.ray_gang import READY, Gang
from raytpnn.chains.executors.ray_pool import RayPool
from raytpnn.chains.monitoring.monitor import Monitor
from raytpnn.chains.observe.block_log import BlockLog
from raytpnn.chains.observe.metrics import RunMetrics
from raytpnn.chains.observe.progress import LineReporter
from raytpnn.chains.plan import Length
from raytpnn.chains.run.ledger import new_ledger
from raytpnn.chains.run.run import Run
from raytpnn.chains.schedule.scheduler import Goal, run_blocks
from raytpnn.chains.work.choose_worker import chain_worker
from raytpnn.storage.formats.checkpoint import checkpoint_name, draws_name
from raytpnn.storage.places.place import Place

# Processes that play the workers; each plays many.
PLAYERS = 2
WORKERS_A_NODE = 32
HEADINGS = (
    *("chains", f"nodes of {WORKERS_A_NODE}", "s a block", "scheduler, CPU ms a block", "share of a core"),
    *("last R-hat, CPU s (draws a chain)", "to storage, MB/s (files/s)", "object store, MB"),
    "scheduler's memory, MB more",
)


def record(folder, block_sweeps):
    """Report on a real block that kept draws, and how many bytes its two files have."""
    name, encoder, rows = boston_rows()
    plan = plan_of(rows, Length(1, block_sweeps, block_sweeps, block_sweeps=block_sweeps))
    run = Run.begin(Place(folder), plan, rows, encoder, None, config_of(plan))
    worker = chain_worker(run.plan(run.rows()), run.store)
    _, report = worker.run_blocks([0], [0, 1])
    files = [Path(folder) / file for file in (checkpoint_name(0, 1), draws_name(0, 1))]
    return name, plan, rows, report, [file.stat().st_size for file in files]


@ray.remote(num_cpus=0, max_concurrency=2000)
class Player:
    """Plays many workers: waits as long as blocks would take."""

    def __init__(self, report, seconds):
        self.report = report
        self.seconds = seconds

    async def run_blocks(self, chains, blocks, number):
        (chain,) = chains
        await asyncio.sleep(self.seconds * len(blocks))
        where = {"node": ray.get_runtime_context().get_node_id(), "ip": "", "pid": number, "width": 1}
        sweeps = self.report.sweeps // 2
        return [
            replace(
                self.report,
                chain=chain,
                block=block,
                sweeps=(block + 1) * sweeps,
                seconds=self.seconds,
                where=where,
            )
            for block in blocks
        ]

    async def progress(self):
        return []


class Method:
    """Call of a player's method, as that of one of the workers it plays."""

    def __init__(self, method, *more):
        self.method = method
        self.more = more

    def remote(self, *args):
        return self.method.remote(*args, *self.more)


class Played:
    """Handle of one worker."""

    def __init__(self, player, number):
        self.run_blocks = Method(player.run_blocks, number)
        self.progress = Method(player.progress)


class PlayedGang(Gang):
    """A gang of one worker that is there already."""

    def __init__(self, asked, actor, where):
        self.asked, self.size, self.transport, self.stage = asked, 1, "", READY
        self.actors, self.where, self.waiting, self.answered_calls = [actor], [where], [], []
        self.since = self.answered = time.monotonic()
        self.moved = None, self.since


class PlayedExecutor(RayPool):
    """The real executor, but for where its workers come from."""

    def __init__(self, chains, report, seconds):
        super().__init__("", chains, Resources(workers=chains), LineReporter(), "")
        self.players = [Player.remote(report, seconds) for _ in range(PLAYERS)]
        node = ray.get_runtime_context().get_node_id()
        for number in range(chains):
            where = {"node": node, "ip": "", "pid": number, "width": 1}
            self.gangs[number] = PlayedGang(self.asked, Played(self.players[number % PLAYERS], number), where)

    def close(self):
        for player in self.players:
            ray.kill(player)
        self.gangs, self.tasks, self.questions = {}, {}, {}


class Quiet(LineReporter):
    """Does the work of a reporter, and notes how much there is in the object store."""

    most_stored = looked = 0.0

    def say(self, text):
        pass

    def update(self, chains, where):
        super().update(chains, where)
        if time.monotonic() - self.looked > 1.0:
            self.looked = time.monotonic()
            self.most_stored = max(self.most_stored, stored_megabytes())


class TimedMonitor(Monitor):
    """The real monitor, with the CPU seconds that R-hat takes."""

    cpu = last = 0.0

    def compare(self, per_chain, stopped=lambda: False):
        begin = time.thread_time()
        try:
            return super().compare(per_chain, stopped)
        finally:
            self.last = time.thread_time() - begin
            self.cpu += self.last


def stored_megabytes():
    """What Ray's object store of this node holds."""
    total, free = (
        source().get("object_store_memory", 0.0)
        for source in (ray.cluster_resources, ray.available_resources)
    )
    return (total - free) / 1e6


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def lead(plan, rows, report, chains, blocks, seconds, goal, folder):
    """Lead so many chains for so many blocks; returns the scheduler's figures."""
    step = plan.length.block_sweeps
    length = Length(chains, 0, step * blocks, block_sweeps=step)
    executor = PlayedExecutor(chains, report, seconds)
    monitor = TimedMonitor(chains, rows.bins.names, plan.watched)
    reporter = Quiet(length.sweeps, length.warmup)
    ledger = new_ledger(length)
    observers = [BlockLog(Place(folder), length, reporter, "ray"), RunMetrics(str(folder), length, 0)]
    memory, cpu, begin = peak_megabytes(), time.process_time(), time.monotonic()
    finish = run_blocks(executor, length, ledger, monitor, goal, reporter, None, observers)
    wall = time.monotonic() - begin
    cpu = time.process_time() - cpu
    return {
        "blocks": chains * blocks,
        "wall": wall,
        "a_block": 1e3 * (cpu - monitor.cpu) / (chains * blocks),
        "assessing": monitor.last,
        "draws": 0 if finish.convergence is None else finish.convergence.draws,
        "stored": reporter.most_stored,
        "memory": peak_megabytes() - memory,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chains", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--seconds", type=float, nargs="*", default=[1.0, 10.0], help="that a block takes")
    parser.add_argument("--blocks", type=int, default=6, help="of each chain")
    parser.add_argument("--no-target", action="store_true", help="look at R-hat for display only")
    parser.add_argument("--profile", action="store_true", help="show where the scheduler's time goes")
    options = parser.parse_args()
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=512 * 1024 * 1024,
        logging_level="ERROR",
    )
    with tempfile.TemporaryDirectory() as folder:
        name, plan, rows, report, sizes = record(Path(folder) / "run", 100)
        told = f"checkpoint {sizes[0] / 1e3:.1f} kB, draws {sizes[1] / 1e3:.1f} kB"
        watched = len(report.watched.pack()) / 1e3 / report.watched.n_draws
        print(
            f"{name}; a block is {plan.length.block_sweeps} sweeps: {told}; watched {watched:.1f} kB a draw\n"
        )
        print(f"| {' | '.join(HEADINGS)} |")
        print("|---" * len(HEADINGS) + "|")
        goal = Goal() if options.no_target else Goal(ess=1e12)
        for seconds in options.seconds:
            for chains in options.chains:
                case = plan, rows, report, chains, options.blocks, seconds, goal, Path(folder) / "log"
                with profiled(options.profile):
                    seen = lead(*case)
                rate = chains / seconds
                print(
                    f"| {chains:,} | {-(-chains // WORKERS_A_NODE)} | {seconds:g} | {seen['a_block']:.2f} "
                    f"| {seen['a_block'] * rate / 1e3:.1%} | {seen['assessing']:.1f} ({seen['draws']}) "
                    f"| {rate * sum(sizes) / 1e6:.2f} ({2 * rate:.0f}) | {seen['stored']:.1f} "
                    f"| {seen['memory']:.0f} |",
                    flush=True,
                )
    ray.shutdown()


@contextmanager
def profiled(wanted):
    """Show where the time goes, if that is wanted."""
    import cProfile
    import pstats

    if not wanted:
        yield
        return
    profile = cProfile.Profile()
    with profile:
        yield
    pstats.Stats(profile).sort_stats("cumulative").print_stats(35)


if __name__ == "__main__":
    main()
