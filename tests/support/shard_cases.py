"""What `test_shards` and other tests share: sharded."""

from __future__ import annotations

from raytpnn.engine.sharded_chain import ShardedChain


def sharded(case, shards):
    """The chain of a case, in shards."""
    chain = case.chain
    made_of = case.problem, case.settings, chain.state.copy(), chain._run_block
    return ShardedChain(*made_of, shards, chain.watched)
