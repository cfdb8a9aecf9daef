"""Where finished blocks go: the memory of this process, or the run on disk."""

from __future__ import annotations

import hashlib
import time
from typing import Protocol

import numpy as np

from raytpnn.chains.block_report import BlockReport
from raytpnn.draws.draws import Draws
from raytpnn.storage.checks import named
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.checkpoint import (
    DIGEST_BYTES,
    Checkpoint,
    checkpoint_name,
    draws_name,
    good_block,
    weights_name,
)
from raytpnn.storage.lease import Fence
from raytpnn.storage.places.place import Place, sha256_of_bytes

__all__ = ["BlockStore", "DiskStore", "MemoryStore"]

# How often a worker asks an object store whether its run is still its own: a request takes a while.
REMOTE_CHECK_SECONDS = 5.0


class BlockStore(Protocol):
    """What a worker needs to run block after block of any chain."""

    def state_after(self, chain: int, block: int) -> bytes:
        """State of a chain after a finished block."""

    def finished(self, chain: int, block: int, extent: tuple[int, int]) -> BlockReport | None:
        """Report on a block that somebody has finished already, verified; None if there is none."""

    def weights(self, at: int) -> np.ndarray:
        """Feature weights that hold from a round on, (p,)."""

    def put_weights(self, at: int, weights: np.ndarray) -> None:
        """Keep feature weights."""

    def put(self, report: BlockReport, extent: tuple[int, int], draws: Draws | None, state: bytes) -> None:
        """Keep a finished block: its first sweep and sweeps, the draws it kept, the state after it."""


class MemoryStore:
    """Blocks in memory, for threads of one process."""

    def __init__(self) -> None:
        self.states: dict[int, bytes] = {}
        self.draws: dict[tuple[int, int], Draws] = {}
        self.learned: dict[int, np.ndarray] = {}

    def state_after(self, chain: int, block: int) -> bytes:
        """State of a chain after its latest block, which is the one before the next."""
        return self.states[chain]

    def finished(self, chain: int, block: int, extent: tuple[int, int]) -> BlockReport | None:
        """Nobody dies and leaves blocks behind within a process."""
        return None

    def weights(self, at: int) -> np.ndarray:
        """Feature weights that hold from a round on."""
        return self.learned[at]

    def put_weights(self, at: int, weights: np.ndarray) -> None:
        """Keep feature weights."""
        self.learned[at] = weights

    def put(self, report: BlockReport, extent: tuple[int, int], draws: Draws | None, state: bytes) -> None:
        """Keep a finished block."""
        self.states[report.chain] = state
        if draws is not None:
            self.draws[report.chain, report.block] = draws


class DiskStore:
    """Blocks in a run's folder.

    Parameters
    ----------
    place : Place
    plan : str
        Digest of the run's plan.
    fence : Fence, optional
        Refuses to write when another owner has taken the run over: a block is the same whoever runs it, but
        the new owner may have made the run longer, or begun another one.
    """

    def __init__(self, place: Place, plan: str, fence: Fence | None = None) -> None:
        self.place = place
        self.plan = plan
        self.fence = fence
        self.checked = float("-inf")

    def check(self) -> None:
        """Raise LeaseLost if the run is no longer that of the owner who sent this worker."""
        pause = REMOTE_CHECK_SECONDS if self.place.path is None else 0.0
        if self.fence is not None and time.monotonic() - self.checked >= pause:
            self.fence.check(self.place)
            self.checked = time.monotonic()

    def state_after(self, chain: int, block: int) -> bytes:
        """State of a chain after a finished block."""
        return Checkpoint.read(self.place, chain, block).state

    def finished(self, chain: int, block: int, extent: tuple[int, int]) -> BlockReport | None:
        """Report on a block of which checkpoint and draws are there and whole."""
        try:
            checkpoint = good_block(self.place, self.plan, chain, block, extent)
            return None if checkpoint is None else BlockReport.of(checkpoint)
        except (RunError, OSError, ValueError):
            return None

    def weights(self, at: int) -> np.ndarray:
        """Feature weights that hold from a round on."""
        name = weights_name(at)
        data = self.place.read(name)
        if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
            raise RunError(f"{self.place.name_of(name)} is damaged: its checksum is wrong")
        with named(self.place.name_of(name)):
            return np.frombuffer(data[DIGEST_BYTES:], "<f8")

    def put_weights(self, at: int, weights: np.ndarray) -> None:
        """Write feature weights, their checksum first."""
        self.check()
        data = np.ascontiguousarray(weights, "<f8").tobytes()
        self.place.write(weights_name(at), hashlib.sha256(data).digest() + data)

    def put(self, report: BlockReport, extent: tuple[int, int], draws: Draws | None, state: bytes) -> None:
        """Write the draws, then the checkpoint that makes them count."""
        self.check()
        chain, block, watched = report.chain, report.block, report.watched
        checksum = None
        if draws is not None:
            content = parquet_of(draws)
            checksum = sha256_of_bytes(content)
            self.place.write(draws_name(chain, block), content)
        kept = 0 if draws is None else draws.n_draws
        packed = b"" if watched is None else watched.pack()
        checkpoint = Checkpoint(
            self.plan, chain, block, *extent, kept, checksum, report.facts(), state, packed
        )
        self.place.write(checkpoint_name(chain, block), checkpoint.pack())


def parquet_of(draws: Draws) -> bytes:
    """Content of a file of draws."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from raytpnn.draws.parquet import draws_to_arrow

    sink = pa.BufferOutputStream()
    # Numbers of a chain hardly repeat, and all are read: dictionaries and statistics would only cost.
    plain = {"use_dictionary": False, "write_statistics": False}
    pq.write_table(draws_to_arrow(draws), sink, compression="zstd", **plain)
    return sink.getvalue().to_pybytes()
