"""What options of `raytpnn.sample` may be together, and with the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from raytpnn.chains.schedule.scheduler import Goal
from raytpnn.convergence.advice import GOOD_ESS, GOOD_RHAT
from raytpnn.engine.rows.subset import LEAST_OF_STRATUM, strata_of
from raytpnn.engine.rows.subset_options import resolve_subsets
from raytpnn.families import Family
from raytpnn.numerics.lanes import BLOCK
from raytpnn.storage.formats.length import LEAST_LIMIT, MOST_DRAWS, MOST_LIMIT, ROW_SWEEPS, Length

__all__ = [
    "check_outputs",
    "check_seed",
    "check_sharding",
    "check_subset_of_shards",
    "check_subsets",
    "goal_of",
    "instance_of",
    "length_asked",
    "limited",
]


def instance_of(name: str, value: Any, kind: type) -> Any:
    """Return the value, a default one for None; raise ValueError if it is of another kind."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a raytpnn.{kind.__name__}, got {type(value).__name__}: {value!r}")
    return value


def check_seed(seed: int) -> None:
    """Raise ValueError if a seed does not fit into the counters of random numbers."""
    if seed >= 2**64:
        raise ValueError(f"seed must be below 2**64, got {seed}")


def length_asked(chains: int, warmup: int, draws: Any, thin: Any, max_sweeps: Any) -> Length:
    """Length of chains as asked for; ValueError if it cannot be."""
    if draws is not None:
        if max_sweeps is not None:
            raise ValueError(
                f"max_sweeps={max_sweeps!r} limits a run that goes on until it has converged; leave it out, "
                f"or draws={draws!r}"
            )
        return Length(chains, warmup, draws, thin or 1)
    most = LEAST_LIMIT if max_sweeps is None else max_sweeps
    if most <= warmup:
        raise ValueError(
            f"max_sweeps must be more than the warm-up, got max_sweeps={most} and warmup={warmup}: no draw "
            "would be left"
        )
    return Length(chains, warmup, None, thin or 1, max_sweeps=most)


def limited(length: Length, max_sweeps: int | None, n_rows: int) -> Length:
    """The same length with the usual limit of sweeps for so many rows, unless one was asked for."""
    if not length.until or max_sweeps is not None:
        return length
    return replace(length, max_sweeps=min(max(ROW_SWEEPS // max(n_rows, 1), LEAST_LIMIT), MOST_LIMIT))


def goal_of(goal: Goal, length: Length) -> Goal:
    """When to stop, the usual limits filled in for chains that go on until they have converged."""
    if not length.until:
        return goal
    ess = GOOD_ESS if goal.ess is None else goal.ess
    # Thinning leaves at least half as many draws as the most.
    most = length.chains * MOST_DRAWS / 2
    if ess > most:
        raise ValueError(
            f"target_ess={ess:g} is more than {most:.0f}, the draws that {length.chains} chain(s) are sure "
            "to keep when their number is not given; give draws, or more chains"
        )
    return replace(goal, rhat=GOOD_RHAT if goal.rhat is None else goal.rhat, ess=ess)


def check_sharding(shards: int, backend: str, tempering: Any) -> None:
    """Raise ValueError if a chain cannot have its rows in so many shards."""
    if shards == 1:
        return
    if tempering is not None:
        raise ValueError(f"shards={shards} is for single chains; leave tempering out, or shards at 1")
    if backend == "reference":
        raise ValueError(f"shards={shards} needs backend='numba' or 'cuda', got {backend!r}")


def _name_of_subsets(minibatch: Any) -> str:
    """The option by which subsets were asked for."""
    return f"minibatch={minibatch}" if minibatch is not None else "delayed_acceptance=True"


def check_outputs(family: Family, asked: Any, backend: str) -> str:
    """Refuse what families of several outputs do not go with; returns the backend, "auto" resolved if so."""
    if family.outputs is None:
        return backend
    weights = asked.get("feature_weights")
    refused = {
        "backend='cuda'": backend == "cuda",
        f"shards={asked.get('shards')}": (asked.get("shards") or 1) > 1,
        "delayed_acceptance=True": bool(asked.get("delayed_acceptance")),
        f"feature_weights={weights!r}": isinstance(weights, str)
        and weights in ("screen", "marginal", "xgboost"),
        "an offset": family.shift_invariant and asked.get("offset") is not None,
    }
    for what, given in refused.items():
        if given:
            raise ValueError(f"{what} does not go with family {family.name!r}, which has several outputs")
    return "numba" if backend == "auto" else backend


def check_subset_of_shards(n: int, m: int, shards: int) -> None:
    """Raise ValueError if a subset of m rows cannot be taken in so many shards."""
    if m and shards > 1 and strata_of.py_func(n, m) < shards:
        raise ValueError(
            f"shards={shards} takes subsets of at least {LEAST_OF_STRATUM} rows a shard out of at least as "
            f"many blocks of {BLOCK} rows, got {m} of {n} rows; choose fewer shards or a larger minibatch"
        )


def check_subsets(minibatch: Any, delayed_acceptance: Any, tempering: Any, backend: str) -> str:
    """Refuse what subsets of the rows do not go with; returns the backend, "auto" resolved if it must be."""
    # What can be wrong whatever the number of rows is told before anything is read.
    resolve_subsets(2**62, minibatch, delayed_acceptance)
    if minibatch is None and not delayed_acceptance:
        return backend
    if tempering is not None:
        raise ValueError(
            f"{_name_of_subsets(minibatch)} does not go with tempering: replicas trade places by "
            "log-likelihoods of all rows, and screens are not made for other temperatures; leave one of them "
            "out"
        )
    # Many rows with a block of threads a chain: by kernels/README.md a core is quicker for a few chains.
    return "numba" if backend == "auto" and delayed_acceptance else backend
