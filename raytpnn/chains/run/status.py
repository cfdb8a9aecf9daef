"""A run seen from outside, from nothing but its files, on any machine that can read them."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.monitoring.monitor import Convergence, Monitor
from raytpnn.chains.run.run import Run
from raytpnn.forward.probe import probe_rows
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.checkpoint import CHECKPOINT, READERS, good_block
from raytpnn.storage.formats.manifest import read_manifest
from raytpnn.storage.lease import LeaseSight
from raytpnn.storage.places.place import Place

__all__ = ["Sight", "StatusReader"]

# Speed is that of the latest blocks: of so many of the longest pauses between two blocks, or seconds if more.
PAUSES, LEAST_SECONDS = 3.0, 60.0
# Silence that is no longer usual.
SILENT_PAUSES, SILENT_SECONDS = 10.0, 120.0
# Of more blocks than this nothing is read but their names: no K and no R-hat.
MOST_BLOCKS = 2000
Where = tuple[int, int]


@dataclass
class Sight:
    """What is to be seen of a run.

    Attributes
    ----------
    state : {"running", "silent", "dead", "stopped", "finished", "saved"}
        "silent" is a run that should go on, but has finished no block for far longer than one takes; "dead"
        one whose owner is gone, or has given it up after an error.
    stopped : str or None
        What ended it early: "target", "time limit", "interrupt".
    converged : bool or None
        Whether the targets were met; None without, or before the end.
    chains, sweeps, warmup : int
        Of the run, and of every chain.
    done : list of int
        Sweeps of every chain.
    blocks, planned : int
        Blocks that are there, and that there should be.
    age : float
        Seconds since the last block (since the run was last written to, if there is none).
    speed : float
        Sweeps a second, all chains together; NaN if it cannot be known.
    terms : list of int or None
        K of every chain after its latest block; None if not known.
    until : bool
        Whether chains go on until they have converged: sweeps and blocks are then the most there may be.
    convergence : Convergence or None
    problems : list of str
        Files that cannot be used.
    owner : str
        Who works on it, or was the last to; empty if not known.
    """

    state: str
    stopped: str | None = None
    converged: bool | None = None
    chains: int = 0
    sweeps: int = 0
    warmup: int = 0
    done: list[int] = field(default_factory=list)
    blocks: int = 0
    planned: int = 0
    age: float = float("nan")
    speed: float = float("nan")
    terms: list[int | None] = field(default_factory=list)
    until: bool = False
    convergence: Convergence | None = None
    problems: list[str] = field(default_factory=list)
    owner: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be expected."""
        return self.state in ("stopped", "finished", "saved")

    def seconds_left(self) -> float:
        """Seconds to the last sweep at this speed; NaN if that cannot be known."""
        left = self.sweeps * self.chains - sum(self.done)
        return left / self.speed if self.speed > 0 else float("nan")


