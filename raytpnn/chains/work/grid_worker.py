"""A worker with one or several GPUs for one chain at a time: its rows lie on all of them."""

from __future__ import annotations

from collections.abc import Sequence

from raytpnn.chains.plan import Plan
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.worker import BlockHost, ChainHost
from raytpnn.engine.gpu.device import Device, DeviceError
from raytpnn.engine.gpu.grid.chain import GridChain
from raytpnn.engine.gpu.grid.choice import grid_pays

__all__ = ["GridHost", "grid_hosts", "in_grids"]


class GridHost(ChainHost):
    """Room for one chain on devices.

    Parameters
    ----------
    plan : Plan
    store : BlockStore
    devices : sequence of Device
    """

    def __init__(self, plan: Plan, store: BlockStore, devices: Sequence[Device]) -> None:
        BlockHost.__init__(self, plan, store)
        self.grid = GridChain(plan.problem, plan.settings, plan.first_state(0), devices, plan.watched)
        self.chain = self.grid
        self.running: int | None = None

    def close(self) -> None:
        """Give the memory of the devices back."""
        self.grid.close()


def in_grids(plan: Plan, devices: Sequence[Device]) -> bool:
    """Whether a plan's chains run one at a time, see `grid_choice`; replicas never do."""
    if plan.tempering is not None:
        return False
    if plan.shards > 1:
        return True
    chains = -(-plan.length.chains // len(devices))
    rows = plan.subsets.rows if plan.subsets.approximate else len(plan.problem.y)
    return grid_pays(devices[0].limits(), rows, chains)


def grid_hosts(plan: Plan, store: BlockStore, devices: Sequence[Device]) -> list[GridHost]:
    """Workers of a process: each has as many devices as a chain has shards."""
    shards = plan.shards
    if len(devices) < shards:
        raise DeviceError(
            f"shards={shards} with backend 'cuda' needs {shards} GPUs, this process sees {len(devices)}; use "
            "fewer shards, or look at CUDA_VISIBLE_DEVICES"
        )
    count = min(len(devices) // shards, plan.length.chains)
    return [GridHost(plan, store, devices[i * shards : (i + 1) * shards]) for i in range(count)]
