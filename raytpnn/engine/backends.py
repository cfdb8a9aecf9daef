"""Which execution of the sampler a backend name stands for."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

__all__ = ["BACKENDS", "EnsembleRunner", "block_runner", "check_backend", "ensemble_runner", "local_backend"]

BACKENDS = ("auto", "numba", "cuda", "reference")


def check_backend(backend: str) -> None:
    """Raise ValueError if there is no such backend."""
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}")


def local_backend(backend: str, shards: int = 1) -> str:
    """Backend that a name stands for in this process.

    "auto" is "cuda" if there is a GPU that it can use, and one for every shard of the rows.

    Raises
    ------
    ValueError
        If there is no such backend, or what it needs is missing.
    """
    check_backend(backend)
    if backend in ("auto", "cuda"):
        from raytpnn.engine.gpu.device import DeviceError, find_devices

        try:
            count = len(find_devices())
        except DeviceError:
            if backend == "cuda":
                raise
            return "auto"
        return "auto" if backend == "auto" and count < shards else "cuda"
    return backend


@cache
def block_runner(backend: str) -> Any:
    """Function that runs a block of sweeps.

    Raises
    ------
    ValueError
        If there is no such backend, or it is not available.
    """
    check_backend(backend)
    if backend == "cuda":
        raise ValueError(
            "chains of backend 'cuda' run together, see raytpnn.engine.gpu.chains; not one by one"
        )
    from raytpnn.engine.sweeps.sweep import run_block

    if backend == "reference":
        from raytpnn.engine.reference.execution import reference_of

        return reference_of(run_block)
    return run_block


class EnsembleRunner(NamedTuple):
    """Functions that run an ensemble of replicas, see `raytpnn.engine.sweeps.ensemble`."""

    begin: Any
    sweep: Any
    end: Any
    run: Any
    replica: Any = None


@cache
def ensemble_runner(backend: str) -> EnsembleRunner:
    """Functions that run an ensemble; raises like `block_runner`."""
    block_runner(backend)
    from raytpnn.engine.sweeps import ensemble

    runner = EnsembleRunner(
        ensemble.begin_replicas,
        ensemble.sweep_replicas,
        ensemble.end_sweep,
        ensemble.run_ensemble,
        ensemble.run_replica,
    )
    if backend == "reference":
        from raytpnn.engine.reference.execution import reference_of

        return EnsembleRunner(*(reference_of(function) for function in runner))
    return runner
