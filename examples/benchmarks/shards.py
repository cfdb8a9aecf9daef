"""Rows of one chain in shards: speed, latency of an exchange, and memory, all measured in one run.

    python examples/benchmarks/shards.py                       # everything, n = 100,000 and 1,000,000
    python examples/benchmarks/shards.py speed --rows 10000000
    python examples/benchmarks/shards.py latency actors memory
    python examples/benchmarks/shards.py crossover --rows 1000 10000 100000 1000000 --pairs 5

Parts: speed (seconds a sweep for 1 and 2 shards in threads of this process, and with minibatches and delayed
acceptance), latency (one exchange in threads), actors (one exchange between Ray actors that share memory and
between such that send messages, and the number of rows from which shards in actors should pay), memory (of a
process by the rows of its shard), crossover (only if named: the number of rows from which shards in actors
do pay). Data are simulated: p = 50 features of 255 bins, five of which matter. On a
busy machine give --pairs: of several measurements of both sides in turn the best of each counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path

# Before any numerical library is loaded: it limits their threads.
from shard_cases import P, plan_of, simulate, timed

# isort: split
import numpy as np
from numba import njit

from raytpnn.data.rows.rows_io import TrainingRows
from raytpnn.engine.chain import Chain, ShardPlace, new_work
from raytpnn.engine.exchange.mailbox import LINE_WORDS, meet, new_mailbox
from raytpnn.engine.exchange.meeting import map_mailbox
from raytpnn.engine.rows.subset_options import SubsetUse, resolve_subsets
from raytpnn.engine.sharded_chain import room_width

EXCHANGES = 20_000


def timed_apart(chains: list[Chain], state: bytes, first: int, sweeps: int) -> float:
    """Seconds a sweep of chains side by side that know nothing of each other."""
    for chain in chains:
        chain.restore(state)
    threads = [threading.Thread(target=chain.run, args=(first, sweeps, 10**9, 1)) for chain in chains]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - begin) / sweeps


def warmed(rows: TrainingRows, sweeps: int) -> bytes:
    """State of a chain that has found its terms."""
    chain = plan_of(rows, 2).new_chain()
    chain.run(0, sweeps, 10**9, 1)
    return chain.checkpoint()


def speed(sizes: list[int], pairs: int) -> None:
    print(f"seconds a sweep, gaussian, p = {P}; best of {pairs} measurements in turn")
    print("best: best ratio of two measurements in turn; apart: that of two chains that never meet, on half")
    print("the rows each, the most this machine gave two threads at the time; cpu: CPU seconds of one shard")
    print("over those of a shard of two, which is what two free cores would give")
    names = ("1 shard", "2 shards", "ratio", "best", "apart", "cpu")
    print(f"{'n':>19} {'terms':>6} " + " ".join(f"{name:>9}" for name in names))
    for n in sizes:
        rows = simulate(n)
        state = warmed(rows, 12)
        one, two = plan_of(rows).new_chain(), plan_of(rows, 2).new_chain()
        halves = simulate(n // 2)
        apart = [plan_of(halves).new_chain() for _ in range(2)]
        sweeps = max(2, min(40, 4_000_000 // n))
        first, second, third = [], [], []
        for _ in range(pairs):
            first.append(timed(one, state, 12, sweeps))
            second.append(timed(two, state, 12, sweeps))
            third.append(timed_apart(apart, state, 12, sweeps))
        assert one.checkpoint() == two.checkpoint()
        alone, both = (min(cost.wall for cost in costs) for costs in (first, second))
        best = max(a.wall / b.wall for a, b in zip(first, second, strict=True))
        bound = max(a.wall / b for a, b in zip(first, third, strict=True))
        cpu = min(cost.cpu for cost in first) / (min(cost.cpu for cost in second) / 2)
        row = f"{n:>19,} {int(one.state.K):>6} {alone:>9.4f} {both:>9.4f} {alone / both:>9.2f}"
        print(f"{row} {best:>9.2f} {bound:>9.2f} {cpu:>9.2f}", flush=True)
        subsets(rows, one.state, pairs, sweeps)


def subsets(rows: TrainingRows, state: np.record, pairs: int, sweeps: int) -> None:
    """The same with minibatches and with delayed acceptance."""
    n = rows.bins.n_rows
    uses = {"minibatch=2048": SubsetUse(2048), "delayed_acceptance": resolve_subsets(n, None, True)}
    # Warm-up has not decided anything yet: say that all moves are screened.
    screened = state.copy()
    screened.screened[:] = 1
    for name, use in uses.items():
        walls = []
        for shards in (1, 2):
            chain = plan_of(rows, shards, use).new_chain()
            costs = [timed(chain, screened.tobytes(), 10**6 + 12, sweeps) for _ in range(pairs)]
            walls.append(min(cost.wall for cost in costs))
        print(
            f"{name:>19} {int(state.K):>6} {walls[0]:>9.4f} {walls[1]:>9.4f} {walls[0] / walls[1]:>6.2f}",
            flush=True,
        )


@njit(nogil=True)
def exchange_often(work, times):
    for _ in range(times):
        meet(work, 0, 1)


def work_at(mailbox: np.ndarray, shards: int, shard: int):
    """Scratch space of a shard of a tiny problem, for exchanges alone."""
    plan = plan_of(simulate(500, 5))
    return new_work(plan.problem, plan.settings, ShardPlace(shards, shard, mailbox))


def seconds_of_exchange(mailbox: np.ndarray, shards: int, shard: int, times: int) -> float:
    work, arrays = work_at(mailbox, shards, shard)
    exchange_often(work, 1)
    begin = time.perf_counter()
    exchange_often(work, times)
    assert arrays
    return (time.perf_counter() - begin) / times


def latency(repetitions: int) -> float:
    """Seconds of an exchange between two threads."""
    best = np.inf
    for _ in range(repetitions):
        mailbox = new_mailbox(room_width(plan_of(simulate(500, 5)).settings, None))
        other = threading.Thread(target=seconds_of_exchange, args=(mailbox, 2, 1, EXCHANGES))
        other.start()
        best = min(best, seconds_of_exchange(mailbox, 2, 0, EXCHANGES))
        other.join()
    print(f"an exchange between 2 threads: {1e6 * best:.2f} us, best of {repetitions}", flush=True)
    return best


def exchanges_of_sweep(rows: TrainingRows, state: bytes) -> float:
    """How often the shards of a chain meet in a sweep."""
    chain = plan_of(rows, 2).new_chain()
    chain.restore(state)
    sweeps = 5
    chain.run(12, sweeps, 10**9, 1)
    return int(chain.mailbox[LINE_WORDS]) / sweeps


def actors(repetitions: int) -> None:
    """Exchanges between Ray actors, and what they mean."""
    import ray

    from raytpnn.chains.shards.carrier import Carrier
    from raytpnn.chains.shards.transport import GlooGroup
    from raytpnn.engine.exchange.meeting import Meeting
    from raytpnn.engine.gpu.grid.meeting import StripeExchange, seat_of

    class Member:
        def shared(self, path: str, shard: int, times: int) -> float:
            width = room_width(plan_of(simulate(500, 5)).settings, None)
            return seconds_of_exchange(map_mailbox(path, width), 2, shard, times)

        def messages(self, name: str, shard: int, times: int) -> float:
            width = room_width(plan_of(simulate(500, 5)).settings, None)
            mailbox = new_mailbox(width)
            self.carrier = Carrier(Meeting(mailbox, width, 2, shard), GlooGroup(2, shard, name))
            return seconds_of_exchange(mailbox, 2, shard, times)

        def stripes(self, path: str | None, name: str, shard: int, times: int) -> float:
            """Seconds in which shards on GPUs exchange the five sums of a pass, once the host has them."""
            width = room_width(plan_of(simulate(500, 5)).settings, None)
            mailbox = new_mailbox(width) if path is None else map_mailbox(path, width)
            seat = Meeting(mailbox, width, 2, shard, seat_of(ShardPlace(2, shard, mailbox)))
            if path is None:
                self.carrier = Carrier(seat, GlooGroup(2, shard, name))
            exchange, sums = StripeExchange(seat), np.ones((16, 5))
            exchange(sums)
            begin = time.perf_counter()
            for _ in range(times):
                exchange(sums)
            return (time.perf_counter() - begin) / times

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    made = [ray.remote(num_cpus=1)(Member).remote() for _ in range(2)]
    best = {"shared memory": np.inf, "messages (Gloo)": np.inf}
    on_gpus = dict(best)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for i in range(repetitions):
            path = f"{folder}/{i}"
            calls = [member.shared.remote(path, shard, EXCHANGES) for shard, member in enumerate(made)]
            best["shared memory"] = min(best["shared memory"], *ray.get(calls))
            calls = [member.messages.remote(f"g{i}", shard, 500) for shard, member in enumerate(made)]
            best["messages (Gloo)"] = min(best["messages (Gloo)"], *ray.get(calls))
            for kind, place, times in (("shared memory", f"{path}s", 5_000), ("messages (Gloo)", None, 500)):
                calls = [
                    member.stripes.remote(place, f"s{i}", shard, times) for shard, member in enumerate(made)
                ]
                on_gpus[kind] = min(on_gpus[kind], *ray.get(calls))
    ray.shutdown()
    rows = simulate(100_000)
    state = warmed(rows, 12)
    count = exchanges_of_sweep(rows, state)
    chain = plan_of(rows).new_chain()
    row = min(timed(chain, state, 12, 20).cpu for _ in range(repetitions)) / 100_000
    print(f"a sweep of {int(chain.state.K)} terms: {1e9 * row:.1f} ns of CPU a row, {count:.0f} exchanges")
    for name, seconds in best.items():
        # Two shards halve what rows cost and pay for the exchanges.
        pays = count * seconds / (row / 2)
        print(f"an exchange between 2 actors by {name}: {1e6 * seconds:.1f} us; pays from n = {pays:,.0f}")
    for name, seconds in on_gpus.items():
        print(f"an exchange of sums that come from GPUs by {name}: {1e6 * seconds:.1f} us")


def resident() -> dict[str, int]:
    """Bytes of this process: its own, and pages of files that it maps, which others may share."""
    lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
    names = {"RssAnon:": "own", "RssFile:": "mapped"}
    return {names[line[0]]: 1024 * int(line[1]) for line in lines if line and line[0] in names}


def memory_of_shard(run: str, shards: int, shard: int) -> None:
    """What a process holds after it has read a shard and run a sweep, as JSON; for `memory`."""
    from raytpnn.chains.run.run import Run
    from raytpnn.engine.sweeps.sweep import run_block
    from raytpnn.storage.places.place import Place

    opened = Run.open(Place(run))
    tiny = plan_of(simulate(500, 5)).new_chain()
    tiny.run(0, 1, 1, 1)
    # What libraries take when they are first used has nothing to do with rows.
    opened.shard_plan(16, 0)
    before = resident()
    plan = opened.shard_plan(shards, shard)
    chain = Chain(plan.problem, plan.settings, plan.first_state(0), run_block, np.zeros(0, np.int64))
    chain.run(0, 1, 10**9, 1)
    after = resident()
    told = {"rows": len(plan.problem.y)} | {name: after[name] - before[name] for name in after}
    print(json.dumps(told))


def memory(n: int) -> None:
    from raytpnn.chains.run.run import Run
    from raytpnn.data.encoding.encoder import Encoder
    from raytpnn.storage.places.place import Place

    encoder, _ = Encoder.fit(np.random.default_rng(0).normal(size=(20, 2)))
    with tempfile.TemporaryDirectory() as folder:
        rows = simulate(n)
        plan = plan_of(rows, 2)
        config = {"prior": asdict(plan.prior), "moves": asdict(plan.moves)}
        run = Run.begin(Place(f"{folder}/run"), plan, rows, encoder, None, config)
        print(f"{'shards':>7} {'rows of shard':>14} {'own MB':>8} {'bytes a row':>12} {'mapped MB':>10}")
        for shards in (1, 2, 4, 8):
            command = [sys.executable, __file__, "--shard-of", run.place.uri, str(shards)]
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            told = json.loads(out.splitlines()[-1])
            size, count, mapped = told["own"], told["rows"], told["mapped"] / 1e6
            print(f"{shards:>7} {count:>14,} {size / 1e6:>8.1f} {size / count:>12.1f} {mapped:>10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("speed", "latency", "actors", "memory")
    parser.add_argument("parts", nargs="*", default=parts, choices=[*parts, parts, "crossover"])
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=2_000, help="crossover: the most of a measurement")
    parser.add_argument("--shard-of", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.shard_of:
        memory_of_shard(options.shard_of[0], int(options.shard_of[1]), 0)
        return
    if "speed" in options.parts:
        speed(options.rows, options.pairs)
    if "latency" in options.parts:
        latency(options.pairs)
    if "actors" in options.parts:
        actors(options.pairs)
    if "crossover" in options.parts:
        from shard_crossover import crossover

        crossover(options.rows, options.pairs, options.sweeps)
    if "memory" in options.parts:
        memory(max(options.rows))


if __name__ == "__main__":
    main()
