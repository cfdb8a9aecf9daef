"""The scheduler with many chains: nobody waits for R-hat, and its pace does not decide when a run stops."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.executors.base import Completed
from raytpnn.chains.monitoring.monitor import Monitor
from raytpnn.chains.monitoring.watched import Watched
from raytpnn.chains.observe.observer import Observer
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.plan import Length
from raytpnn.chains.run.ledger import Ledger
from raytpnn.chains.schedule.queue import ChainQueue
from raytpnn.chains.schedule.scheduler import Goal, run_blocks
from raytpnn.storage.formats.checkpoint import good_blocks
from raytpnn.storage.places.place import Place

DRAWS = 20
LENGTH = Length(chains=6, warmup=0, draws=DRAWS * 30, block_sweeps=DRAWS)


def watched(chain, block):
    """Draws that agree between chains from the first on."""
    rng = np.random.default_rng([chain, block])
    none = np.zeros(0, np.int32)
    f = rng.normal(size=(DRAWS, 2)).astype(np.float32)
    scalars = {"K": rng.normal(size=DRAWS)}
    sizes = none, none, none.astype(np.float32)
    return Watched(scalars, f, *sizes, np.zeros((DRAWS, 0)), np.zeros(1, np.int32), none)


class Instant:
    """Executor whose blocks are done as soon as they are asked for."""

    def __init__(self, workers):
        self.workers = range(workers)
        self.tasks = {}
        self.done = 0
        self.order = []

    def idle(self):
        return [worker for worker in self.workers if worker not in self.tasks]

    def width(self, worker):
        return 1

    def submit(self, worker, chains, blocks):
        (chain,) = chains
        self.tasks[worker] = chain, blocks
        self.order.append((chain, blocks[0]))

    def wait(self, seconds):
        completed = []
        for worker, (chain, blocks) in self.tasks.items():
            reports = [
                BlockReport(
                    chain, b, (b + 1) * DRAWS, 3, -1.0, {}, watched(chain, b), seconds=1.0, where={"pid": 1}
                )
                for b in blocks
            ]
            completed.append(Completed(worker, reports))
            self.done += len(blocks)
        self.tasks = {}
        if not completed:
            time.sleep(min(seconds, 0.001))
        return completed

    def progress(self):
        return {}

    def lost(self):
        return set()

    def describe(self):
        return "nowhere"

    def stop(self):
        pass

    close = stop


class SlowMonitor(Monitor):
    """Looks at rounds for as long as it takes the executor to finish so many blocks."""

    def __init__(self, executor, blocks):
        super().__init__(LENGTH.chains, ["x"], np.arange(2))
        self.executor = executor
        self.blocks = blocks
        self.overtaken = 0

    def compare(self, per_chain, stopped=lambda: False):
        limit = time.monotonic() + 20.0
        aim = min(self.executor.done + self.blocks, LENGTH.chains * len(LENGTH.blocks()))
        while self.executor.done < aim and not stopped():
            if time.monotonic() > limit:
                raise TimeoutError("no block has ended while R-hat was computed")
            time.sleep(0.001)
        self.overtaken += self.blocks > 0
        return super().compare(per_chain, stopped)


def conducted(goal, blocks=0, workers=3, observers=()):
    """Finish of a run whose assessments wait for so many blocks each."""
    executor = Instant(workers)
    monitor = SlowMonitor(executor, blocks)
    to_do = [list(range(len(LENGTH.blocks()))) for _ in range(LENGTH.chains)]
    ledger = Ledger(to_do, [{} for _ in range(LENGTH.chains)])
    return (
        run_blocks(executor, LENGTH, ledger, monitor, goal, Reporter(), None, observers),
        monitor,
        executor,
    )


GOAL = Goal(ess=6 * 20 * 5.0)


def test_blocks_go_on_while_rhat_is_computed():
    """With R-hat in the scheduler's own loop no block can end meanwhile, and this times out."""
    finish, monitor, _ = conducted(GOAL, blocks=4)
    assert monitor.overtaken > 0
    assert finish.stopped == "target"


@pytest.mark.parametrize("blocks", [1, 4, 60])
def test_when_a_run_stops_does_not_depend_on_how_long_rhat_takes(blocks):
    quick, _, _ = conducted(GOAL)
    slow, _, _ = conducted(GOAL, blocks=blocks, workers=5)
    assert quick.stopped == slow.stopped == "target"
    assert quick.rounds == slow.rounds
    assert 1 < quick.rounds < len(LENGTH.blocks())
    assert quick.convergence == slow.convergence


def test_targets_are_compared_to_the_last_round_even_if_all_blocks_are_done():
    out_of_reach, monitor, executor = conducted(Goal(ess=1e9), blocks=10_000)
    assert executor.done == LENGTH.chains * len(LENGTH.blocks())
    assert out_of_reach.reached is False
    assert out_of_reach.stopped is None
    assert out_of_reach.convergence.draws == LENGTH.draws
    assert monitor.overtaken > 3


