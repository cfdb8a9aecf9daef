"""The status of a run, from nothing but its files, on any machine that can read them."""

from __future__ import annotations

import itertools
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.monitoring.monitor import Convergence, Monitor
from raytpnn.chains.monitoring.watched import Watched
from raytpnn.chains.run.repair import source
from raytpnn.chains.run.run import Run
from raytpnn.forward.probe import probe_rows
from raytpnn.storage.checks import named
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.checkpoint import CHECKPOINT, READERS, draws_name, good_block
from raytpnn.storage.formats.manifest import MANIFEST, read_manifest
from raytpnn.storage.lease import LeaseReader
from raytpnn.storage.places.place import Place

__all__ = ["RunStatus", "StatusReader", "status"]

# Speed is that of the latest blocks: of so many of the longest pauses between two blocks, or seconds if more.
PAUSES, LEAST_SECONDS = 3.0, 60.0
# Silence that is no longer usual.
SILENT_PAUSES, SILENT_SECONDS = 10.0, 120.0
# Of more blocks than this nothing is read but their names: no K and no R-hat.
MOST_BLOCKS = 2000
Where = tuple[int, int]


@dataclass
class RunStatus:
    """What is to be seen of a run.

    Attributes
    ----------
    state : str
        "preparing": its data are being written, there is no run yet; "running"; "silent": it should go on,
        but has finished no block for far longer than one takes; "dead": its owner is gone, or has given it up
        after an error, and `raytpnn.resume` goes on; "stopped" by an interrupt or a time limit, and
        `raytpnn.resume` goes on; "finished"; "saved": a posterior without its chains; "repairable": its
        manifest is lost or damaged, and `raytpnn repair` rebuilds it.
    stopped : str or None
        What ended it early: "target", "time limit", "interrupt".
    converged : bool or None
        Whether the targets were met; None without, or before the end.
    chains, sweeps, warmup : int
        Chains of the run; sweeps planned of every chain, and how many of them are warm-up.
    done : list of int
        Sweeps that every chain has finished.
    draws : list of int or None
        Draws that every chain has so far, of those that count; None if not known.
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
        R-hat and effective draws of all that is compared: of the rounds that are complete, or, of a run that
        has ended, those that were found then.
    problems : list of str
        Files that cannot be used.
    owner : str
        Who works on it, or was the last to; empty if not known.
    lease : {"none", "released", "alive", "dead", "unknown"}
        What the owner's lease shows: "released" was given back, "dead" was not renewed.
    """

    state: str
    stopped: str | None = None
    converged: bool | None = None
    chains: int = 0
    sweeps: int = 0
    warmup: int = 0
    done: list[int] = field(default_factory=list)
    draws: list[int | None] = field(default_factory=list)
    blocks: int = 0
    planned: int = 0
    age: float = math.nan
    speed: float = math.nan
    terms: list[int | None] = field(default_factory=list)
    until: bool = False
    convergence: Convergence | None = None
    problems: list[str] = field(default_factory=list)
    owner: str = ""
    lease: str = "none"

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be expected."""
        return self.state in ("stopped", "finished", "saved")

    @property
    def rhat(self) -> float:
        """Largest R-hat of what the chains must agree on; NaN before it is known."""
        return math.nan if self.convergence is None else self.convergence.worst()[1]

    @property
    def ess(self) -> float:
        """Least effective number of draws of what the chains must agree on; NaN before it is known."""
        known = self.convergence is not None and self.convergence.deciding
        return self.convergence.least_ess() if known and self.convergence is not None else math.nan

    @property
    def seconds_left(self) -> float:
        """Seconds to the last sweep at this speed; NaN if that cannot be known."""
        left = self.sweeps * self.chains - sum(self.done)
        return left / self.speed if self.speed > 0 else math.nan

    def as_dict(self) -> dict[str, Any]:
        """All of it, with what agrees least in the place of the whole table."""
        summary = None
        if self.convergence is not None:
            quantity, rhat = self.convergence.worst()
            summary = {
                "rhat_worst": rhat,
                "quantity": quantity,
                "ess_least": self.convergence.least_ess(),
                "draws": self.convergence.draws,
            }
        return asdict(self) | {"seconds_left": self.seconds_left, "convergence": summary}


def status(run: str | os.PathLike[str]) -> RunStatus:
    """Look at a run: running, stopped, killed, finished, or to be repaired.

    Reads checkpoints, not draws, and changes nothing: it can be called while the run goes on.

    Parameters
    ----------
    run : path or URI
        Folder of a run that `raytpnn.sample(out=...)` or `raytpnn fit` began, or of a saved posterior.

    Returns
    -------
    RunStatus

    Raises
    ------
    RunError
        If there is no run, or nothing of it can be used.
    """
    return StatusReader(Place(run)).look()


class StatusReader:
    """Looks at a run again and again; what was read once is not read again.

    Parameters
    ----------
    place : Place
    clock : callable
        Seconds since 1970.
    every_block : bool
        Read all blocks, however many there are.
    verify_draws : bool
        Read the draws of the blocks too, to name those that are damaged.

    Attributes
    ----------
    run : Run or None
        As of the last look; None of a posterior without its chains.
    reports : list of dict of int to BlockReport
        Of the blocks that were read, by chain and number.
    rounds : int
        Complete rounds that count.
    monitor : Monitor or None
        Holds what was watched of the blocks that count; None if blocks were not read.
    """

    def __init__(
        self,
        place: Place,
        clock: Callable[[], float] = time.time,
        every_block: bool = False,
        verify_draws: bool = False,
    ) -> None:
        self.place = place
        self.clock = clock
        self.every_block = every_block
        self.verify_draws = verify_draws
        self.lease = LeaseReader(place)
        self.run: Run | None = None
        self.reports: list[dict[int, BlockReport]] = []
        self.rounds = 0
        self.monitor: Monitor | None = None
        # Of blocks by chain and number: when they were written, and what was found in them.
        self.read: dict[Where, tuple[float, BlockReport | str]] = {}
        self.labels: Sequence[str] = ()
        self.assessed: tuple[int, ...] = ()
        self.convergence: Convergence | None = None

    def look(self) -> RunStatus:
        """What is to be seen now; RunError if there is no run."""
        try:
            manifest = read_manifest(self.place)
        except RunError as problem:
            return self.without_manifest(problem)
        lease = self.lease.look()
        if manifest.get("state") == "running" and lease == "released":
            # It may have ended between the two looks.
            manifest = read_manifest(self.place)
        owner = "" if self.lease.record is None else str(self.lease.record.owner)
        if "plan" not in manifest:
            self.run = None
            chains = int(manifest["config"].get("chains") or 0)
            return RunStatus(state="saved", chains=chains, owner=owner, lease=lease)
        run = self.run = Run(self.place, manifest)
        length, blocks = run.length, run.length.blocks()
        there = self.blocks_there(run)
        problems = []
        self.monitor, self.reports = None, [{} for _ in range(length.chains)]
        if len(there) <= MOST_BLOCKS or self.every_block:
            problems = self.take_in(run, there)
            there = {where: there[where] for where in there if where[1] in self.reports[where[0]]}
            self.watch(run, problems)
        now = self.clock()
        newest = max(there.values(), default=None) or max(self.place.times("data").values(), default=now)
        age, pause = max(now - newest, 0.0), longest_pause(there)
        state = manifest["state"]
        if state == "running" and lease in ("dead", "released"):
            state = "dead"
        if state == "running" and age > max(SILENT_PAUSES * pause, SILENT_SECONDS):
            state = "silent"
        done = [0] * length.chains
        for chain, block in there:
            done[chain] += blocks[block][1]
        return RunStatus(
            state=state,
            stopped=manifest["config"].get("stopped"),
            converged=manifest["config"].get("converged"),
            chains=length.chains,
            sweeps=length.sweeps,
            warmup=length.warmup,
            done=done,
            draws=[None if self.monitor is None else n for n in self.draws()],
            blocks=len(there),
            planned=len(blocks) * length.chains,
            until=length.until,
            age=age,
            speed=speed(there, blocks, pause),
            terms=[reports[max(reports)].terms if reports else None for reports in self.reports],
            convergence=self.assess(run),
            problems=problems,
            owner=owner,
            lease=lease,
        )

    def without_manifest(self, problem: RunError) -> RunStatus:
        """Status of a run that is being prepared or can be repaired; else raises the problem."""
        lease = self.lease.look()
        owner = "" if self.lease.record is None else str(self.lease.record.owner)
        if lease == "alive" and not self.place.holds(MANIFEST):
            return RunStatus(state="preparing", owner=owner, lease=lease)
        try:
            source(self.place)
        except (RunError, OSError):
            raise problem from None
        return RunStatus(state="repairable", problems=[str(problem)], owner=owner, lease=lease)

    def blocks_there(self, run: Run) -> dict[Where, float]:
        """When each block was written, by chain and number."""
        length = run.length
        most = len(length.blocks())
        found = ((CHECKPOINT.fullmatch(name), at) for name, at in self.place.times("checkpoint").items())
        there = {(int(match[1]), int(match[2])): at for match, at in found if match}
        return {
            where: there[where] for where in sorted(there) if where[0] < length.chains and where[1] < most
        }

    def take_in(self, run: Run, there: dict[Where, float]) -> list[str]:
        """Read what is new; what is wrong with blocks that cannot be used."""
        length, digest = run.length, run.manifest["plan"]["digest"]
        blocks, dropped = length.blocks(), run.dropped_sweeps

        def read(where: Where) -> BlockReport | str:
            extent = blocks[where[1]]
            try:
                draws = self.verify_draws and sum(extent) > dropped
                checkpoint = good_block(self.place, digest, *where, extent, draws)
                # One of another length does not count, and is no problem.
                return "" if checkpoint is None else BlockReport.of(checkpoint)
            except (RunError, OSError, ValueError) as problem:
                return str(problem)

        new = [where for where, at in there.items() if self.read.get(where, (None,))[0] != at]
        with ThreadPoolExecutor(READERS) as readers:
            for where, found in zip(new, readers.map(read, new), strict=True):
                self.read[where] = there[where], found
        problems = []
        for chain, block in there:
            found = self.read[chain, block][1]
            if isinstance(found, BlockReport):
                self.reports[chain][block] = found
            elif found:
                problems.append(found)
        return problems

    def watch(self, run: Run, problems: list[str]) -> None:
        """Collect what was watched of the blocks that count, as the scheduler does while chains run."""
        length, manifest = run.length, run.manifest
        if not self.labels:
            try:
                self.labels = run.encoder().labels
            except RunError as problem:
                problems.append(str(problem))
                self.labels = manifest["feature_names"]
        ended = manifest["state"] != "running"
        self.monitor = Monitor(length.chains, self.labels, probe_rows(manifest["n_rows"]), length)
        for chain, reports in enumerate(self.reports):
            for block, report in reports.items():
                # Of a run that a target ended, later blocks do not count.
                if not ended or draws_name(chain, block) in manifest["files"]:
                    self.monitor.add(chain, block, report.watched)
        complete = itertools.takewhile(lambda r: all(r in own for own in self.reports), itertools.count())
        self.rounds = sum(1 for _ in complete)
        if ended and manifest.get("counted"):
            self.rounds = -(-manifest["counted"]["sweeps"] // length.block_sweeps)

    def draws(self) -> list[int]:
        """Draws of every chain that count."""
        if self.monitor is None or self.run is None:
            return [0] * len(self.reports)
        return [sum(part.n_draws for part in parts) for parts in self.watched()]

    def watched(self) -> list[list[Watched]]:
        """What was watched of the draws that count, by chain.

        Of a run that goes on until it has converged, those of complete rounds count.
        """
        assert self.monitor is not None
        assert self.run is not None
        length = self.run.length
        return self.monitor.blocks_up_to(self.rounds - 1 if length.until else len(length.blocks()))

    def assess(self, run: Run) -> Convergence | None:
        """R-hat of the rounds that are complete; None if there are no draws in them, or too many blocks.

        Of a run that has ended, what was found then.
        """
        kept = run.manifest["config"].get("diagnostics")
        if kept and run.manifest["state"] != "running":
            with named(self.place.name_of(MANIFEST)):
                return Convergence.of_records(kept, run.manifest["n_draws"] // run.length.chains)
        if self.monitor is None or self.rounds == 0:
            return None
        if self.assessed != (run.length.chains, self.rounds):
            self.assessed = run.length.chains, self.rounds
            self.convergence = self.monitor.assess(self.rounds - 1)
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
