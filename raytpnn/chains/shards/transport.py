"""What carries exchanges between shards: shared memory on one node, torch's Gloo between nodes.

The environment variable RAYTPNN_EXCHANGE asks for one of them by name.
"""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np

from raytpnn.storage.errors import RunError

__all__ = ["GlooGroup", "Transport", "asked_transport", "transport_for"]

VARIABLE = "RAYTPNN_EXCHANGE"
CHOICES = ("auto", "memory", "gloo")


class Transport(Protocol):
    """Gathers numbers of all shards."""

    def gather(self, words: np.ndarray) -> list[np.ndarray]:
        """Give (m,) int64 of every shard, m the same for all."""


class GlooGroup:
    """The shards of one chain as a group of `ray.util.collective`, by torch's Gloo on CPUs.

    Parameters
    ----------
    shards, shard : int
    name : str
        Of the group; no other has it.
    """

    def __init__(self, shards: int, shard: int, name: str) -> None:
        try:
            import torch
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "shards on different nodes exchange sums by torch's Gloo, which is not installed: "
                "pip install 'raytpnn[gloo]' on every node"
            ) from None
        from ray.util import collective

        self.torch, self.collective = torch, collective
        self.shards, self.name = shards, name
        backend: Any = "gloo"
        collective.init_collective_group(shards, shard, backend, name)

    def gather(self, words: np.ndarray) -> list[np.ndarray]:
        """Give the words of every shard."""
        gathered = [self.torch.empty(len(words), dtype=self.torch.int64) for _ in range(self.shards)]
        self.collective.allgather(gathered, self.torch.from_numpy(words), self.name)
        return [tensor.numpy() for tensor in gathered]


def asked_transport() -> str:
    """What the user asks for, "auto" mostly."""
    asked = os.environ.get(VARIABLE, "auto")
    if asked not in CHOICES:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(CHOICES)}, got {asked!r}")
    return asked


def transport_for(asked: str, together: bool) -> str:
    """Transport of shards, which are `together` if all are on one node."""
    if asked == "memory" and not together:
        raise RunError(f"{VARIABLE}=memory: the shards of a chain are on different nodes, which share none")
    return "memory" if together and asked != "gloo" else "gloo"
