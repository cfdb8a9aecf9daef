"""Which execution of the sampler a backend name stands for."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["BACKENDS", "block_runner"]

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
