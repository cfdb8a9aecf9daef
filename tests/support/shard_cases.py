"""What tests of shards share: sharded, spread_out."""

from __future__ import annotations

import numpy as np

from raytpnn.engine.sharded_chain import ShardedChain
from raytpnn.numerics.lanes import STRIPES


def sharded(case, shards):
    """The chain of a case, in shards."""
    chain = case.chain
    made_of = case.problem, case.settings, chain.state.copy(), chain._run_block
    return ShardedChain(*made_of, shards, chain.watched)


def spread_out(case):
    """Give every stripe of a small problem some rows, so that there is something to exchange."""
    n = len(case.problem.y)
    case.problem.record.stripe[:] = np.arange(STRIPES + 1) * n // STRIPES
