"""What `raytpnn fit` can be asked for: defaults, then the config file, then flags."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

__all__ = ["FitOptions", "merge"]


@dataclass(frozen=True)
class FitOptions:
    """Options of a fit. Every field is a flag and a key of the config file.

    `prior`, `moves` and `tempering` are tables of the config file only; see `raytpnn.Prior`, `raytpnn.Moves`
    and `raytpnn.Tempering`.
    `feature_weights` may be a table there too, from names of columns to weights.
    """

    data: str | None = None
    target: str | None = None
    out: str | None = None
    family: str | None = None
    positive: str | int | float | bool | None = None
    weights: str | None = None
    offset: str | None = None
    drop: list[str] = field(default_factory=list)
    samples: str | None = None
    layer: str | None = None
    orientation: str = "auto"
    annotation: str | None = None
    log2: str = "auto"
    min_sd: float = 0.0
    collapse: str | None = None
    covariates: list[str] = field(default_factory=list)
    chains: int = 4
    warmup: int = 1000
    draws: int | None = None
    thin: int | None = None
    max_sweeps: int | None = None
    seed: int = 0
    replicas: int | None = None
    spread: bool | None = None
    shards: int = 1
    cv: str | int | None = None
    splits: int | None = None
    permute: int = 0
    target_rhat: float | None = None
    target_ess: float | None = None
    time_limit: float | None = None
    executor: str = "ray"
    address: str | None = None
    workers: int | None = None
    cpus: float | None = None
    gpus: float | None = None
    wait: bool = False
    feature_weights: str | dict | None = None
    max_bins: int = 255
    missing_indicators: bool = False
    streaming: bool | None = None
    backend: str = "auto"
    minibatch: int | None = None
    delayed_acceptance: bool = False
    prior: dict = field(default_factory=dict)
    moves: dict = field(default_factory=dict)
    tempering: dict = field(default_factory=dict)


def merge(flags: dict[str, Any], config: dict[str, Any]) -> FitOptions:
    """Options of a fit; a flag that is None, or an empty list, was not given."""
    known = {option.name for option in fields(FitOptions)}
    given = {name: value for name, value in flags.items() if name in known and value not in (None, [])}
    return FitOptions(**config | given)
