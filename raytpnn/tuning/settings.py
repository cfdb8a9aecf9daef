"""One setting of prior and moves, and grids of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np

from raytpnn.engine.moves.options import Moves
from raytpnn.model.prior import Prior

__all__ = ["Setting", "expand", "settings_of", "varied"]

# Marks the stream of random numbers that samples a grid.
SAMPLE_STREAM = 104729
MOST_SETTINGS = 100_000


@dataclass(frozen=True)
class Setting:
    """A prior and moves to try.

    Attributes
    ----------
    prior : Prior
    moves : Moves
    """

    prior: Prior
    moves: Moves

    @property
    def name(self) -> str:
        """Text that tells it from all others, the same in every run."""
        # 5 and 5.0 are one value.
        alike = {
            name: value if value is None or isinstance(value, bool) else float(value)
            for name, value in self.values().items()
        }
        return hashlib.sha256(repr(sorted(alike.items())).encode()).hexdigest()[:12]

    def values(self) -> dict[str, Any]:
        """All fields; names of prior and moves do not meet."""
        return asdict(self.prior) | asdict(self.moves)

    def changes(self, base: Setting) -> dict[str, Any]:
        """Fields in which it differs from another."""
        before = base.values()
        return {name: value for name, value in self.values().items() if value != before[name]}

    def changed(self, changes: Mapping[str, Any]) -> Setting:
        """Setting with some fields of the prior or the moves set.

        Raises
        ------
        ValueError
            If there is no such field, or it cannot have that value.
        """
        of_prior = {field.name for field in fields(Prior)}
        of_moves = {field.name for field in fields(Moves)}
        for name in changes:
            if name not in of_prior | of_moves:
                raise ValueError(f"neither Prior nor Moves has a setting {name!r} that could be varied")
        return Setting(
            replace(self.prior, **{name: value for name, value in changes.items() if name in of_prior}),
            replace(self.moves, **{name: value for name, value in changes.items() if name in of_moves}),
        )


def expand(space: Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All combinations of a grid, or the list of changes as it is.

    Parameters
    ----------
    space : mapping of str to sequence, or iterable of mappings
        Values by field, all of which are combined; or changes, one by one.
    """
    if not isinstance(space, Mapping):
        listed = list(space)
        for changes in listed:
            if not isinstance(changes, Mapping):
                raise ValueError(f"a setting is a mapping such as {{'C0': 0.01}}, got {changes!r}")
        return [dict(changes) for changes in listed]
    for name, values in space.items():
        if (
            isinstance(values, (str, bytes))
            or not isinstance(values, (Sequence, np.ndarray))
            or not len(values)
        ):
            raise ValueError(f"space[{name!r}] must be a list of values, got {values!r}")
    count = int(np.prod([len(values) for values in space.values()], dtype=np.float64))
    if count > MOST_SETTINGS:
        raise ValueError(f"a grid of {count:,} settings is too large, at most {MOST_SETTINGS:,}")
    return [dict(zip(space, values, strict=True)) for values in product(*space.values())]


def settings_of(base: Setting, changes: list[dict[str, Any]], trials: int | None, seed: int) -> list[Setting]:
    """Settings to try, each once: the base first, then those of the space in its order.

    Parameters
    ----------
    base : Setting
        What the changes are made to. It is tried always: what is found can be compared with it.
    changes : list of dict
    trials : int or None
        Of a larger space, take so many (beside the base), sampled by `seed`.
    seed : int
    """
    found = list(dict.fromkeys(base.changed(each) for each in changes))
    found = [setting for setting in found if setting != base]
    if trials is not None and trials < len(found):
        rng = np.random.default_rng([seed, SAMPLE_STREAM])
        found = [found[i] for i in sorted(rng.permutation(len(found))[:trials])]
    return [base, *found]


def varied(settings: Sequence[Setting]) -> list[str]:
    """Names of the fields in which settings differ."""
    values = [setting.values() for setting in settings]
    return [name for name in values[0] if len({each[name] for each in values}) > 1]