class StatusReader:
    """Looks at a run again and again; what was read once is not read again.

    Parameters
    ----------
    place : Place
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, place: Place, clock: Callable[[], float] = time.time) -> None:
        self.place = place
        self.clock = clock
        self.lease = LeaseSight(place)
        # Of blocks by chain and number: when they were written, and what was found in them.
        self.read: dict[Where, tuple[float, BlockReport | str]] = {}
        self.assessed: tuple[int, ...] = ()
        self.convergence: Convergence | None = None

    def look(self) -> Sight:
        """What is to be seen now; RunError if there is no run."""
        manifest = read_manifest(self.place)
        owner = "none"
        if manifest.get("state") == "running":
            owner = self.lease.look()
            if owner == "released":
                # It may have ended between the two looks.
                manifest = read_manifest(self.place)
        if "plan" not in manifest:
            return Sight(state="saved", chains=int(manifest["config"].get("chains") or 0))
        run = Run(self.place, manifest)
        length, blocks = run.length, run.length.blocks()
        there = self.blocks_there(run)
        problems = []
        if len(there) <= MOST_BLOCKS:
            self.take_in(run, there)
            found = {where: self.read[where][1] for where in there}
            problems = [told for told in found.values() if isinstance(told, str) and told]
            there = {where: there[where] for where in there if not isinstance(found[where], str)}
        now = self.clock()
        newest = max(there.values(), default=None) or max(self.place.times("data").values(), default=now)
        age, pause = max(now - newest, 0.0), longest_pause(there)
        state = manifest["state"]
        if state == "running" and owner in ("dead", "released"):
            state = "dead"
        if state == "running" and age > max(SILENT_PAUSES * pause, SILENT_SECONDS):
            state = "silent"
        done = [0] * length.chains
        for chain, block in there:
            done[chain] += blocks[block][1]
        return Sight(
            state=state,
            stopped=manifest["config"].get("stopped"),
            converged=manifest["config"].get("converged"),
            chains=length.chains,
            sweeps=length.sweeps,
            warmup=length.warmup,
            done=done,
            blocks=len(there),
            planned=len(blocks) * length.chains,
            until=length.until,
            age=age,
            speed=speed(there, blocks, pause),
            terms=[self.terms(chain) for chain in range(length.chains)],
            convergence=self.assess(run, there),
            problems=problems,
            owner="" if self.lease.record is None else str(self.lease.record.owner),
        )

    def blocks_there(self, run: Run) -> dict[Where, float]:
        """When each block was written, by chain and number."""
        length = run.length
        most = len(length.blocks())
        found = ((CHECKPOINT.fullmatch(name), at) for name, at in self.place.times("checkpoint").items())
        there = {(int(match[1]), int(match[2])): at for match, at in found if match}
        return {
            where: there[where] for where in sorted(there) if where[0] < length.chains and where[1] < most
        }

    def take_in(self, run: Run, there: dict[Where, float]) -> None:
        """Read what is new."""
        blocks, digest = run.length.blocks(), run.manifest["plan"]["digest"]

        def read(where: Where) -> BlockReport | str:
            try:
                checkpoint = good_block(self.place, digest, *where, blocks[where[1]], draws=False)
                # One of another length does not count, and is no problem.
                return "" if checkpoint is None else BlockReport.of(checkpoint)
            except (RunError, OSError, ValueError) as problem:
                return str(problem)

        new = [where for where, at in there.items() if self.read.get(where, (None,))[0] != at]
        with ThreadPoolExecutor(READERS) as readers:
            for where, found in zip(new, readers.map(read, new), strict=True):
                self.read[where] = there[where], found

    def terms(self, chain: int) -> int | None:
        """K of a chain after its latest block that was read."""
        mine = [
            found for (c, _), (_, found) in self.read.items() if c == chain and isinstance(found, BlockReport)
        ]
        return max(mine, key=lambda report: report.block).terms if mine else None

    def assess(self, run: Run, there: dict[Where, float]) -> Convergence | None:
        """R-hat of the rounds that are complete; None if there are no draws in them, or too many blocks."""
        chains = run.length.chains
        rounds = 0
        while all((chain, rounds) in there for chain in range(chains)):
            rounds += 1
        if rounds == 0 or len(there) > MOST_BLOCKS:
            return None
        if self.assessed == (chains, rounds):
            return self.convergence
        rows = probe_rows(run.manifest["n_rows"])
        monitor = Monitor(chains, run.manifest["feature_names"], rows, run.length)
        for chain, block in there:
            report = self.read[chain, block][1]
            assert isinstance(report, BlockReport)
            monitor.add(chain, block, report.watched)
        self.assessed = chains, rounds
        self.convergence = monitor.assess(rounds - 1)
        return self.convergence


def longest_pause(there: dict[Where, float]) -> float:
    """Longest of the usual times between two blocks of a chain: the median of each, 0 if none has two."""
    by_chain: dict[int, list[float]] = {}
    for (chain, _), at in there.items():
        by_chain.setdefault(chain, []).append(at)
    pauses = []
    for times in by_chain.values():
        times.sort()
        if len(times) > 1:
            pauses.append(statistics.median(b - a for a, b in itertools.pairwise(times)))
    return max(pauses, default=0.0)


def speed(there: dict[Where, float], blocks: list[tuple[int, int]], pause: float) -> float:
    """Sweeps a second of the latest blocks; NaN of fewer than two."""
    if len(there) < 2:
        return float("nan")
    newest, oldest = max(there.values()), min(there.values())
    since = max(newest - max(PAUSES * pause, LEAST_SECONDS), oldest)
    # What was written at the start of this time was computed before it.
    sweeps = sum(blocks[block][1] for (_, block), at in there.items() if at > since)
    return sweeps / (newest - since) if newest > since else float("nan")
