"""When one chain at a time on a whole device is quicker than one block of threads per chain.

An estimate from kernels/README.md, not a measurement. One block of threads has the share of a device's
bandwidth that one of `BLOCKS_OF_MULTIPROCESSOR` on each multiprocessor has; a chain in a grid has all of it,
one chain after the other, and waits for launches meanwhile, for as long as `OVERHEAD_ROWS` rows take.
"""

from __future__ import annotations

from raytpnn.engine.gpu.chains import BLOCKS_OF_MULTIPROCESSOR
from raytpnn.engine.gpu.device import Limits

__all__ = ["OVERHEAD_ROWS", "grid_pays"]

# Rows that a device could pass over while a pass is launched and its sums come back.
OVERHEAD_ROWS = 1_000_000
# How much quicker it must be by the estimate: neither side was ever measured.
MARGIN = 2


def grid_pays(limits: Limits, n: int, chains: int) -> bool:
    """Whether so many chains of n rows are to run on a device one after the other, each by many blocks.

    Parameters
    ----------
    limits : Limits
    n : int
        Rows that a sweep passes over.
    chains : int
        That the device has to run.
    """
    in_grids = chains * (n + OVERHEAD_ROWS)
    together = BLOCKS_OF_MULTIPROCESSOR * limits.multiprocessors * n
    return MARGIN * in_grids < together
