"""`RUN/log/`: a line of JSON for every block, so that a run can be followed and timed afterwards.

A session of a run has a file of its own, `log/BEGIN.jsonl`. An object store cannot append: there a session is
several files, `log/BEGIN-0000.jsonl` and so on, one whenever enough time has passed.
"""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from typing import Any

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.monitoring.monitor import Convergence
from raytpnn.chains.observe.observer import Observer
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.plan import Length
from raytpnn.storage.formats.manifest import package_versions, plain
from raytpnn.storage.places.place import Place
from raytpnn.storage.places.uris import shown

__all__ = ["BlockLog"]

# Seconds that lines may wait to be written.
LOCAL_SECONDS, REMOTE_SECONDS = 1.0, 30.0


class BlockLog(Observer):
    """Writes the log of a session.

    Parameters
    ----------
    place : Place
        Folder of the run.
    length : Length
    reporter : Reporter
        Told once if the log cannot be written, which is no reason to end a run.
    executor : str
        Name of who runs the blocks.
    """

    def __init__(self, place: Place, length: Length, reporter: Reporter, executor: str) -> None:
        self.place = place
        self.blocks = length.blocks()
        self.length = length
        self.reporter = reporter
        self.executor = executor
        self.name = f"log/{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
        self.lines: list[str] = []
        self.parts = 0
        self.written = time.monotonic()
        self.broken = False

    def __enter__(self) -> BlockLog:
        self.add(
            "begin",
            chains=self.length.chains,
            sweeps=self.length.sweeps,
            warmup=self.length.warmup,
            executor=self.executor,
            raytpnn=package_versions()["raytpnn"],
            pid=os.getpid(),
        )
        self.write()
        return self

    def __exit__(self, *exception: object) -> None:
        problem = exception[1] if len(exception) > 1 else None
        self.add(
            "end", error=None if problem is None else shown(f"{type(problem).__name__}: {problem}")[:300]
        )
        self.write()

    def add(self, event: str, **facts: Any) -> None:
        """Add a line."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.lines.append(json.dumps(plain({"time": now, "event": event, **facts}), allow_nan=False) + "\n")

    def block(self, worker: int, report: BlockReport) -> None:
        """Take note of a finished block."""
        where = report.where or {"pid": os.getpid()}
        self.add(
            "block",
            chain=report.chain,
            block=report.block,
            sweeps=self.blocks[report.block][1],
            seconds=round(report.seconds, 4),
            terms=report.terms,
            worker=worker,
            **{name: where[name] for name in ("node", "ip", "pid") if name in where},
        )

    def assessed(self, convergence: Convergence) -> None:
        """Take note of R-hat."""
        quantity, rhat = convergence.worst()
        self.add(
            "rhat", worst=rhat, quantity=quantity, least_ess=convergence.least_ess(), draws=convergence.draws
        )

    def tick(self) -> None:
        """Write if it is time."""
        pause = REMOTE_SECONDS if self.place.path is None else LOCAL_SECONDS
        if self.lines and time.monotonic() - self.written > pause:
            self.write()

    def write(self) -> None:
        """Write the lines that wait."""
        data = "".join(self.lines).encode()
        self.lines, self.written = [], time.monotonic()
        if self.broken:
            return
        try:
            if self.place.path is None:
                self.place.write(f"{self.name}-{self.parts:04}.jsonl", data)
                self.parts += 1
            else:
                path = self.place.path / f"{self.name}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(data)
        except OSError as problem:
            self.broken = True
            self.reporter.say(f"the log of the run cannot be written, the run goes on: {problem}")
