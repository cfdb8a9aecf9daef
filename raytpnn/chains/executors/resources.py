"""What a worker asks of a Ray cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Resources"]


@dataclass(frozen=True)
class Resources:
    """Resources of the workers on Ray.

    Attributes
    ----------
    workers : int or None
        Workers to ask for; None takes as many as the cluster has room for, as it grows and shrinks. Give a
        number to have an autoscaling cluster grow. There are never more workers than chains.
    cpus : float
        CPUs per worker. Numba and BLAS in a worker use that many threads.
    gpus : float
        GPUs per worker; a fraction shares one. With `shards` on GPUs, how many GPUs of a chain a worker has:
        with 1, every shard has a worker of its own.
    custom : dict of str to float
        Ray's custom resources per worker, such as {"spot": 1}.
    wait : bool
        Wait for nodes that fit a worker to join, where there is none at present.
    """

    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0
    custom: dict[str, float] = field(default_factory=dict)
    wait: bool = False

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"Resources.workers must be 1 or more, got {self.workers}")
        for name, amount in self.wanted().items():
            if not amount >= 0.0:
                raise ValueError(f"Resources: {name} must not be negative, got {amount}")
        if self.cpus == 0.0 and self.gpus == 0.0 and not self.custom:
            raise ValueError("Resources: a worker must ask for something, got no CPU and no GPU")

    def wanted(self) -> dict[str, float]:
        """Amounts by Ray's names."""
        return {"CPU": self.cpus, "GPU": self.gpus, **self.custom}

    def options(self) -> dict[str, Any]:
        """Options of an actor that has them."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "resources": dict(self.custom)}

    def fit(self, available: dict[str, float]) -> int:
        """How many workers a node with these resources has room for."""
        rooms = [
            int(available.get(name, 0.0) / amount + 1e-9) for name, amount in self.wanted().items() if amount
        ]
        return min(rooms)
