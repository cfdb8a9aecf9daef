"""One owner: whoever works on a run holds its lease, and shows that he is alive by renewing it.

`RUN/lease/000007.json` is the lease of the seventh owner. The owner is who has the highest number; a number
is given once (`Place.create`), and only its owner writes to its file. So the next owner needs nothing of the
one before, and whoever was taken for dead and is not finds a higher number and stops.

An owner on the same machine is dead when its process is gone. Of others it is seen from here whether the
lease changes, by the time of this machine: no two clocks are compared, and none may jump.
"""

from __future__ import annotations

import copy
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from raytpnn.storage.checks import parsed_json, whole
from raytpnn.storage.errors import RunError
from raytpnn.storage.places.identity import Process, own_process
from raytpnn.storage.places.place import LEASE_FOLDER, Place

__all__ = ["Fence", "Lease", "LeaseLost", "LeaseReader", "RunInUse"]

# Seconds between two renewals, and after which an owner that does not renew is taken for dead.
RENEW_SECONDS, EXPIRE_SECONDS = 5.0, 60.0
# How long the end of a run waits for a renewal that is under way.
RELEASE_SECONDS = 10.0
# How often somebody who waits for a verdict looks.
LOOK_SECONDS = 0.5
MOST = (1 << 63) - 1
NAME = re.compile(LEASE_FOLDER + r"/(\d{6,18})\.json")


class RunInUse(RunError):
    """A run that another process works on."""


class LeaseLost(RunError):
    """A run that another process has taken over."""


