"""Who runs a chain in shards on Ray, and what carries their sums: all that needs no Ray and no GPU."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from raytpnn import Resources
from raytpnn.chains.executors.sharding import Sharding, check_gpus_of_worker, gang_for
from raytpnn.chains.shards.carrier import HEAD_WORDS, MESSAGE_WORDS, Carrier
from raytpnn.chains.shards.transport import asked_transport, transport_for
from raytpnn.engine.chain import ShardPlace
from raytpnn.engine.exchange.mailbox import new_mailbox
from raytpnn.engine.exchange.meeting import Meeting, MeetingBroken
from raytpnn.engine.gpu.grid.meeting import StripeExchange, seat_of, stripes_at
from raytpnn.storage.errors import RunError


def nodes(*gpus, cpus=8.0):
    return [{"Resources": {"CPU": cpus, "GPU": float(count)}} for count in gpus]


@pytest.mark.parametrize(
    ("shards", "gpus_of_nodes", "asked", "workers", "gpus"),
    [
        (4, (4,), 0.0, 1, 4.0),
        (4, (1, 4), 0.0, 1, 4.0),
        (4, (2, 2), 0.0, 2, 2.0),
        (4, (3, 3), 0.0, 2, 2.0),
        (4, (2, 1, 1), 0.0, 4, 1.0),
        (4, (4,), 1.0, 4, 1.0),
        (4, (2, 2), 4.0, 1, 4.0),
        (4, (1, 1), 0.0, 4, 1.0),
        (16, (8, 8), 0.0, 2, 8.0),
    ],
)
def test_a_gang_is_as_small_as_the_nodes_allow(shards, gpus_of_nodes, asked, workers, gpus):
    gang = gang_for(Sharding(shards, on_gpus=True), Resources(gpus=asked, cpus=0.5), nodes(*gpus_of_nodes))
    assert (gang.workers, gang.resources.gpus, gang.resources.cpus) == (workers, gpus, 0.5)


def test_cpus_of_the_nodes_count_too():
    gang = gang_for(Sharding(4, on_gpus=True), Resources(cpus=2.0), nodes(4, cpus=4.0))
    assert (gang.workers, gang.resources.gpus) == (1, 4.0)
    gang = gang_for(Sharding(4, on_gpus=True), Resources(cpus=2.0, gpus=1.0), nodes(4, cpus=4.0))
    assert gang.room(nodes(4, cpus=4.0)) == 2


def test_shards_on_cpus_are_workers():
    resources = Resources(cpus=2.0)
    assert gang_for(Sharding(8), resources, nodes(8)) == (8, resources)


@pytest.mark.parametrize("gpus", [0.5, 3.0, 8.0])
def test_gpus_of_a_worker_divide_the_shards(gpus):
    with pytest.raises(ValueError, match=f"a whole number that divides 4, got {gpus}"):
        check_gpus_of_worker(4, gpus)
    for fine in (0.0, 1.0, 2.0, 4.0):
        check_gpus_of_worker(4, fine)


@pytest.mark.parametrize(
    ("asked", "together", "expected"),
    [
        ("auto", True, "memory"),
        ("auto", False, "gloo"),
        ("gloo", True, "gloo"),
        ("gloo", False, "gloo"),
        ("memory", True, "memory"),
    ],
)
def test_the_transport_goes_by_place(asked, together, expected):
    assert transport_for(asked, together) == expected


def test_memory_that_nodes_do_not_share_is_refused():
    with pytest.raises(RunError, match=r"RAYTPNN_EXCHANGE=memory: .*on different nodes"):
        transport_for("memory", together=False)


def test_a_transport_is_asked_for_by_name(monkeypatch):
    monkeypatch.delenv("RAYTPNN_EXCHANGE", raising=False)
    assert asked_transport() == "auto"
    monkeypatch.setenv("RAYTPNN_EXCHANGE", "mpi")
    with pytest.raises(ValueError, match="one of auto, memory, gloo, got 'mpi'"):
        asked_transport()


def at_once(count, act):
    """Results of one thread for each number, in order; an error of one is raised."""
    results = [None] * count

    def run(i):
        try:
            results[i] = act(i)
        except BaseException as problem:
            results[i] = problem

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def seats(count, width):
    """Seats of one meeting in memory that all share."""
    mailbox = new_mailbox(width)
    return [Meeting(mailbox, width, count, i, seat_of(ShardPlace(count, i, mailbox))) for i in range(count)]


def own_part(full, count, i):
    low, high = stripes_at(ShardPlace(count, i))
    part = np.zeros_like(full)
    part[low:high] = full[low:high]
    return part


@pytest.mark.parametrize("count", [2, 4, 16])
@pytest.mark.parametrize("columns", [1, 5, 23])
def test_sums_of_stripes_are_joined_bit_by_bit(count, columns):
    """5 sums of a stripe fit the room: more are exchanged some at a time."""
    full = np.random.default_rng(columns).normal(size=(16, columns)) * 10.0 ** np.arange(-8, 8)[:, None]
    full[3, 0] = -0.0
    exchanges = [StripeExchange(seat) for seat in seats(count, 5)]
    for joined in at_once(count, lambda i: exchanges[i](own_part(full, count, i))):
        assert joined.tobytes() == full.tobytes()


def test_a_process_in_another_place_is_noticed():
    """Broken twin: two processes give the stripes of each other."""
    full = np.arange(16.0)[:, None]
    exchanges = [StripeExchange(seat) for seat in seats(2, 5)]
    swapped = at_once(2, lambda i: exchanges[i](own_part(full, 2, 1 - i)))
    assert swapped[0].tobytes() != full.tobytes()


def test_an_exchange_of_a_broken_meeting_raises():
    first, second = seats(2, 5)
    second.break_off()
    with pytest.raises(MeetingBroken):
        StripeExchange(first)(np.zeros((16, 2)))


class GroupOfThreads:
    """A transport between threads: each gives its words, and takes those of all."""

    def __init__(self, shard, table, barrier):
        self.shard, self.table, self.barrier = shard, table, barrier

    def gather(self, words):
        self.table[self.shard] = words.copy()
        self.barrier.wait(60)
        gathered = list(self.table)
        self.barrier.wait(60)
        return gathered


def test_a_carrier_carries_what_does_not_fit_one_message():
    table, barrier = [None, None], threading.Barrier(2)
    groups = [GroupOfThreads(i, table, barrier) for i in range(2)]
    columns = (MESSAGE_WORDS - HEAD_WORDS) // 8 + 3
    full = np.random.default_rng(1).normal(size=(16, columns))
    apart = []
    for i in range(2):
        mailbox = new_mailbox(columns)
        apart.append(Meeting(mailbox, columns, 2, i, seat_of(ShardPlace(2, i, mailbox))))
    carriers = [Carrier(seat, group) for seat, group in zip(apart, groups, strict=True)]
    for joined in at_once(2, lambda i: StripeExchange(apart[i])(own_part(full, 2, i))):
        assert joined.tobytes() == full.tobytes()
    for seat, carrier in zip(apart, carriers, strict=True):
        seat.break_off()
        assert carrier.problem is None


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ((0.5, 2.0, 2.0), np.sqrt(1e3 * 1e4)),
        ((0.5, 1.1, 0.5), None),
        ((1.2, 0.8, 1.25), np.sqrt(1e4 * 1e5)),
        ((1.2, 1.3, 1.4), None),
    ],
)
def test_where_a_benchmark_s_ratio_passes_one(monkeypatch, ratios, expected):
    # Loading it limits the threads of numerical libraries, which must not outlive the test.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples" / "benchmarks")
    from shard_crossover import crossing, told_crossing

    found = crossing((1_000, 10_000, 100_000), ratios)
    assert found == (None if expected is None else pytest.approx(expected))
    told = told_crossing((1_000, 10_000, 100_000), ratios)
    assert ("from n = " in told, "at none" in told) == (expected is not None, ratios[-1] < 1.0)
