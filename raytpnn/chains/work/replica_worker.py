"""A worker among whom the replicas of ensembles are spread."""

from __future__ import annotations

from dataclasses import replace

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.plan import Plan
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.parts import Part, is_cold, join_parts, joined, run_part
from raytpnn.chains.work.worker import ChainHost, Stopped, ended_chain
from raytpnn.engine.tempering.replicas import ReplicaSet

__all__ = ["PartHost"]


class PartHost(ChainHost):
    """Room for one replica at a time of ensembles that swap at ends of blocks.

    Parameters
    ----------
    plan : Plan
        Of a tempered run that is spread.
    store : BlockStore
    """

    chain: ReplicaSet

    def __init__(self, plan: Plan, store: BlockStore) -> None:
        super().__init__(plan, store, in_parts=True)

    def run_part(self, chain: int, block: int, replica: int) -> Part:
        """Run one replica's part of a block; keeps nothing. Run twice, it gives the same part."""
        length, (first, sweeps) = self.plan.length, self.blocks[block]
        ensemble = self.prepare(chain, block)
        cold = is_cold(ensemble, replica)
        # Others than the cold one have nothing to show.
        self.running = chain if cold else None
        try:
            thin = length.thin_of(block)
            part, result = run_part(ensemble, replica, first, sweeps, length.warmup, thin)
        finally:
            self.running = None
        if cold:
            return replace(part, drawn=self.drawn(chain, block, result))
        if result.sweeps < sweeps:
            raise Stopped(f"block {block} of replica {replica} of chain {chain} was stopped")
        return part

    def join_block(self, chain: int, block: int, parts: list[Part], seconds: float) -> BlockReport:
        """Make a block of its parts, swap, and store it; `seconds` is how long the parts took."""
        first, sweeps = self.blocks[block]
        ensemble = self.prepare(chain, block)
        levels = join_parts(ensemble, parts, first, sweeps, self.plan.length.warmup)
        drawn = joined(parts, levels + self.plan.level_constant())
        return self.keep(chain, block, ended_chain(ensemble, None), drawn, seconds)

    def prepare(self, chain: int, block: int) -> ReplicaSet:
        """Go back to where a block starts."""
        self.chain.problem = self.problem_of(block)
        self.chain.restore(self.state_before(chain, block))
        return self.chain
