"""Some stripes of a problem's rows in the memory of one device, and kernels that pass over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from raytpnn.engine.gpu.chains import Geometry, choose_geometry
from raytpnn.engine.gpu.device import Device, Module
from raytpnn.engine.gpu.grid.command import Command
from raytpnn.engine.gpu.grid_records import BIN_TABLES, GRID_COMMAND, GRID_SHARD, MOST_COLUMNS
from raytpnn.engine.gpu.kernel_files import check_family
from raytpnn.engine.gpu.memory import ALIGNMENT, on_device
from raytpnn.engine.problem import Problem, new_record_of
from raytpnn.families import family_of_code
from raytpnn.numerics.lanes import BLOCK, LANES

__all__ = ["GridShard", "RowSet", "row_blocks", "shards_of"]

# Commands that may be under way at a time.
STAGES = 8
# Tables and coefficients begin here behind a command.
NUMBERS = -(-GRID_COMMAND.itemsize // ALIGNMENT) * ALIGNMENT


def row_blocks(stripe: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row blocks of stripes, from the first rows of these and their end.

    Returns
    -------
    (blocks + 1,) int32
        First row of every block, and the end.
    (stripes + 1,) int64
        First block of every stripe, and their number.
    """
    starts = [np.arange(stripe[s], stripe[s + 1], BLOCK) for s in range(len(stripe) - 1)]
    first = np.concatenate([[0], np.cumsum([len(part) for part in starts])])
    return np.concatenate([*starts, stripe[-1:]]).astype(np.int32), first.astype(np.int64)


