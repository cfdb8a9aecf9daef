"""The owner of a run: one process at a time begins it or goes on with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from raytpnn.chains.observe.observer import Observer
from raytpnn.storage.formats.manifest import BEGUN, MANIFEST
from raytpnn.storage.lease import Lease, LeaseReader, Record, in_use
from raytpnn.storage.places.atomic_files import PARTIAL
from raytpnn.storage.places.place import LEASE_FOLDER, Place

__all__ = ["OwnerCheck", "check_free", "kept_work", "new_run", "owned", "refuse_owner"]

# What the beginning of a run writes before its manifest.
BEGINNING = ("data", "encoder")


@contextmanager
def owned(place: Place, say: Callable[[str], None] | None = None, resumes: bool = True) -> Iterator[Lease]:
    """Own a run that is there; RunInUse if somebody else does."""
    with Lease.claim(place, say, resumes) as lease:
        place.remove_leftovers(lease.record.name)
        yield lease


@contextmanager
def kept_work(place: Place | None, say: Callable[[str], None] | None = None) -> Iterator[Lease | None]:
    """Own a folder that keeps fits of a search or a cross-validation; nothing if there is none.

    Raises
    ------
    RunInUse
        If somebody else works there.
    """
    if place is None:
        yield None
        return
    with owned(place, say, resumes=False) as lease:
        yield lease


def refuse_owner(place: Place, resumes: bool = True) -> Record | None:
    """Raise RunInUse if it is seen at once that somebody works at a place; else the lease that is there."""
    reader = LeaseReader(place)
    if reader.look() == "alive":
        assert reader.record is not None
        raise in_use(place, reader.record, resumes)
    return reader.record


@contextmanager
def new_run(place: Place | None, say: Callable[[str], None] | None = None) -> Iterator[Lease | None]:
    """Own a place at which a run is to begin; nothing if there is none.

    Raises
    ------
    RunInUse
        If somebody else is beginning one there, or works on one.
    FileExistsError
        If there is something already.
    """
    if place is None:
        yield None
        return
    check_free(place)
    with owned(place, say) as lease:
        # Somebody may have been quicker.
        if holds_only_a_beginning(place, lease.before):
            for name in BEGINNING:
                place.remove_folder(name)
            place.remove(BEGUN)
        refuse_what_is_there(place)
        yield lease


def check_free(place: Place, other: str = "another folder") -> None:
    """Raise if a run cannot begin at a place: FileExistsError, or RunInUse if somebody works there.

    `other` is what the user is to choose then.
    """
    if not holds_only_a_beginning(place, refuse_owner(place)):
        refuse_what_is_there(place, other)


def refuse_what_is_there(place: Place, other: str = "another folder") -> None:
    """Raise if a place is not empty."""
    if place.empty():
        return
    if place.holds(MANIFEST):
        raise FileExistsError(
            f"{place} holds a run already: go on with it by `raytpnn resume {place}`, or choose {other}"
        )
    raise FileExistsError(f"{place} exists and is not a saved run; choose {other}")


def holds_only_a_beginning(place: Place, before: Record | None) -> bool:
    """Whether nothing is there but what an owner wrote who was killed while he began a run."""
    if before is None or before.released or place.holds(MANIFEST):
        return False
    if place.path is None:
        there = {name.split("/")[0] for name in place.names("")}
    else:
        there = {name for name in os.listdir(place.path) if not name.endswith(PARTIAL)}
    return there <= {LEASE_FOLDER, BEGUN, *BEGINNING}


class OwnerCheck(Observer):
    """Stops a run that another process has taken over.

    Parameters
    ----------
    lease : Lease
    """

    def __init__(self, lease: Lease) -> None:
        self.lease = lease

    def tick(self) -> None:
        """Look, now and then."""
        self.lease.check()
