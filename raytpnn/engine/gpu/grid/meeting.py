"""Where processes with devices join the sums of their stripes: at the meeting of shards, from Python."""

from __future__ import annotations

import numpy as np

from raytpnn.engine.chain import ShardPlace, take_place
from raytpnn.engine.exchange.meeting import Meeting
from raytpnn.engine.jit.function_table import compile_unit, slot_of
from raytpnn.engine.problem import new_record_of
from raytpnn.engine.records import WORK
from raytpnn.numerics.lanes import STRIPES

__all__ = ["StripeExchange", "seat_of", "stripes_at"]


def seat_of(place: ShardPlace) -> np.record:
    """Scratch space that knows its place and nothing else.

    The chain's own is that of a chain that is alone: its passes over rows have met the others already.
    """
    record = new_record_of(WORK)
    record.units[slot_of("meet")] = compile_unit("meet")
    take_place(record, place)
    return record


def stripes_at(place: ShardPlace) -> tuple[int, int]:
    """First of a shard's stripes, and where they end."""
    share = STRIPES // place.shards
    return share * place.shard, share * (place.shard + 1)


class StripeExchange:
    """Joins the sums of stripes of all processes, see `GridChain`; MeetingBroken if one of them is gone.

    Parameters
    ----------
    meeting : Meeting
        Each process has an equal share of the stripes, in the order of the shards.
    """

    def __init__(self, meeting: Meeting) -> None:
        self.meeting = meeting
        self.low, self.high = stripes_at(ShardPlace(meeting.shards, meeting.shard))
        # Sums of a stripe for which the room of an exchange is wide enough.
        self.width = meeting.capacity // STRIPES

    def __call__(self, stripes: np.ndarray) -> np.ndarray:
        """Sums of all stripes, (16, columns), from those of this process's, in every process."""
        joined = np.empty_like(stripes)
        for first in range(0, stripes.shape[1], self.width):
            some = slice(first, first + self.width)
            own = np.ascontiguousarray(stripes[self.low : self.high, some])
            words = self.meeting.exchange(own.view(np.int64).ravel())
            joined[:, some] = words.view(np.float64).reshape(STRIPES, -1)
        return joined
