"""Many chains on one device: a launch runs a whole block of sweeps of each.

While a block runs, the draws of the block before it are copied back and worked on: there is room for two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from raytpnn.engine.chain import Block
from raytpnn.engine.gpu.device import Device, DeviceError, Limits
from raytpnn.engine.gpu.kernel_files import check_family
from raytpnn.engine.gpu.memory import (
    Packing,
    ProblemOnDevice,
    RecordBuffer,
    new_works,
    on_device,
    scratch_packing,
)
from raytpnn.engine.gpu.records import (
    BEGIN,
    DEVICE_WORK,
    record_arrays,
    rows_of_chain,
    screens,
    shared_table_bytes,
    table_width,
)
from raytpnn.engine.problem import Problem
from raytpnn.engine.records import STATE, STOP, SWEEPS_DONE, TERMS
from raytpnn.families import family_of_code

__all__ = ["DeviceChains", "Geometry", "Pending", "Ran", "Task", "choose_geometry"]

# Threads of a block, and the fewest that are worth it.
MOST_THREADS = 256
FEWEST_THREADS = 32
# Tables of more entries stay in global memory.
MOST_SHARED_WIDTH = 1024
# Blocks of threads that are to fit on a multiprocessor at a time, and what each needs beside its tables.
BLOCKS_OF_MULTIPROCESSOR = 2
STATIC_SHARED_BYTES = 8192
# Part of the free memory that chains may take, and how often a launch may fill the device.
MEMORY_SHARE = 0.8
MOST_WAVES = 8


# What may be done to an ensemble between two sweeps: to its states (levels,) and ladder, after a sweep.
Change = Callable[[np.ndarray, np.record, int], None]


class Task(NamedTuple):
    """One block of sweeps of all chains of a launch, and the problem that holds in it.

    For ensembles, with the sweeps after which ladders are changed, and how.
    """

    problem: Problem
    first: int
    sweeps: int
    warmup: int
    thin: int
    stops: tuple[int, ...] = ()
    change: Change | None = None

    @property
    def draws(self) -> int:
        """Draws that it keeps."""
        end = self.first + self.sweeps
        return max(0, end - self.warmup) // self.thin - max(0, self.first - self.warmup) // self.thin


class Ran(NamedTuple):
    """One chain after a block."""

    state: np.ndarray  # (levels,) of layout STATE
    block: Block
    terms: int


@dataclass(frozen=True)
class Geometry:
    """How kernels are launched.

    Attributes
    ----------
    threads : int
        Of a block; the draws do not depend on it.
    width : int
        Entries of a table.
    tables_in_shared : bool
        Else they lie in global memory.
    shared_bytes : int
        Dynamic shared memory of a block.
    """

    threads: int
    width: int
    tables_in_shared: bool
    shared_bytes: int

    def macros(self, wide_codes: bool, screened: bool = False) -> tuple[str, ...]:
        """Macros that the kernels are compiled with."""
        given = f"WIDE_CODES={int(wide_codes)}", f"TABLES_IN_SHARED={int(self.tables_in_shared)}"
        return (*given, "SCREENED=1") if screened else given


def choose_geometry(limits: Limits, problem: Problem, settings: np.record) -> Geometry:
    """Threads and tables that suit a problem and a device."""
    threads = FEWEST_THREADS
    while threads < MOST_THREADS and threads < rows_of_chain(settings, len(problem.y)):
        threads *= 2
    host = {array.ctypes.data: array for array in problem.others}
    width = table_width(host[int(problem.record["n_bins"])])
    wanted = shared_table_bytes(settings, width)
    room = limits.shared_bytes // BLOCKS_OF_MULTIPROCESSOR - STATIC_SHARED_BYTES
    fits = width <= MOST_SHARED_WIDTH and wanted <= min(
        room, limits.shared_bytes_of_block - STATIC_SHARED_BYTES
    )
    return Geometry(threads, width, fits, wanted if fits else 0)


@dataclass
class Pending:
    """A block that was enqueued: what its results wait for, and what must stay alive until then."""

    task: Task
    count: int
    buffer: RecordBuffer
    states: np.ndarray
    works: np.ndarray
    copied: Any = None
    kept: list[Any] = field(default_factory=list)


class DeviceChains:
    """Room for chains that run together on a device.

    Parameters
    ----------
    device : Device
    problem, settings
        Shared by all chains.
    watched : (W,) int64
        Rows whose fit is kept in every draw.
    most_draws : int
        Draws of a chain in one block, at most.
    chains : int
        Chains that want to run; there is room for `width` of them at a time.
    share : float
        Part of the device's memory that may be taken.
    threads : int, optional
        Threads of a block; chosen if not given.

    Attributes
    ----------
    width : int
        Chains that run at a time: as many as the memory has room for and the device has work for.
    """

    levels = 1

    def __init__(
        self,
        device: Device,
        problem: Problem,
        settings: np.record,
        watched: np.ndarray,
        most_draws: int,
        chains: int,
        share: float = 1.0,
        threads: int | None = None,
    ) -> None:
        check_family(family_of_code(int(settings.family)))
        self.device = device
        self.settings = settings
        limits = device.limits()
        self.geometry = choose_geometry(limits, problem, settings)
        self.threads = threads or self.geometry.threads
        n = len(problem.y)
        scratch = scratch_packing(settings, n, self.geometry.width, self.geometry.tables_in_shared)
        traced = self.levels if self.levels > 1 else 0
        draws = Packing.of(record_arrays(settings, max(most_draws, 1), len(watched), traced))
        self.compute, self.copies = device.stream(), device.stream()
        macros = self.geometry.macros(bool(problem.record.wide_codes), screens(settings))
        self.module = device.compile("sweep", macros)
        self.problems = ProblemOnDevice(device, self.compute)
        self.problems.record(problem)
        self._addresses: list[int] = []
        content = np.frombuffer(settings.tobytes(), np.uint8)
        watched = np.array(watched, np.int64)
        self._kept: list[Any] = [content, watched]
        self._settings = self._keep(on_device(device, content, self.compute))
        # States three times: where they are, and as the last two blocks left them.
        each = self.levels * (scratch.n_bytes + 3 * STATE.itemsize) + 2 * draws.n_bytes
        # The data are on the device by now: what is left is for chains.
        self.width = self._choose_width(device.limits(), each, chains, share)
        rows = self.width * self.levels
        self._states = self._keep(device.allocate(rows * STATE.itemsize))
        # The states after a block are copied here, so that the next block can go on.
        self._snapshots = [self._keep(device.allocate(rows * STATE.itemsize)) for _ in range(2)]
        self._host_states = [device.pinned(rows * STATE.itemsize).view(STATE) for _ in range(2)]
        self._host_works = [device.pinned(rows * DEVICE_WORK.itemsize).view(DEVICE_WORK) for _ in range(2)]
        place = self._keep(device.allocate(rows * scratch.n_bytes))
        self._works = new_works(scratch, place, rows, self.geometry.width)
        self._works_address = self._keep(device.allocate(self._works.nbytes))
        at = self._keep(on_device(device, watched, self.compute))
        self.buffers = [RecordBuffer(device, draws, watched, at, self.width) for _ in range(2)]
        self.running = 0
        self._stop = False
        device.synchronize(device.record(self.compute))

    def _keep(self, address: int) -> int:
        self._addresses.append(address)
        return address

    def _choose_width(self, limits: Limits, each: int, chains: int, share: float) -> int:
        """Chains at a time, from the memory that each takes."""
        room = int(share * MEMORY_SHARE * limits.memory_bytes) // each
        if room < 1:
            raise DeviceError(
                f"{self.device.name} has {limits.memory_bytes / 2**20:,.0f} MiB free, one chain takes "
                f"{each / 2**20:,.0f}; use a smaller K_max, fewer rows, or backend='numba'"
            )
        full = MOST_WAVES * BLOCKS_OF_MULTIPROCESSOR * limits.multiprocessors // self.levels
        return max(1, min(chains, room, full))

    def run_blocks(self, states: np.ndarray, tasks: Sequence[Task]) -> Iterator[list[Ran]]:
        """Run blocks one after the other, each from where the one before ended.

        Parameters
        ----------
        states : (chains, levels) of layout STATE
            Where the chains are; at most `width` of them.
        tasks : sequence of Task

        Yields
        ------
        list of Ran
            Of every chain, after each block. The next block runs meanwhile.
        """
        source = np.ascontiguousarray(states).reshape(-1)
        self.device.upload(self._states, source, self.compute)
        pending: deque[Pending] = deque()
        try:
            for i, task in enumerate(tasks):
                if len(pending) == len(self.buffers):
                    yield self._finish(pending.popleft())
                pending.append(self._begin(task, len(states), i % len(self.buffers)))
            while pending:
                yield self._finish(pending.popleft())
        finally:
            # Whoever stops listening leaves nothing under way in buffers that are used again.
            for left in pending:
                self.device.synchronize(left.copied)
            self.running = 0

    def _begin(self, task: Task, count: int, side: int) -> Pending:
        """Enqueue a block and the way back of its draws."""
        device, rows = self.device, count * self.levels
        works = self._works[:rows].copy()
        works["control"][:, STOP] = int(self._stop)
        works["control"][:, SWEEPS_DONE] = task.first
        buffer = self.buffers[side]
        pending = Pending(task, count, buffer, self._host_states[side][:rows], self._host_works[side][:rows])
        pending.kept.append(works)
        self.running = rows
        device.upload(self._works_address, works, self.compute)
        buffer.clear(self.compute)
        self._sweep(task, count, pending)
        device.copy(self._snapshots[side], self._states, rows * STATE.itemsize, self.compute)
        # Sweeps done and terms are of this block only until the next begins: they go back on its stream.
        device.download(pending.works, self._works_address, self.compute)
        device.wait(self.copies, device.record(self.compute))
        device.download(pending.states, self._snapshots[side], self.copies)
        if task.draws:
            buffer.fetch(count, self.copies)
        pending.copied = device.record(self.copies)
        return pending

    def _sweep(self, task: Task, count: int, pending: Pending) -> None:
        """Enqueue the sweeps of a block."""
        self._launch_sweeps(task, count, (task.first, task.sweeps), pending.buffer.records, BEGIN)

    def _launch_sweeps(
        self, task: Task, chains: int, extent: tuple[int, int], records: int, flags: int
    ) -> None:
        """Enqueue sweeps of chains or replicas: the first one and how many."""
        pointers = (*self._pointers(task), np.int64(records))
        numbers = (*extent, task.warmup, task.thin)
        arguments = (*pointers, *(np.int64(number) for number in numbers), np.int32(flags))
        shared = self.geometry.shared_bytes
        self.module.launch("sweep_block", chains, self.threads, arguments, shared, self.compute)

    def _pointers(self, task: Task) -> tuple[np.int64, ...]:
        """What every kernel of chains takes first."""
        addresses = self.problems.record(task.problem), self._settings, self._states, self._works_address
        return tuple(np.int64(address) for address in addresses)

    def _finish(self, pending: Pending) -> list[Ran]:
        """Wait for a block and give what it left."""
        self.device.synchronize(pending.copied)
        states = pending.states.copy().reshape(pending.count, self.levels)
        done = pending.works["control"][:, SWEEPS_DONE].reshape(pending.count, self.levels).min(axis=1)
        if self._stop:
            # Some chains were stopped: nothing of the block is kept.
            done = np.minimum(done, pending.task.first + pending.task.sweeps - 1)
        return [self._ran(pending, states[i], i, int(done[i])) for i in range(pending.count)]

    def _ran(self, pending: Pending, state: np.ndarray, chain: int, done: int) -> Ran:
        record, _ = pending.buffer.take(chain)
        return Ran(
            state, Block(record, done - pending.task.first, pending.task.draws), self._terms(pending, chain)
        )

    def _terms(self, pending: Pending, chain: int) -> int:
        return int(pending.works["control"][chain * self.levels, TERMS])

    def request_stop(self) -> None:
        """Ask running blocks to end after the term at hand; safe from another thread."""
        self._stop = True
        one = np.ones(1, np.int64)
        for i in range(self.running):
            self.device.poke(self._control(i) + 8 * STOP, one)

    def _control(self, chain: int) -> int:
        return self._works_address + chain * DEVICE_WORK.itemsize

    def progress(self) -> list[tuple[int, int]]:
        """Sweeps done and terms of every chain that runs; safe from another thread."""
        rows = self.running
        works = np.zeros(rows, DEVICE_WORK)
        if rows:
            self.device.peek(works.view(np.uint8), self._works_address)
        control = works["control"][:: self.levels]
        return [(int(row[SWEEPS_DONE]), int(row[TERMS])) for row in control]

    def close(self) -> None:
        """Give the device's memory back."""
        for buffer in self.buffers:
            buffer.close()
        self.problems.close()
        for address in self._addresses:
            self.device.free(address)
        self.buffers, self._addresses = [], []
