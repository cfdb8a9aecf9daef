"""A problem, its chains' scratch space and their draws in the memory of a device."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from raytpnn.engine.gpu.device import Device
from raytpnn.engine.gpu.records import (
    DEVICE_RECORD,
    DEVICE_WORK,
    Arrays,
    record_arrays,
    record_of_arrays,
    work_arrays,
)
from raytpnn.engine.problem import Problem, new_record_of
from raytpnn.engine.records import PROBLEM, Record

__all__ = ["Packing", "ProblemOnDevice", "RecordBuffer", "bytes_of_record", "new_works", "on_device"]

ALIGNMENT = 256
# Fields of PROBLEM that are addresses.
ADDRESSES = (
    *("codes", "first_bin", "n_bins", "bin_value", "bin_weight", "y", "w", "offset"),
    *("feature_weight", "cumulative", "table_sets", "table_weight", "table_cumulative"),
)


@dataclass(frozen=True)
class Packing:
    """Arrays one after the other in one piece of memory.

    Attributes
    ----------
    arrays : dict of str to (shape, type)
    offset : dict of str to int
    n_bytes : int
        Of all of them, a multiple of the alignment.
    """

    arrays: Arrays
    offset: dict[str, int]
    n_bytes: int

    @staticmethod
    def of(arrays: Arrays) -> Packing:
        """Lay arrays out, each aligned."""
        sizes = [int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in arrays.values()]
        ends = list(accumulate((-(-size // ALIGNMENT) * ALIGNMENT for size in sizes), initial=0))
        return Packing(arrays, dict(zip(arrays, ends, strict=False)), max(ends[-1], ALIGNMENT))

    def view(self, memory: np.ndarray, name: str) -> np.ndarray:
        """One of the arrays in host memory, (n_bytes,) uint8."""
        shape, kind = self.arrays[name]
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        start = self.offset[name]
        return memory[start : start + size].view(kind).reshape(shape)


def on_device(device: Device, array: np.ndarray, stream: Any) -> int:
    """Address of a copy of an array; the array must live until the stream has come so far."""
    address = device.allocate(max(array.nbytes, ALIGNMENT))
    if array.nbytes:
        device.upload(address, array, stream)
    return address


class ProblemOnDevice:
    """Data, marginals and feature weights, each array on the device once.

    Parameters
    ----------
    device : Device
    stream
        On which copies are enqueued.
    """

    def __init__(self, device: Device, stream: Any) -> None:
        self.device = device
        self.stream = stream
        self.arrays: dict[int, tuple[int, np.ndarray]] = {}
        self.records: dict[int, tuple[int, Problem, np.ndarray]] = {}

    def record(self, problem: Problem) -> int:
        """Address of a problem's record; problems that share arrays share them on the device too."""
        if id(problem) not in self.records:
            mine = new_record_of(PROBLEM)
            for name in PROBLEM.names or ():
                mine[name] = problem.record[name]
            host = {array.ctypes.data: array for array in problem.others}
            for name in ADDRESSES:
                mine[name] = self._array(host[int(problem.record[name])])
            content = np.frombuffer(mine.tobytes(), np.uint8)
            self.records[id(problem)] = on_device(self.device, content, self.stream), problem, content
        return self.records[id(problem)][0]

    def _array(self, array: np.ndarray) -> int:
        if array.ctypes.data not in self.arrays:
            # The array is kept: its address is its name here.
            self.arrays[array.ctypes.data] = on_device(self.device, array, self.stream), array
        return self.arrays[array.ctypes.data][0]

    def close(self) -> None:
        """Give the memory back."""
        for address, _ in self.arrays.values():
            self.device.free(address)
        for address, _, _ in self.records.values():
            self.device.free(address)
        self.arrays, self.records = {}, {}


def new_works(packing: Packing, address: int, count: int, width: int) -> np.ndarray:
    """Scratch records of `count` chains whose arrays start at an address; `width` entries a table."""
    works = np.zeros(count, DEVICE_WORK)
    works["table_width"] = width
    for name, offset in packing.offset.items():
        works[name] = address + offset + packing.n_bytes * np.arange(count, dtype=np.int64)
    return works


def scratch_packing(settings: np.record, n: int, width: int, tables_in_shared: bool) -> Packing:
    """Scratch space of one chain."""
    return Packing.of(work_arrays(settings, n, width, tables_in_shared))


def bytes_of_record(settings: np.record, draws: int, n_watched: int, levels: int) -> int:
    """Device memory of one chain's draws in one block."""
    return Packing.of(record_arrays(settings, draws, n_watched, levels)).n_bytes


class RecordBuffer:
    """Room for one block's draws of all chains of a launch: on the device, and where they are copied to.

    Parameters
    ----------
    device : Device
    packing : Packing
        Of one chain's draws.
    watched : (W,) int64
    watched_address : int
        The same on the device.
    count : int
        Chains, or ensembles.
    """

    def __init__(
        self, device: Device, packing: Packing, watched: np.ndarray, watched_address: int, count: int
    ) -> None:
        self.device = device
        self.packing = packing
        self.watched = watched
        self.n_bytes = packing.n_bytes * count
        self.address = device.allocate(self.n_bytes)
        self.host = device.pinned(self.n_bytes)
        self.first = np.zeros(count, DEVICE_RECORD)
        self.first["n_watched"] = len(watched)
        self.first["watched"] = watched_address
        for name, offset in packing.offset.items():
            self.first[name] = self.address + offset + packing.n_bytes * np.arange(count, dtype=np.int64)
        self.records = device.allocate(self.first.nbytes)

    def clear(self, stream: Any) -> None:
        """Make it empty."""
        self.device.clear(self.address, self.n_bytes, stream)
        self.device.upload(self.records, self.first, stream)

    def fetch(self, count: int, stream: Any) -> None:
        """Copy the draws of the first chains to the host."""
        size = self.packing.n_bytes * count
        self.device.download(self.host[:size], self.address, stream)

    def take(self, chain: int) -> tuple[Record, np.ndarray | None]:
        """Draws of a chain that were fetched, and the trace of an ensemble; copies, of an empty one zeros."""
        size = self.packing.n_bytes
        memory = self.host[chain * size : (chain + 1) * size].copy()
        arrays = {name: self.packing.view(memory, name) for name in self.packing.arrays}
        trace = arrays.pop("trace", None)
        return record_of_arrays(self.watched, arrays), trace

    def close(self) -> None:
        """Give the memory back."""
        self.device.free(self.address)
        self.device.free(self.records)
