"""How many chains one coordinator can lead: its load, storage traffic and object store, 10 to 1,000 chains.

    python examples/benchmarks/scaling.py            the table
    python examples/benchmarks/scaling.py --profile  where the coordinator's time goes at the most chains

The coordinator, its monitor, its journal and its side of Ray are the real ones. The workers are stand-ins: a
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
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from chains import boston_rows, plan_of

from raytpnn import Resources
from raytpnn.chains.conduct import empty_journal
from raytpnn.chains.coordinator import Goal, run_blocks
from raytpnn.chains.host import ChainHost
from raytpnn.chains.monitor import Monitor
from raytpnn.chains.plan import Length
from raytpnn.chains.progress import LineReporter
from raytpnn.chains.ray_executor import RayExecutor
from raytpnn.chains.run import Run
from raytpnn.storage.checkpoint import checkpoint_name, draws_name
from raytpnn.storage.place import Place

# Processes that play the workers; each plays many.
PLAYERS = 2
WORKERS_A_NODE = 32


def record(folder, block_sweeps):
    """Report on a real block that kept draws, and how many bytes its two files have."""
    name, encoder, rows = boston_rows()
    plan = plan_of(rows, Length(1, block_sweeps, block_sweeps, block_sweeps=block_sweeps))
    run = Run.begin(Place(folder), plan, rows, encoder, None, {"prior": {}, "moves": {}})
    host = ChainHost(run.plan(run.rows()), run.store)
    host.run_block(0, 0)
    report = host.run_block(0, 1)
    files = [Path(folder) / file for file in (checkpoint_name(0, 1), draws_name(0, 1))]
    return name, plan, rows, report, [file.stat().st_size for file in files]


@ray.remote(num_cpus=0, max_concurrency=2000)
class Player:
    """Plays many workers: waits as long as blocks would take."""

    def __init__(self, report, seconds):
        self.report = report
        self.seconds = seconds

    async def run_blocks(self, chain, blocks, number):
        await asyncio.sleep(self.seconds * len(blocks))
        where = {"node": ray.get_runtime_context().get_node_id(), "ip": "", "pid": number}
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
        return None


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


class PlayedExecutor(RayExecutor):
    """The real executor, but for where its workers come from."""

    def __init__(self, chains, report, seconds):
        super().__init__("", chains, Resources(workers=chains), LineReporter(), "")
        self.players = [Player.remote(report, seconds) for _ in range(PLAYERS)]
        node = ray.get_runtime_context().get_node_id()
        for number in range(chains):
            self.workers.append(Played(self.players[number % PLAYERS], number))
            self.ready[number] = {"node": node, "ip": "", "pid": number}

    def close(self):
        for player in self.players:
            ray.kill(player)
        self.workers, self.ready, self.tasks = [], {}, {}


class Quiet(LineReporter):
    """Does the work of a reporter, and notes how much there is in the object store."""

    most_stored = 0.0
    looked = 0.0

    def say(self, text):
        pass

    def update(self, chains, where):
        super().update(chains, where)
        if time.monotonic() - self.looked > 2.0:
            self.looked = time.monotonic()
            self.most_stored = max(self.most_stored, stored_megabytes())


def stored_megabytes():
    """What Ray's object store of this node holds."""
    total, free = (
        source().get("object_store_memory", 0.0)
        for source in (ray.cluster_resources, ray.available_resources)
    )
    return (total - free) / 1e6


def lead(plan, rows, report, chains, blocks, seconds, goal):
    """Run so many chains of so many blocks; the coordinator's figures."""
    step = plan.length.block_sweeps
    length = Length(chains, step, step * (blocks - 1), block_sweeps=step)
    executor = PlayedExecutor(chains, report, seconds)
    monitor = Monitor(chains, rows.bins.names, plan.watched)
    reporter = Quiet(length.sweeps, length.warmup)
    journal = empty_journal(replace(plan, length=length))
    cpu, begin = time.process_time(), time.monotonic()
    finish = run_blocks(executor, length, journal, monitor, goal, reporter)
    wall = time.monotonic() - begin
    return wall, time.process_time() - cpu, finish, reporter.most_stored


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chains", type=int, nargs="*", default=[10, 100, 1000])
    parser.add_argument("--seconds", type=float, nargs="*", default=[1.0, 10.0], help="a block takes")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--target", action="store_true", help="look at R-hat of every due round")
    parser.add_argument("--profile", action="store_true")
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
    print(f"{name}: checkpoint {sizes[0] / 1e3:.1f} kB, draws {sizes[1] / 1e3:.1f} kB a block of 100 sweeps")
    goal = Goal(rhat=1.000001) if options.target else Goal()
    for seconds in options.seconds:
        for chains in options.chains:
            if options.profile:
                import cProfile
                import pstats

                profile = cProfile.Profile()
                profile.enable()
            wall, cpu, finish, stored = lead(plan, rows, report, chains, options.blocks, seconds, goal)
            if options.profile:
                profile.disable()
                pstats.Stats(profile).sort_stats("cumulative").print_stats(35)
            ideal = options.blocks * seconds
            print(
                f"chains {chains}, block {seconds} s: wall {wall:.1f} (ideal {ideal:.1f}), cpu {cpu:.2f} = "
                f"{cpu / wall:.1%}, assessing {finish.assessing:.1f} s, storage "
                f"{chains * sum(sizes) / seconds / 1e6:.2f} MB/s, object store {stored:.1f} MB, "
                f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB",
                flush=True,
            )
    ray.shutdown()


if __name__ == "__main__":
    main()
