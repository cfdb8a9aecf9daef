"""Where finished blocks go: the memory of this process, or the run on disk."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from raytpnn.chains.block_report import BlockReport
from raytpnn.draws.draws import Draws
from raytpnn.draws.files import draws_content
from raytpnn.storage.checks import named
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.checkpoint import (
    DIGEST_BYTES,
    Checkpoint,
    checkpoint_name,
    draws_name,
    good_block,
    sets_name,
    weights_name,
)
from raytpnn.storage.formats.length import Length
from raytpnn.storage.lease import Fence, Lease
from raytpnn.storage.places.place import Place, sha256_of_bytes

__all__ = ["BlockStore", "DiskStore", "MemoryRun", "MemoryStore", "RunStore"]

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

    def proposals(self, at: int) -> bytes | None:
        """Feature weights and table of sets that hold from a round on, packed; None if they are not there."""

    def put_proposals(self, at: int, content: bytes) -> None:
        """Keep feature weights and a table of sets."""

    def put(
        self, report: BlockReport, extent: tuple[int, int], draws: Draws | None, state: bytes
    ) -> BlockReport:
        """Keep a finished block: its first sweep and sweeps, the draws it kept, the state after it.

        Gives the report with the checksum of the draws, if they are in a file.
        """


class RunStore(Protocol):
    """A run while its chains run: on disk (`Run`), or in memory (`MemoryRun`)."""

    @property
    def place(self) -> Place | None:
        """Folder of the run; None in memory."""

    @property
    def lease(self) -> Lease | None:
        """That of this process, if it owns the folder."""

    @property
    def store(self) -> BlockStore:
        """Where blocks go."""

    def end(self, config: dict[str, Any], rounds: int | None, reports: list[dict[int, BlockReport]]) -> None:
        """Take note of how the run went, of the rounds that count (None: all), and of its blocks."""

    def draws(self, n_features: int) -> Draws | None:
        """Draws that count of a run that has ended; None if there is none."""


class MemoryStore:
    """Blocks in memory, for threads of one process."""

    def __init__(self) -> None:
        self.states: dict[int, bytes] = {}
        self.draws: dict[tuple[int, int], Draws] = {}
        self.learned: dict[int, np.ndarray] = {}
        self.tables: dict[int, bytes] = {}

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

    def proposals(self, at: int) -> bytes | None:
        """Content of the proposals that hold from a round on; None if they are not there."""
        return self.tables.get(at)

    def put_proposals(self, at: int, content: bytes) -> None:
        """Keep proposals."""
        self.tables[at] = content

    def put(
        self, report: BlockReport, extent: tuple[int, int], draws: Draws | None, state: bytes
    ) -> BlockReport:
        """Keep a finished block."""
        self.states[report.chain] = state
        if draws is not None:
            self.draws[report.chain, report.block] = draws
        return report


@dataclass
class MemoryRun:
    """A run in memory.

    Attributes
    ----------
    length : Length
    store : MemoryStore
    """

    length: Length
    store: MemoryStore = field(default_factory=MemoryStore)
    place: None = None
    lease: None = None
    rounds: int | None = None

    def end(self, config: dict[str, Any], rounds: int | None, reports: list[dict[int, BlockReport]]) -> None:
        """Take note of the rounds that count."""
        self.rounds = rounds

    def draws(self, n_features: int) -> Draws | None:
        """Draws that count; None if there is none."""
        rounds, length = self.rounds, self.length
        parts = [
            part for (_, block), part in sorted(self.store.draws.items()) if rounds is None or block < rounds
        ]
        drawn = Draws.concatenate(parts) if parts else None
        if drawn is not None and length.until:
            assert rounds is not None
            drawn = drawn.counted(length.counted(length.sweeps_of(rounds)))
        return drawn if drawn is not None and drawn.n_draws else None


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

    def proposals(self, at: int) -> bytes | None:
        """Content of the proposals that hold from a round on; None if they are missing or damaged."""
        try:
            data = self.place.read(sets_name(at))
        except FileNotFoundError:
            return None
        content = data[DIGEST_BYTES:]
        return content if hashlib.sha256(content).digest() == data[:DIGEST_BYTES] else None

    def put_proposals(self, at: int, content: bytes) -> None:
        """Write proposals, their checksum first."""
        self.check()
        self.place.write(sets_name(at), hashlib.sha256(content).digest() + content)

    def put(
        self, report: BlockReport, extent: tuple[int, int], draws: Draws | None, state: bytes
    ) -> BlockReport:
        """Write the draws, then the checkpoint that makes them count."""
        self.check()
        chain, block, watched = report.chain, report.block, report.watched
        if draws is not None:
            content = draws_content(draws)
            report = replace(report, draws_sha256=sha256_of_bytes(content))
            self.place.write(draws_name(chain, block), content)
        packed = b"" if watched is None else watched.pack()
        checkpoint = Checkpoint(
            plan=self.plan,
            chain=chain,
            block=block,
            first=extent[0],
            sweeps=extent[1],
            draws=report.draws,
            draws_sha256=report.draws_sha256,
            facts=report.facts(),
            state=state,
            watched=packed,
        )
        self.place.write(checkpoint_name(chain, block), checkpoint.pack())
        return report
