"""Which execution of the sampler a backend name stands for."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

__all__ = ["BACKENDS", "EnsembleRunner", "block_runner", "ensemble_runner"]

BACKENDS = ("auto", "numba", "cuda", "reference")


@cache
def block_runner(backend: str) -> Any:
    """Function that runs a block of sweeps.

    Raises
    ------
    ValueError
        If there is no such backend, or it is not available.
    """
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    if backend == "cuda":
        raise ValueError("backend 'cuda' is not part of this version; use backend='numba'")
    from raytpnn.engine.sweep import run_block

    if backend == "reference":
        from raytpnn.engine.reference import reference_of

        return reference_of(run_block)
    return run_block


class EnsembleRunner(NamedTuple):
    """Functions that run an ensemble of replicas, see `raytpnn.engine.ensemble`."""

    begin: Any
    sweep: Any
    end: Any
    run: Any
    replica: Any = None


@cache
def ensemble_runner(backend: str) -> EnsembleRunner:
    """Functions that run an ensemble; raises like `block_runner`."""
    block_runner(backend)
    from raytpnn.engine import ensemble

    runner = EnsembleRunner(
        ensemble.begin_replicas,
        ensemble.sweep_replicas,
        ensemble.end_sweep,
        ensemble.run_ensemble,
        ensemble.run_replica,
    )
    if backend == "reference":
        from raytpnn.engine.reference import reference_of

        return EnsembleRunner(*(reference_of(function) for function in runner))
    return runner
