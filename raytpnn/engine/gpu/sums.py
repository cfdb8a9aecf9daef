"""Gradient and Newton sums of many terms on a device, for rows that are sharded, by `kernels/langevin.cu`."""

from __future__ import annotations

import numpy as np

from raytpnn.engine.gpu.chains import choose_geometry
from raytpnn.engine.gpu.device import Device
from raytpnn.engine.gpu.memory import ProblemOnDevice, on_device
from raytpnn.engine.problem import Problem
from raytpnn.numerics.lanes import BLOCK

__all__ = ["langevin_sums"]


def langevin_sums(
    device: Device,
    problem: Problem,
    settings: np.record,
    order: np.ndarray,
    features: np.ndarray,
    b: np.ndarray,
    gamma: np.ndarray,
    score: np.ndarray,
    curvature: np.ndarray,
    threads: int | None = None,
) -> np.ndarray:
    """Partial sums over blocks of 4,096 rows.

    Parameters
    ----------
    device : Device
    problem : Problem
        The rows of one shard, which starts at a multiple of 4,096.
    settings : numpy.record of layout SETTINGS
    order : (T,) int64
    features : (T, D) int32
    b, gamma : (T, D) float64
        Terms, D = settings.max_order.
    score, curvature : (n,) float64
        Derivatives of the log-likelihood at the shard's rows.
    threads : int, optional
        Of a block.

    Returns
    -------
    (T, row blocks, 2 + 4 D) float64
        Sums of score * phi and curvature * phi^2, then for each factor those with the slope in b and with the
        slope in log gamma. Added up in the order of the row blocks within a stripe, and stripes in order,
        they are what a chain computes for itself. NaN for a term without prior mass.
    """
    terms, row_blocks = len(order), -(-len(problem.y) // BLOCK)
    D = int(settings.max_order)
    geometry = choose_geometry(device.limits(), problem, settings)
    module = device.compile("langevin", geometry.macros(bool(problem.record.wide_codes)))
    grid = terms * row_blocks
    stream = device.stream()
    problems = ProblemOnDevice(device, stream)
    kept = [
        np.ascontiguousarray(array, kind)
        for array, kind in (
            *((order, np.int64), (features, np.int32), (b, np.float64), (gamma, np.float64)),
            *((score, np.float64), (curvature, np.float64)),
        )
    ]
    addresses: list[int] = []
    partial = np.empty((terms, row_blocks, 2 + 4 * D))
    try:
        addresses += [on_device(device, array, stream) for array in kept]
        addresses.append(device.allocate(8 * grid * geometry.width))
        tables = 0 if geometry.tables_in_shared else grid * 3 * D * geometry.width
        addresses.append(device.allocate(max(4 * tables, 1)))
        addresses.append(device.allocate(partial.nbytes))
        numbers = problems.record(problem), D, geometry.width, *addresses
        arguments = [np.int64(number) for number in numbers]
        shared = geometry.shared_bytes
        module.launch("langevin_sums", grid, threads or geometry.threads, arguments, shared, stream)
        device.download(partial, addresses[-1], stream)
        device.synchronize(device.record(stream))
    finally:
        problems.close()
        for address in addresses:
            device.free(address)
    return partial