@dataclass(frozen=True)
class Record:
    """What the file of a lease says.

    Attributes
    ----------
    generation : int
        Number of the owner.
    token : str
        No other lease has it.
    owner : Process
    count : int
        Renewals so far: a lease of which it changes has an owner that is alive.
    time : float
        When it was renewed by the owner's clock, for people.
    renew, expire : float
        What the owner has promised: seconds between renewals, and after which it may be taken for dead.
    released : bool
        Given back.
    """

    generation: int
    token: str
    owner: Process
    count: int = 0
    time: float = 0.0
    renew: float = RENEW_SECONDS
    expire: float = EXPIRE_SECONDS
    released: bool = False

    @property
    def name(self) -> str:
        """File of the lease."""
        return file_of(self.generation)

    def pack(self) -> bytes:
        """Content of the file."""
        content = asdict(self) | {"time": time.time()}
        return (json.dumps(content, indent=1) + "\n").encode()

    @staticmethod
    def read(place: Place, generation: int) -> Record:
        """Read a lease. One that cannot be understood is that of somebody unknown, who never renews it."""
        data = place.read(file_of(generation))
        try:
            content: dict[str, Any] = parsed_json(data)
            owner = content.pop("owner")
            user, host, machine = (printable(owner[name]) for name in ("user", "host", "machine"))
            numbers = (whole(owner[name], name, 0, MOST) for name in ("pid", "started"))
            process = Process(user, host, machine, *numbers)
            limits = {name: min(max(float(content[name]), 0.1), 3600.0) for name in ("renew", "expire")}
            return Record(
                generation,
                str(content["token"]),
                process,
                whole(content["count"], "count", 0, MOST),
                float(content["time"]),
                **limits,
                released=bool(content["released"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            return Record(generation, "", Process("somebody", "a machine", "", 0, 0))


def printable(value: Any) -> str:
    """A name that can be shown on a terminal: a run may come from a stranger."""
    return "".join(letter for letter in str(value)[:80] if letter.isprintable())


def file_of(generation: int) -> str:
    """Name of a lease."""
    return f"{LEASE_FOLDER}/{generation:06}.json"


def generations(place: Place) -> list[int]:
    """Numbers of the leases that are there, ascending."""
    found = (NAME.fullmatch(name) for name in place.names(LEASE_FOLDER))
    return sorted(int(match[1]) for match in found if match)


def newest(place: Place) -> Record | None:
    """The latest lease; None if there is none."""
    for generation in reversed(generations(place)):
        with suppress(FileNotFoundError):
            return Record.read(place, generation)
    return None


class LeaseReader:
    """Reads the lease of a run, again and again.

    Parameters
    ----------
    place : Place
    clock : callable
        Seconds of a clock that does not jump.
    """

    def __init__(self, place: Place, clock: Callable[[], float] = time.monotonic) -> None:
        self.place = place
        self.clock = clock
        self.record: Record | None = None
        self.since = clock()
        self.changed = False

    def look(self) -> str:
        """What is to be seen: "none", "released", "alive", "dead", or "unknown" before it can be known."""
        record = newest(self.place)
        now = self.clock()
        if record is None:
            self.record = None
            return "none"
        if self.record is None or record.token != self.record.token:
            self.since, self.changed = now, False
        elif record.count != self.record.count:
            self.since, self.changed = now, True
        self.record = record
        if record.released:
            return "released"
        alive = record.owner.alive()
        if alive is not None:
            return "alive" if alive else "dead"
        if now - self.since > record.expire:
            return "dead"
        return "alive" if self.changed else "unknown"


class Lease:
    """A lease that this process holds; a context manager that gives it back.

    Parameters
    ----------
    place : Place
    record : Record
    before : Record or None
        That of the owner before, which is dead or has given it back.
    """

    def __init__(self, place: Place, record: Record, before: Record | None) -> None:
        self.place = place
        self.record = record
        self.before = before
        self.problem: str | None = None
        self.ended = threading.Event()
        self.pid = os.getpid()
        self.writing = threading.Lock()
        threading.Thread(target=self._renew, name="raytpnn-lease", daemon=True).start()

    @staticmethod
    def claim(place: Place, say: Callable[[str], None] | None = None, resumes: bool = True) -> Lease:
        """Take the lease of a run that nobody works on.

        Parameters
        ----------
        place : Place
        say : callable, optional
            Told if it takes a while to see whether the owner is alive.
        resumes : bool
            Whether `raytpnn resume` goes on with what is there; else the same command does.

        Raises
        ------
        RunInUse
            If somebody works on it.
        """
        reader = LeaseReader(place)
        announced = False
        while True:
            seen = reader.look()
            before = reader.record
            if seen in ("none", "released", "dead"):
                generation = 1 if before is None else before.generation + 1
                record = Record(
                    generation, uuid.uuid4().hex, own_process(), 0, 0.0, RENEW_SECONDS, EXPIRE_SECONDS
                )
                if place.create(record.name, record.pack()) or was_created(place, record):
                    remove_old(place, generation)
                    return Lease(place, record, before)
                continue
            assert before is not None
            if seen == "alive":
                raise in_use(place, before, resumes)
            if say is not None and not announced:
                announced = True
                say(
                    f"{place} was last worked on by {before.owner}; looking for up to {before.expire:.0f} s "
                    "whether it is alive"
                )
            time.sleep(min(LOOK_SECONDS, before.renew))

    @property
    def fence(self) -> Fence:
        """What workers need to see whether the run is still that of this owner."""
        return Fence(self.record.generation, self.record.token)

    def _renew(self) -> None:
        while not self.ended.wait(self.record.renew):
            # What the storage does not do now it may do the next time.
            with suppress(OSError), self.writing:
                if self.ended.is_set() or not self._still_mine():
                    return
                self._write(released=False)

    def _write(self, released: bool) -> None:
        record = replace(self.record, count=self.record.count + 1, released=released)
        self.place.write(record.name, record.pack())
        self.record = record

    def _still_mine(self) -> bool:
        try:
            self.fence.check(self.place)
        except LeaseLost as problem:
            self.problem = str(problem)
        return self.problem is None

    def check(self, look: bool = False) -> None:
        """Raise LeaseLost if another process has taken the run over; `look`: as of now."""
        if look and self.problem is None:
            self._still_mine()
        if self.problem is not None:
            raise LeaseLost(self.problem)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.release()

    def release(self) -> None:
        """Give the lease back; where there is nothing else, nothing stays of it."""
        if self.ended.is_set() or os.getpid() != self.pid:
            return
        self.ended.set()
        # What the storage does not do soon it need not do: then the lease expires.
        self.place = copy.copy(self.place)
        self.place.patience = min(self.place.patience, RELEASE_SECONDS)
        # A renewal may hang where the storage does not answer: then the lease expires.
        if not self.writing.acquire(timeout=RELEASE_SECONDS):
            return
        try:
            with suppress(OSError, LeaseLost):
                self.check(look=True)
                if self.place.empty():
                    self.remove()
                else:
                    self._write(released=True)
        finally:
            self.writing.release()

    def remove(self) -> None:
        """Remove every trace of the lease."""
        self.ended.set()
        for name in self.place.names(LEASE_FOLDER):
            self.place.remove(name)
        if self.place.path is not None:
            self.place.remove_leftovers()
            for folder in (self.place.path / LEASE_FOLDER, self.place.path):
                with suppress(OSError):
                    folder.rmdir()


@dataclass(frozen=True)
class Fence:
    """Tells a worker whether the run is still that of the owner who sent it."""

    generation: int
    token: str

    def check(self, place: Place) -> None:
        """Raise LeaseLost if another process has taken the run over."""
        try:
            own = Record.read(place, self.generation)
        except FileNotFoundError:
            own = None
        if own is not None and own.token == self.token and not place.holds(file_of(self.generation + 1)):
            return
        other = newest(place)
        if other is None or other.token == self.token:
            raise LeaseLost(f"the lease of {place} was removed while this process worked on it; it stops")
        raise LeaseLost(
            f"{place} was taken over by {other.owner}, since this process was not heard of for a while; that "
            "one goes on with the run, and this one stops"
        )


def was_created(place: Place, record: Record) -> bool:
    """Whether a lease was given, though the storage said something else: an answer may get lost."""
    with suppress(FileNotFoundError):
        return Record.read(place, record.generation).token == record.token
    return False


def remove_old(place: Place, generation: int) -> None:
    """Remove leases of long ago; the one before stays."""
    for old in generations(place):
        if old < generation - 1:
            with suppress(OSError):
                place.remove(file_of(old))


def in_use(place: Place, record: Record, resumes: bool = True) -> RunInUse:
    """Error of whoever comes second; see `Lease.claim`."""
    owner = record.owner
    if owner == own_process():
        return RunInUse(
            f"{place} is being worked on by this very process: wait until that ends, or choose another folder"
        )
    wait, again = "Wait", "the same command"
    if resumes:
        wait, again = f"Follow it with `raytpnn watch {place}`; wait", f"`raytpnn resume {place}`"
    return RunInUse(
        f"{place} is being worked on by {owner}. {wait} until it ends, or stop it there with "
        f"`kill {owner.pid}`, which saves what is done, and {again} then goes on; or choose another folder. "
        f"(Is it a copy of that folder? Then remove its folder {LEASE_FOLDER})"
    )