def test_what_goes_wrong_in_an_assessment_is_raised():
    class Broken(Monitor):
        def compare(self, per_chain, stopped=lambda: False):
            raise ZeroDivisionError("on purpose")

    ledger = Ledger([[0, 1]] * 2, [{}, {}])
    length = Length(2, 0, 40, block_sweeps=20)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        run_blocks(Instant(1), length, ledger, Broken(2, ["x"], np.arange(2)), GOAL, Reporter())


def test_many_workers_are_given_more_blocks_at_a_time():
    """Blocks take a second here: few workers call for each of them, a thousand would be too many calls."""
    calls = {}
    for workers in (4, 1000):
        length = Length(workers, 0, DRAWS * 12, block_sweeps=DRAWS)
        executor = Instant(workers)
        ledger = Ledger([list(range(12)) for _ in range(workers)], [{} for _ in range(workers)])
        monitor = Monitor(workers, ["x"], np.arange(2))
        run_blocks(executor, length, ledger, monitor, Goal(), Reporter())
        assert executor.done == 12 * workers
        calls[workers] = len(executor.order) / workers
    assert calls[4] == 12
    assert calls[1000] < 6


def test_turns_are_those_of_looking_at_every_chain():
    rng = np.random.default_rng(0)
    for _ in range(50):
        waiting = [(int(rng.integers(3)), chain) for chain in range(12) if rng.random() < 0.7]
        turns, left = ChainQueue(waiting), list(waiting)
        for _ in range(14):
            liked = [int(rng.integers(12))] if rng.random() < 0.8 else []
            expected = min(left, key=lambda task: (task[0], task[1] not in liked, task[1]), default=None)
            assert turns.waiting == len(left)
            taken = turns.take(liked)
            assert taken == (None if expected is None else expected[1])
            if expected is not None:
                left.remove(expected)


def test_chains_that_run_together_are_as_far_as_each_other():
    turns = ChainQueue([(1, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 5)])
    assert turns.take([3]) == 3
    assert turns.take_more([4, 0], 2, lambda chain: chain != 1) == [4, 2]
    assert turns.take_more([], 9, lambda chain: True) == [1]
    assert turns.take_more([], 9, lambda chain: True) == []
    assert turns.take([]) == 0
    assert turns.take_more([], 9, lambda chain: True) == [5]
    assert turns.take([]) is None


def test_observers_see_every_block_and_the_end():
    class Witness(Observer):
        ended = False

        def __init__(self):
            self.blocks, self.convergences = [], []

        def block(self, worker, report):
            self.blocks.append((report.chain, report.block))

        def assessed(self, convergence):
            self.convergences.append(convergence)

        def __exit__(self, *exception):
            self.ended = True

    witness = Witness()
    finish, _, _ = conducted(Goal(ess=1e9), observers=[witness])
    assert len(set(witness.blocks)) == len(witness.blocks) == LENGTH.chains * len(LENGTH.blocks())
    assert witness.convergences[-1] == finish.convergence
    assert witness.ended


def test_files_of_a_run_are_read_many_at_a_time(long_run):
    """An object store answers late: one file after the other, the end of 1,000 chains would take an hour."""

    class Late(Place):
        lock = threading.Lock()
        now = most = 0

        def read(self, name):
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            time.sleep(0.005)
            try:
                return super().read(name)
            finally:
                with self.lock:
                    self.now -= 1

    from raytpnn.chains.run.run import Run

    run = Run.open(Place(long_run))
    late = Late(long_run)
    told = run.manifest["plan"]["digest"], run.length.blocks(), run.length.chains
    good, problems = good_blocks(late, *told)
    assert problems == []
    assert list(good) == [(c, b) for c in range(run.length.chains) for b in range(len(run.length.blocks()))]
    assert late.most > 4
    assert all(checkpoint.state == b"" for checkpoint in good.values())
    assert any(checkpoint.watched for checkpoint in good.values())
    lean, _ = good_blocks(late, *told, watched=False)
    assert not any(checkpoint.watched for checkpoint in lean.values())


def test_the_rows_of_the_table_do_not_depend_on_when_chains_were_compared_before():
    rng = np.random.default_rng(1)
    quantities = {name: rng.normal(size=(2, 40)) for name in ("loglik", "f[0]", "f[1]", "f[2]")}
    monitor = Monitor(2, ["x"], np.arange(3))
    monitor.quantities = lambda per_chain: quantities
    tables = []
    for worst in ([], ["f[2]"], ["f[1]", "f[0]"]):
        monitor.worst_before = worst
        tables.append(monitor.compare([]).records())
    assert [row[0] for row in tables[0]] == list(quantities)
    assert tables[0] == tables[1] == tables[2]
