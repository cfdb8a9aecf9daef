"""What is watched of every draw while the chains run: small numbers that mean something across dimensions."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from raytpnn.chains.plan import Plan
from raytpnn.convergence.diagnostics import scalar_quantities
from raytpnn.draws.draws import Draws
from raytpnn.engine.chain import Block
from raytpnn.engine.tempering.replicas import ReplicaBlock
from raytpnn.forward.probe import NO_SIZES, Sizes, sizes_over_outputs
from raytpnn.storage.checks import list_of, parsed_json, text, whole

__all__ = ["Drawn", "Watched", "watch_block"]

# By name, the type of each.
ARRAYS = {
    "f": np.dtype("<f4"),
    "draw": np.dtype("<i4"),
    "component": np.dtype("<i4"),
    "size": np.dtype("<f4"),
    "levels": np.dtype("<f8"),
    "set_start": np.dtype("<i4"),
    "set_feature": np.dtype("<i4"),
}
SCALAR = "scalar: "
MOST_ARRAYS = 64


@dataclass(frozen=True)
class Watched:
    """Of the D draws of a block.

    Attributes
    ----------
    scalars : dict of str to (D,)
        Log-likelihood, K, nuisance, mean order and the like.
    f : (D, outputs x W) float32
        At the watched rows, on the user's scale, without offset, one output after the other; without what all
        outputs have in common, if that changes nothing.
    draw, component : (m,) int32
    size : (m,) float32
        Size of a component in a draw that holds it, see `raytpnn.forward.probe`.
    levels : (D, L) float64
        Log-likelihood at every level of an ensemble of replicas, hottest first; L is 0 without tempering.
    set_start, set_feature : (sets + 1,) and (features of all sets,) int32
        The components: `set_feature[set_start[i]:set_start[i + 1]]` are the encoded features of one.
    """

    scalars: dict[str, np.ndarray]
    f: np.ndarray
    draw: np.ndarray
    component: np.ndarray
    size: np.ndarray
    levels: np.ndarray
    set_start: np.ndarray
    set_feature: np.ndarray

    @property
    def n_draws(self) -> int:
        """Number of draws D."""
        return len(self.f)

    @property
    def sizes(self) -> Sizes:
        """Sizes of the components."""
        sets = tuple(
            tuple(self.set_feature[a:b].tolist()) for a, b in itertools.pairwise(self.set_start.tolist())
        )
        return Sizes(self.draw, self.component, self.size, sets)

    def take(self, kept: np.ndarray) -> Watched:
        """Only some of the draws, (D,) bool."""
        place = np.cumsum(kept) - 1
        held = kept[self.draw]
        return replace(
            self,
            scalars={name: values[kept] for name, values in self.scalars.items()},
            f=self.f[kept],
            draw=place[self.draw[held]].astype(np.int32),
            component=self.component[held],
            size=self.size[held],
            levels=self.levels[kept],
        )

    def pack(self) -> bytes:
        """As bytes, for a checkpoint."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        arrays |= {SCALAR + name: values for name, values in self.scalars.items()}
        # A line of JSON and the numbers: NumPy's own archive takes longer than a block of small data.
        header = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
        return json.dumps(header).encode() + b"\n" + b"".join(a.tobytes() for a in arrays.values())

    @staticmethod
    def unpack(data: bytes) -> Watched:
        """What `pack` gave; ValueError if it is something else."""
        line, _, rest = data.partition(b"\n")
        held, at = {}, 0
        for entry in list_of(parsed_json(line), "what was watched", a_list, MOST_ARRAYS):
            name, dtype, shape = entry
            text(name, "a name of what was watched")
            extents = [whole(extent, f"an extent of {name}", 0, len(rest)) for extent in shape]
            kind = np.dtype(text(dtype, f"the type of {name}"))
            size = math.prod(extents) * kind.itemsize
            if kind != ARRAYS.get(name, np.dtype("<f8")) or at + size > len(rest):
                raise ValueError(f"{name} of what was watched is {kind} of shape {shape}")
            held[name] = np.frombuffer(rest, kind, math.prod(extents), at).reshape(extents)
            at += size
        scalars = {name.removeprefix(SCALAR): held[name] for name in held if name.startswith(SCALAR)}
        watched = Watched(scalars, **{name: held[name] for name in ARRAYS})
        watched.check()
        return watched

    def check(self) -> None:
        """Raise ValueError if the arrays do not go together."""
        draws, many = self.n_draws, len(self.draw)
        fit = self.f.ndim == 2 and self.levels.ndim == 2 and len(self.levels) == draws
        flat = all(array.shape == (many,) for array in (self.draw, self.component, self.size))
        flat = flat and self.set_start.ndim == 1 and self.set_feature.ndim == 1
        if not (fit and flat and all(values.shape == (draws,) for values in self.scalars.values())):
            raise ValueError("the arrays of what was watched do not go together")
        starts, held = self.set_start, len(self.set_feature)
        if not len(starts) or starts[0] != 0 or starts[-1] != held or np.any(np.diff(starts) < 0):
            raise ValueError("the components of what was watched do not go together")
        if held and self.set_feature.min() < 0:
            raise ValueError("what was watched is of a feature that there is not")
        if many and (self.draw.min() < 0 or self.draw.max() >= draws):
            raise ValueError("what was watched is of a draw that there is not")
        if many and (self.component.min() < 0 or self.component.max() >= len(starts) - 1):
            raise ValueError("what was watched is of a component that there is not")


def a_list(value: Any, what: str) -> None:
    """Raise ValueError unless a value is a list."""
    if not isinstance(value, list):
        raise ValueError(f"{what} is {value!r:.60}, but must be a list")


class Drawn(NamedTuple):
    """What a block kept: its draws, and what was watched of them."""

    draws: Draws
    watched: Watched


def watch_block(plan: Plan, block: Block, draws: Draws) -> Watched:
    """Look at a block; `draws` are those it kept."""
    record, count = block.record, block.draws
    offset = plan.problem.offset[record.watched] if plan.watched_offset is None else plan.watched_offset
    sizes = NO_SIZES if plan.probe is None else sizes_over_outputs(draws, plan.probe)
    order = [len(features) for features in sizes.sets]
    return Watched(
        scalars=scalar_quantities(draws, plan.family),
        f=f_on_users_scale(plan, record.fit[:count], offset).astype(np.float32),
        draw=sizes.draw,
        component=sizes.component,
        size=sizes.size,
        levels=levels_of(plan, block),
        set_start=np.concatenate([[0], np.cumsum(order)]).astype(np.int32),
        set_feature=np.array([feature for features in sizes.sets for feature in features], np.int32),
    )


def f_on_users_scale(plan: Plan, fit: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Watched f of all outputs, (D, outputs x W), from the fits (with offset) that chains keep."""
    outputs = plan.family.user_outputs(plan.scaling.location, plan.scaling.scale)
    shift, factor = np.array(outputs).T[:, :, None]
    f = fit.reshape(len(fit), len(outputs), -1).copy()
    f[:, 0] -= offset
    f = shift + factor * f
    if plan.family.shift_invariant:
        f -= f.mean(axis=1, keepdims=True)
    return f.reshape(fit.shape)


def levels_of(plan: Plan, block: Block) -> np.ndarray:
    """Log-likelihood of all replicas at every draw, on the user's scale, (D, L)."""
    if isinstance(block, ReplicaBlock):
        return block.level_loglik + plan.level_constant()
    return np.zeros((block.draws, 0))
