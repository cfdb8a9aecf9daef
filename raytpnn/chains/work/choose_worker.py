"""Which workers a plan's backend calls for."""

from __future__ import annotations

from raytpnn.chains.plan import Plan
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.replica_worker import PartHost
from raytpnn.chains.work.worker import ChainHost, Host

__all__ = ["local_hosts", "one_host"]


def local_hosts(plan: Plan, store: BlockStore, workers: int, cores: int) -> list[Host]:
    """Workers within this process: for backend "cuda" one a GPU, or one a group of GPUs, else one a chain."""
    if plan.backend != "cuda":
        workers = max(workers // plan.shards, 1)
        return [ChainHost(plan, store) for _ in range(min(workers, plan.length.chains))]
    from raytpnn.chains.work.gpu_worker import GroupHost
    from raytpnn.chains.work.grid_worker import grid_hosts, in_grids
    from raytpnn.engine.gpu.device import find_devices

    devices = find_devices()
    if in_grids(plan, devices):
        return list(grid_hosts(plan, store, devices))
    devices = devices[: plan.length.chains]
    return [GroupHost(plan, store, device, max(cores // len(devices), 1)) for device in devices]


def one_host(plan: Plan, store: BlockStore, threads: int, gpu_share: float) -> Host:
    """The worker of a process that has some threads and, for backend "cuda", a GPU or a part of one."""
    if plan.spread:
        return PartHost(plan, store)
    if plan.backend != "cuda":
        return ChainHost(plan, store, threads)
    from raytpnn.chains.work.gpu_worker import GroupHost
    from raytpnn.chains.work.grid_worker import grid_hosts, in_grids
    from raytpnn.engine.gpu.device import find_devices

    devices = find_devices()
    if plan.shards > 1 or (gpu_share >= 1.0 and in_grids(plan, devices[:1])):
        return grid_hosts(plan, store, devices[: plan.shards])[0]
    return GroupHost(plan, store, devices[0], threads, min(gpu_share, 1.0))
