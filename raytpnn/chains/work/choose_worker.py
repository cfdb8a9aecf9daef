"""Which workers a plan's backend calls for."""

from __future__ import annotations

from raytpnn.chains.plan import Plan
from raytpnn.chains.run.store import BlockStore
from raytpnn.chains.work.one_chain import OneChain, grid_pays_off, grids
from raytpnn.chains.work.replica_parts import ReplicaParts
from raytpnn.chains.work.strategy import Strategy
from raytpnn.chains.work.worker import Worker

__all__ = ["chain_worker", "local_workers", "one_worker"]


def chain_worker(plan: Plan, store: BlockStore, threads: int = 1) -> Worker:
    """A worker that runs one chain at a time on cores; replicas of an ensemble may have several threads."""
    return Worker(plan, store, OneChain(plan.new_chain(threads)))


def local_workers(plan: Plan, store: BlockStore, workers: int, cores: int) -> list[Worker]:
    """Workers of this process: for backend "cuda" one per GPU or group of GPUs, else one per chain."""
    if plan.backend != "cuda":
        workers = max(workers // plan.shards, 1)
        return [chain_worker(plan, store) for _ in range(min(workers, plan.length.chains))]
    from raytpnn.chains.work.gpu_group import GpuGroup
    from raytpnn.engine.gpu.device import find_devices

    devices = find_devices()
    if grid_pays_off(plan, devices):
        return [Worker(plan, store, grid) for grid in grids(plan, devices)]
    devices = devices[: plan.length.chains]
    writers = max(cores // len(devices), 1)
    return [Worker(plan, store, GpuGroup(plan, device), writers) for device in devices]


def one_worker(plan: Plan, store: BlockStore, threads: int, gpu_share: float) -> Worker:
    """The worker of a process that has some threads and, for backend "cuda", a GPU or a part of one."""
    if plan.spread:
        return Worker(plan, store, ReplicaParts(plan))
    if plan.backend != "cuda":
        return chain_worker(plan, store, threads)
    from raytpnn.chains.work.gpu_group import GpuGroup
    from raytpnn.engine.gpu.device import find_devices

    devices = find_devices()
    strategy: Strategy
    if plan.shards > 1 or (gpu_share >= 1.0 and grid_pays_off(plan, devices[:1])):
        strategy = grids(plan, devices[: plan.shards])[0]
    else:
        strategy = GpuGroup(plan, devices[0], min(gpu_share, 1.0))
    return Worker(plan, store, strategy, threads)
