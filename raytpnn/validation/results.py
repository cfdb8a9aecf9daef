"""Where finished fits are kept: a small file each, so that what was interrupted goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.storage.lease import Lease
from raytpnn.storage.places.place import Place
from raytpnn.validation.cases import Cases
from raytpnn.validation.splits import Scheme
from raytpnn.validation.task import Fit, Task

if TYPE_CHECKING:
    from raytpnn.validation.summary import CrossValidation

__all__ = ["FOLDER", "MARK", "Results", "fingerprint", "read_validation"]

FOLDER = "cv"
MARK = f"{FOLDER}/cv.json"
# Columns whose values stand for the whole table in a fingerprint.
SAMPLED_COLUMNS = 64


class Results:
    """Fits that are done; kept in a folder if there is one.

    Parameters
    ----------
    place : Place or None
        A run; files go to its folder `cv`.
    mark : dict
        What the fits depend on: `fingerprint`, and what a reader wants to know.
    lease : Lease, optional
        That of the folder: nothing is kept there any more once somebody else has taken it over.

    Raises
    ------
    ValueError
        If the folder holds fits of something else.
    """

    def __init__(self, place: Place | None, mark: dict[str, Any], lease: Lease | None = None) -> None:
        self.place, self.lease = place, lease
        self.fits: dict[str, Fit] = {}
        if place is None:
            return
        self.check(place, mark)
        if not place.holds(MARK):
            place.write(MARK, json.dumps(mark, indent=1).encode())

    @staticmethod
    def check(place: Place, mark: dict[str, Any]) -> None:
        """Raise ValueError if a folder holds fits of something else."""
        if not place.holds(MARK):
            return
        if json.loads(place.read(MARK)).get("fingerprint") != mark["fingerprint"]:
            raise ValueError(
                f"{place.name_of(FOLDER)} holds a cross-validation of other data or options; remove it, "
                "or choose another folder"
            )

    def read(self, tasks: Iterable[Task]) -> list[Task]:
        """Read the finished fits; returns the tasks left. A damaged file counts as missing."""
        left = []
        for task in tasks:
            name = f"{FOLDER}/{task.name}"
            if self.place is not None and self.place.holds(name):
                try:
                    self.fits[task.name] = Fit.from_json(self.place.read(name))
                    continue
                except ValueError:
                    pass
            left.append(task)
        return left

    def add(self, task: Task, fit: Fit) -> None:
        """Keep a fit."""
        self.fits[task.name] = fit
        if self.lease is not None:
            self.lease.check(look=True)
        if self.place is not None:
            self.place.write(f"{FOLDER}/{task.name}", fit.to_json().encode())


def read_validation(place: Place) -> CrossValidation | None:
    """Cross-validation that a run holds, as far as it got; None if there is none."""
    if not place.holds(MARK):
        return None
    from raytpnn.validation.summary import CrossValidation

    mark = json.loads(place.read(MARK))
    names = [name for name in place.names(FOLDER) if name.startswith(f"{FOLDER}/fit-")]
    fits = [Fit.from_json(place.read(name)) for name in names]
    own, control = [fit for fit in fits if not fit.permutation], [fit for fit in fits if fit.permutation]
    classes = mark["classes"]
    scheme = Scheme(**mark["scheme"])
    found = CrossValidation(own, control, scheme, mark["family"], classes and tuple(classes))
    return found if own else None


def fingerprint(cases: Cases, scheme: Scheme, options: dict[str, Any], seed: int) -> str:
    """Text that differs where fits would: by data, splits, options or seed.

    Of a wide table only some columns are looked at.
    """
    table = cases.table
    sampled = np.unique(np.linspace(0, len(table.names) - 1, SAMPLED_COLUMNS).round().astype(int))
    digest = hashlib.sha256(repr((table.names, table.n_rows)).encode())
    for i in sampled:
        digest.update(repr(table.column(int(i)).tolist()).encode())
    for values in (cases.y.values, cases.weight, cases.offset):
        digest.update(b"none" if values is None else np.ascontiguousarray(values, np.float64).tobytes())
    # A permutation asked for later is an addition, not another validation.
    parts = [cases.y.classes, cases.family, cases.preparation, cases.covariates, asdict(scheme), seed]
    digest.update(repr(parts).encode())
    for name in sorted(options):
        digest.update(f"{name}={plain(options[name])!r};".encode())
    return digest.hexdigest()[:32]


def plain(value: Any) -> Any:
    """Value whose text shows all of it."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.tolist() if hasattr(value, "tolist") else value
