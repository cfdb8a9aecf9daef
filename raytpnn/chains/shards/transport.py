"""What carries exchanges between shards, and which of it a team takes.

Shards of one node share memory. Others send messages through `ray.util.collective`: by NCCL if every worker
has GPUs and what that needs, else by torch's Gloo. The environment variable RAYTPNN_EXCHANGE asks for one of
them by name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from raytpnn.storage.errors import RunError

__all__ = [
    "GlooGroup",
    "NcclGroup",
    "Transport",
    "asked_transport",
    "has_nccl",
    "new_group",
    "transport_by_offers",
    "transport_by_place",
]

VARIABLE = "RAYTPNN_EXCHANGE"
CHOICES = ("auto", "memory", "nccl", "gloo")


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


class NcclGroup:
    """The shards of one chain as a group of `ray.util.collective`, by NCCL between their first GPUs.

    It has never been run on a GPU. What Ray calls of `cupy.cuda.nccl` for it (versions, a unique id, a
    communicator, `allReduce` of int64) has been run with NumPy in the place of CuPy.

    Parameters
    ----------
    shards, shard : int
    name : str
        Of the group; no other has it.
    """

    # Among the GPUs that a worker sees, which are those that Ray gave it.
    gpu = 0

    def __init__(self, shards: int, shard: int, name: str) -> None:
        import cupy
        from ray.util import collective

        self.cupy, self.collective = cupy, collective
        self.shards, self.shard, self.name = shards, shard, name
        backend: Any = "nccl"
        collective.init_collective_group(shards, shard, backend, name)
        # The first exchange makes the communicators: what is wrong with them is to show here.
        self.gather(np.zeros(1, np.int64))
        if shard == 0:
            self._forget_id()

    def gather(self, words: np.ndarray) -> list[np.ndarray]:
        """Give the words of every shard.

        A sum to which one shard gives a number and all others 0 is that number: one call, on one array.
        """
        table = np.zeros((self.shards, len(words)), np.int64)
        table[self.shard] = words
        with self.cupy.cuda.Device(self.gpu) as device:
            on_gpu = self.cupy.asarray(table)
            self.collective.allreduce(on_gpu, self.name)
            # Ray gives NCCL a stream of its own, for which nobody waits yet.
            device.synchronize()
            return list(on_gpu.get())

    def _forget_id(self) -> None:
        """End the actor by which Ray told the others the group's id: it would outlive the team."""
        import ray
        from ray.util.collective.const import get_store_name

        ray.kill(ray.get_actor(get_store_name(f"{self.gpu}@{self.name}")))


def has_nccl() -> bool:
    """Whether Ray has NCCL in this process: it wants CuPy, NCCL's library and, as of Ray 2.60, torch."""
    from ray.util import collective

    return bool(collective.nccl_available())


def new_group(transport: str, shards: int, shard: int, name: str) -> Transport:
    """Join a group for messages."""
    kinds: dict[str, type[GlooGroup] | type[NcclGroup]] = {"gloo": GlooGroup, "nccl": NcclGroup}
    return kinds[transport](shards, shard, name)


def asked_transport() -> str:
    """What the user asks for, "auto" mostly."""
    asked = os.environ.get(VARIABLE, "auto")
    if asked not in CHOICES:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(CHOICES)}, got {asked!r}")
    return asked


def transport_by_place(asked: str, together: bool, on_gpus: bool) -> str | None:
    """Transport of shards by where they are; None if it depends on what their nodes have.

    Parameters
    ----------
    asked : str
    together : bool
        All are on one node.
    on_gpus : bool
        Every one has a GPU.
    """
    if asked == "memory" and not together:
        raise RunError(f"{VARIABLE}=memory: the shards of a chain are on different nodes, which share none")
    if asked == "nccl" and not on_gpus:
        raise RunError(f"{VARIABLE}=nccl: NCCL is for shards on GPUs, these are on CPUs")
    if together and asked in ("auto", "memory"):
        return "memory"
    return None if on_gpus and asked != "gloo" else "gloo"


def transport_by_offers(asked: str, nodes: Sequence[str], nccl: Sequence[bool]) -> str:
    """Transport of shards on GPUs, by the address of each one's node and whether it has NCCL."""
    if all(nccl):
        return "nccl"
    if asked == "nccl":
        without = sorted({node for node, has in zip(nodes, nccl, strict=True) if not has})
        raise RunError(
            f"{VARIABLE}=nccl: Ray finds no NCCL on {', '.join(without)}: it wants CuPy, NCCL's library "
            "(pip install nvidia-nccl-cu12 or nvidia-nccl-cu13) and torch there"
        )
    return "gloo"