class RowSet:
    """Rows in the memory of a device, and kernels that pass over them.

    Parameters
    ----------
    device : Device
    stream
        On which everything happens, in order.
    geometry : Geometry
    settings : numpy.record of layout SETTINGS
    stripe : (stripes + 1,) int64
        First rows of stripes low ... high - 1 among these, and their number.
    low, high : int

    Attributes
    ----------
    n : int
        Rows.
    blocks : int
        Row blocks here; nothing is launched if there are none.
    fit, trial : int
        Addresses of two fits; that which holds is the first.
    """

    module: Module
    fit: int
    trial: int

    def __init__(
        self,
        device: Device,
        stream: Any,
        geometry: Geometry,
        settings: np.record,
        stripe: np.ndarray,
        low: int,
        high: int,
    ) -> None:
        self.device, self.stream, self.geometry = device, stream, geometry
        self.low, self.high = low, high
        self.n = int(stripe[-1])
        self.starts, self.first_block = row_blocks(stripe)
        self.blocks = len(self.starts) - 1
        self.width = geometry.width
        self.side = int(settings.K_max) + 1
        self.columns = max(MOST_COLUMNS, self.side)
        self.stage = 0
        self._addresses: list[int] = []
        self._kept: list[np.ndarray] = []

    def _allocate(self, n_bytes: int) -> int:
        self._addresses.append(self.device.allocate(max(n_bytes, ALIGNMENT)))
        return self._addresses[-1]

    def _upload(self, array: np.ndarray) -> int:
        """Address of a copy on the device; the array is kept until it has arrived."""
        self._kept.append(array)
        self._addresses.append(on_device(self.device, array, self.stream))
        return self._addresses[-1]

    def _new_record(self, settings: np.record) -> np.record:
        record = new_record_of(GRID_SHARD)
        record.n, record.family, record.table_width = self.n, settings.family, self.width
        record.stripe_block[: len(self.first_block)] = self.first_block
        record.block_start = self._upload(self.starts)
        return record

    def _make_room(self, record: np.record, max_order: int, numbers: int = 0, back: int = 0) -> None:
        """Room for fits, basis functions and sums, for commands, and for what comes back of them.

        A command may come with so many bytes of numbers, and so many doubles may come back, if that is more
        than what any pass needs.
        """
        record.phi = self._allocate(4 * self.side * self.n)
        self.fit, self.trial = self._allocate(8 * self.n), self._allocate(8 * self.n)
        record.partial = self._allocate(8 * self.blocks * self.columns)
        self.joined = self._allocate(8 * (self.high - self.low) * self.columns)
        record.joined = self.joined
        # In pinned memory and on the device.
        numbers = max(3 * max_order * self.width * 4, 8 * self.side, numbers)
        self.stage_bytes = NUMBERS + -(-numbers // ALIGNMENT) * ALIGNMENT
        self._staged = self._allocate(STAGES * self.stage_bytes)
        self._memory = self.device.pinned(STAGES * self.stage_bytes).reshape(STAGES, self.stage_bytes)
        self.counts = self._allocate(16 * self.width)
        most = max((self.high - self.low) * self.columns, 2 * self.width, back)
        self._back = self.device.pinned(8 * most).view(np.float64)

    def _put(self, record: np.record) -> None:
        """Upload the record, and wait until everything has arrived."""
        self.address = self._upload(np.frombuffer(record.tobytes(), np.uint8))
        self._shard = np.int64(self.address)
        self.device.synchronize(self.device.record(self.stream))
        self._kept = []

    def run(
        self,
        kernel: str,
        command: Command,
        numbers: np.ndarray | None = None,
        parts: int = 1,
        tables: int = 0,
    ) -> None:
        """Enqueue a kernel with a command.

        Parameters
        ----------
        kernel : str
        command : Command
        numbers : (m,) float32 or float64, optional
            Tables or coefficients that the command comes with.
        parts : int
            Blocks of threads for each row block.
        tables : int
            Tables that the kernel reads.
        """
        shared = 4 * tables * self.width if self.geometry.tables_in_shared else 0
        self._send(command, numbers)
        self._launch(kernel, self.blocks * parts, shared)

    def _send(self, command: Command, numbers: np.ndarray | None = None) -> None:
        """Upload a command to a staging buffer that is no longer read."""
        if self.stage == STAGES:
            self.finish()
        memory, place = self._memory[self.stage], self._staged + self.stage * self.stage_bytes
        command.write(memory, place + NUMBERS)
        used = GRID_COMMAND.itemsize
        if numbers is not None and len(numbers):
            used = NUMBERS + numbers.nbytes
            memory[NUMBERS:used] = numbers.view(np.uint8)
        self.device.upload(place, memory[:used], self.stream)
        self._command = np.int64(place)
        self.stage += 1

    def _launch(self, kernel: str, grid: int, shared: int = 0) -> None:
        self.module.launch(kernel, grid, LANES, (self._shard, self._command), shared, self.stream)

    def join(self, columns: int) -> None:
        """Enqueue the sums of stripes, from those of row blocks by the command before, and the way back."""
        stripes = self.high - self.low
        self._launch("grid_join", stripes * -(-columns // LANES))
        self.device.download(self._back[: stripes * columns], self.joined, self.stream)

    def count_bins(self, command: Command, numbers: np.ndarray) -> None:
        """Enqueue sums of bins, int64 as they come back, with tables of the other factors."""
        self.device.clear(self.counts, 8 * command.columns, self.stream)
        self.run("grid_bins", command._replace(out=self.counts), numbers, tables=command.order + BIN_TABLES)
        self.device.download(self._back[: command.columns], self.counts, self.stream)

    def back(self, lines: int, columns: int) -> np.ndarray:
        """What came back, (lines, columns); after `finish`, and until the next way back begins."""
        return self._back[: lines * columns].reshape(lines, columns)

    def finish(self) -> None:
        """Wait for all that was enqueued."""
        self.device.finish(self.stream)
        self.stage = 0

    def take_trial(self) -> None:
        """Make the second fit the one that holds."""
        self.fit, self.trial = self.trial, self.fit

    def close(self) -> None:
        """Give the device's memory back."""
        self.device.finish(self.stream)
        for address in self._addresses:
            self.device.free(address)
        self._addresses = []


class GridShard(RowSet):
    """Stripes low ... high - 1 of a chain's rows on a device.

    Parameters
    ----------
    device : Device
    problem : Problem
        Of which the rows of these stripes are uploaded, and no others.
    settings : numpy.record of layout SETTINGS
    watched : (W,) int64
        Rows, counted over all processes; those that are here are looked at here.
    low, high : int
    passes : bool
        Whether there is room for passes over all these rows, not over subsets of them alone.

    Attributes
    ----------
    start : int
        First row here, of the problem's.
    own_watched : (w,) int64
        Watched rows that are here, of the problem's, and `seen_here` their places among all of them.
    """

    def __init__(
        self,
        device: Device,
        problem: Problem,
        settings: np.record,
        watched: np.ndarray,
        low: int,
        high: int,
        passes: bool = True,
    ) -> None:
        check_family(family_of_code(int(settings.family)))
        stripe = np.array(problem.record.stripe[low : high + 1])
        geometry = choose_geometry(device.limits(), problem, settings)
        self.start = int(stripe[0])
        super().__init__(device, device.stream(), geometry, settings, stripe - self.start, low, high)
        own = watched - int(problem.record.first_row) - self.start
        self.seen_here = np.flatnonzero((own >= 0) & (own < self.n))
        self.own_watched = own[self.seen_here] + self.start
        if not self.blocks:
            return
        self.module = device.compile("rows_grid", geometry.macros(bool(problem.record.wide_codes)))
        record = self._new_record(settings)
        self._upload_rows(problem, record)
        if passes:
            record.watched = self._upload((self.own_watched - self.start).astype(np.int32))
            record.n_watched = len(self.seen_here)
            self.seen = record.seen = self._allocate(8 * self.side * len(self.seen_here))
            self._make_room(record, int(settings.max_order), back=self.side * len(self.seen_here))
        self._put(record)

    def _upload_rows(self, problem: Problem, record: np.record) -> None:
        rows = slice(self.start, self.start + self.n)
        record.y, record.w, record.offset = (
            self._upload(array[rows]) for array in (problem.y, problem.w, problem.offset)
        )
        # Feature by feature: codes lie in the host's memory with all other rows in between.
        size = self.n * problem.codes.itemsize
        self.codes = record.codes = self._allocate(len(problem.codes) * size)
        record.stride = self.n
        for j, column in enumerate(problem.codes):
            self.device.upload(self.codes + j * size, column[rows], self.stream)

    def watch(self, command: Command, lines: int) -> None:
        """Enqueue a look at the watched rows, of the fit and lines - 1 basis functions, and the way back."""
        self._send(command)
        self._launch("grid_watch", lines)
        self.device.download(self._back[: lines * len(self.seen_here)], self.seen, self.stream)


def shards_of(
    devices: Sequence[Device],
    problem: Problem,
    settings: np.record,
    watched: np.ndarray,
    stripes: tuple[int, int],
    passes: bool = True,
) -> list[GridShard]:
    """Split stripes among devices, in order and as evenly as whole stripes allow."""
    low, high = int(stripes[0]), int(stripes[1])
    count = len(devices)
    cuts = [low + (high - low) * g // count for g in range(count + 1)]
    return [
        GridShard(device, problem, settings, watched, cuts[g], cuts[g + 1], passes)
        for g, device in enumerate(devices)
    ]
