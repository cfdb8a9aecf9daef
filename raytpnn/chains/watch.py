"""What is watched of every draw while the chains run: small numbers that mean something across dimensions."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from raytpnn.chains.plan import Plan
from raytpnn.chains.replicas import ReplicaBlock
from raytpnn.engine.chain import Block
from raytpnn.posterior.diagnostics import scalar_quantities
from raytpnn.posterior.draws import Draws

__all__ = ["Drawn", "Watched", "watch_block"]

ARRAYS = ("f", "draw", "feature", "size", "levels")
SCALAR = "scalar: "


@dataclass(frozen=True)
class Watched:
    """Of the D draws of a block.

    Attributes
    ----------
    scalars : dict of str to (D,)
        Log-likelihood, K, nuisance, mean order and the like.
    f : (D, W) float32
        At the watched rows, on the user's scale, without offset.
    draw, feature : (m,) int32
    size : (m,) float32
        Sum, over the terms of a draw that hold a feature, of the mean squares over the watched rows.
    levels : (D, L) float64
        Log-likelihood at every level of an ensemble of replicas, hottest first; L is 0 without tempering.
    """

    scalars: dict[str, np.ndarray]
    f: np.ndarray
    draw: np.ndarray
    feature: np.ndarray
    size: np.ndarray
    levels: np.ndarray

    @property
    def n_draws(self) -> int:
        """Number of draws D."""
        return len(self.f)

    def pack(self) -> bytes:
        """As bytes, for a checkpoint."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        arrays |= {SCALAR + name: values for name, values in self.scalars.items()}
        # A line of JSON and the numbers: NumPy's own archive takes longer than a block of small data.
        header = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
        return json.dumps(header).encode() + b"\n" + b"".join(a.tobytes() for a in arrays.values())

    @staticmethod
    def unpack(data: bytes) -> Watched:
        """What `pack` gave."""
        line, _, rest = data.partition(b"\n")
        held, at = {}, 0
        for name, dtype, shape in json.loads(line):
            array = np.frombuffer(rest, dtype, math.prod(shape), at).reshape(shape)
            held[name] = array
            at += array.nbytes
        scalars = {name.removeprefix(SCALAR): held[name] for name in held if name.startswith(SCALAR)}
        return Watched(scalars, **{name: held[name] for name in ARRAYS})


class Drawn(NamedTuple):
    """What a block kept: its draws, and what was watched of them."""

    draws: Draws
    watched: Watched


def watch_block(plan: Plan, block: Block, draws: Draws) -> Watched:
    """Look at a block; `draws` are those it kept."""
    record, count = block.record, block.draws
    scaling = plan.scaling
    offset = plan.problem.offset[record.watched] if plan.watched_offset is None else plan.watched_offset
    held = np.arange(record.size.shape[1]) < record.K[:count, None]
    size = record.size[:count][held] * scaling.scale**2
    p = len(plan.problem.codes)
    pair, place = np.unique(
        np.repeat(draws.draw_of_term, draws.order) * p + draws.feature, return_inverse=True
    )
    total = np.bincount(place, np.repeat(size, draws.order), minlength=len(pair))
    return Watched(
        scalars=scalar_quantities(draws, plan.family),
        f=(scaling.location + scaling.scale * (record.fit[:count] - offset)).astype(np.float32),
        draw=(pair // p).astype(np.int32),
        feature=(pair % p).astype(np.int32),
        size=total.astype(np.float32),
        levels=levels_of(plan, block),
    )


def levels_of(plan: Plan, block: Block) -> np.ndarray:
    """Log-likelihood of all replicas at every draw, on the user's scale, (D, L)."""
    if isinstance(block, ReplicaBlock):
        return block.level_loglik + plan.level_constant()
    return np.zeros((block.draws, 0))
