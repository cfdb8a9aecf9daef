"""The kernels of sweep.cu on the CPU host, launched by hand: chains and ensembles."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from support.cuda_host.build import KERNELS, HostLibrary, build

from raytpnn.engine.chain import Chain
from raytpnn.engine.gpu.records import (
    BEGIN,
    DEVICE_RECORD,
    DEVICE_WORK,
    PRIOR_DRAWS,
    record_arrays,
    record_of_arrays,
    screens,
    shared_table_bytes,
    table_width,
    work_arrays,
)
from raytpnn.engine.problem import Problem
from raytpnn.engine.records import SWEEPS_DONE, Record
from raytpnn.engine.tempering.replicas import ReplicaSet


@dataclass(frozen=True)
class Launch:
    """How kernels are compiled and run."""

    threads: int = 64
    order: str = "ascending"
    tables_in_shared: bool = True
    variant: str = "plain"
    os_threads: int = 1
    library: HostLibrary | None = None  # compiled already


def own_arrays(shapes, target, fill):
    """Allocate what a record points to, every byte `fill`, and write the addresses into it."""
    arrays = {}
    for name, (shape, dtype) in shapes.items():
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays[name] = np.full(size, fill, np.uint8).view(dtype).reshape(shape)
        target[name] = arrays[name].ctypes.data
    return arrays


def n_bins_of(problem: Problem) -> np.ndarray:
    return next(a for a in problem.others if a.ctypes.data == int(problem.record["n_bins"]))


class HostKernels:
    """Scratch space for some states, and launches of both kernels on them."""

    def __init__(self, problem: Problem, settings, states: np.ndarray, launch: Launch) -> None:
        self.problem, self.settings, self.states, self.launch = problem, settings, states, launch
        wide = int(problem.record.wide_codes)
        macros = (f"WIDE_CODES={wide}", f"TABLES_IN_SHARED={int(launch.tables_in_shared)}")
        if screens(settings):
            macros += ("SCREENED=1",)
        self.library = launch.library or build(KERNELS / "sweep.cu", macros, launch.variant)
        width = table_width(n_bins_of(problem))
        self.shared_bytes = shared_table_bytes(settings, width) if launch.tables_in_shared else 0
        self.works = np.zeros(len(states), DEVICE_WORK)
        self.works["table_width"] = width
        shapes = work_arrays(settings, len(problem.y), width, launch.tables_in_shared)
        # Full of NaN: kernels must not count on what is there before them.
        self.arrays = [own_arrays(shapes, work, 0xFF) for work in self.works]

    def records(self, count: int, draws: int, watched: np.ndarray, levels: int = 0):
        """Zeroed room for draws; returns the device's records, those of NumPy, and traces."""
        made, records, traces = np.zeros(count, DEVICE_RECORD), [], []
        for one in made:
            arrays = own_arrays(record_arrays(self.settings, draws, len(watched), levels), one, 0)
            one["watched"], one["n_watched"] = watched.ctypes.data, len(watched)
            traces.append(arrays.pop("trace", None))
            records.append(record_of_arrays(watched, arrays))
        return made, records, traces

    def run(self, kernel: str, grid: int, *arguments) -> None:
        problem = np.frombuffer(self.problem.record, np.uint8)
        settings = np.frombuffer(self.settings, np.uint8)
        self.library.launch(
            kernel,
            grid,
            self.launch.threads,
            (problem, settings, self.states, self.works, *arguments),
            self.shared_bytes,
            order=self.launch.order,
            os_threads=self.launch.os_threads,
        )

    def sweep_block(self, made, first, sweeps, warmup, thin, flags) -> None:
        at = np.zeros(0) if made is None else made
        records = ctypes.c_longlong(0 if made is None else at.ctypes.data)
        self.run("sweep_block", len(self.states), records, first, sweeps, warmup, thin, ctypes.c_int(flags))

    def end_sweep(self, ladders, made, index, warmup, thin) -> None:
        self.run("end_sweep", len(ladders), ladders, made, index, warmup, thin)


def kept(first, sweeps, warmup, thin) -> int:
    return max(0, first + sweeps - warmup) // thin - max(0, first - warmup) // thin


class KernelChains:
    """Copies of a chain's state on several streams, run by one launch a block."""

    def __init__(self, chain: Chain, launch: Launch, streams=(0,)) -> None:
        self.states = np.array([np.asarray(chain.state)] * len(streams))
        self.states["stream"][:, 2] = streams
        self.kernels = HostKernels(chain.problem, chain.settings, self.states, launch)
        self.watched = chain.watched

    def run(self, first, sweeps, warmup, thin) -> list[Record]:
        draws = kept(first, sweeps, warmup, thin)
        made, records, _ = self.kernels.records(len(self.states), max(draws, 1), self.watched)
        self.kernels.sweep_block(made, first, sweeps, warmup, thin, BEGIN)
        assert (made["row"] == draws).all()
        assert (self.kernels.works["control"][:, SWEEPS_DONE] == first + sweeps).all()
        return records


class KernelEnsembles:
    """Copies of ensembles of replicas of as many levels, run together."""

    def __init__(self, ensembles: list[ReplicaSet], launch: Launch) -> None:
        first = ensembles[0]
        self.levels = first.tempering.replicas
        self.states = np.concatenate([np.asarray(one.states) for one in ensembles])
        self.ladders = np.array([np.asarray(one.ladder) for one in ensembles])
        self.kernels = HostKernels(first.problem, first.settings, self.states, launch)
        self.watched = first.watched

    def run(self, first, sweeps, warmup, thin):
        """Sweep by sweep, as `run_ensemble` does; returns records and traces."""
        draws = max(kept(first, sweeps, warmup, thin), 1)
        made, records, traces = self.kernels.records(len(self.ladders), draws, self.watched, self.levels)
        flags = PRIOR_DRAWS if self.ladders["prior_draws"][0] else 0
        for index in range(first, first + sweeps):
            begin = BEGIN if index == first else 0
            self.kernels.sweep_block(None, index, 1, warmup, thin, flags + begin)
            self.kernels.end_sweep(self.ladders, made, index, warmup, thin)
        return records, traces


def differing(left: np.ndarray, right: np.ndarray) -> list[str]:
    """Fields in which two records differ, by their bytes."""
    return [name for name in left.dtype.names if left[name].tobytes() != right[name].tobytes()]


def differing_draws(left: Record, right: Record) -> list[str]:
    """Fields in which the draws of two blocks differ, by their bytes."""
    return [
        name for name in Record._fields if getattr(left, name).tobytes() != getattr(right, name).tobytes()
    ]
