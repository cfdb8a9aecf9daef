"""The seat of a shard among those that run a chain with it: in shared memory, or reached by messages."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from raytpnn.chains.plan import Plan
from raytpnn.chains.shards.carrier import Carrier
from raytpnn.chains.shards.transport import GlooGroup
from raytpnn.chains.work.one_chain import ShardOfChain, shard_of_chain
from raytpnn.engine.exchange.mailbox import new_mailbox
from raytpnn.engine.exchange.meeting import map_mailbox, remove_old_mailboxes
from raytpnn.engine.gpu.device import Device, DeviceError, find_devices
from raytpnn.engine.sharded_chain import room_width

__all__ = ["MAILBOX", "remove_mailbox", "take_seat"]

# How names of files begin through which shards of a node share memory.
MAILBOX = "raytpnn-"


def shared_folder() -> Path:
    """Folder of files that stay in memory, where there is one."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else Path(tempfile.gettempdir())


def remove_mailbox(meeting: str) -> None:
    """Remove the name of the memory that a meeting shares, if it is there."""
    (shared_folder() / meeting).unlink(missing_ok=True)


def take_seat(plan: Plan, shards: int, shard: int, gpus: int, meeting: str, transport: str) -> ShardOfChain:
    """Shard of a chain that meets the others.

    Parameters
    ----------
    plan : Plan
        Its problem is that of the shard's rows.
    shards, shard : int
    gpus : int
        For backend "cuda": GPUs that the shard's rows lie on.
    meeting : str
        Name of the meeting; no other has it.
    transport : str
        "memory" or "gloo".
    """
    width = room_width(plan.settings, plan.watched)
    if transport == "memory":
        remove_old_mailboxes(shared_folder(), MAILBOX)
        mailbox = map_mailbox(str(shared_folder() / meeting), width)
    else:
        mailbox = new_mailbox(width)
    own = shard_of_chain(plan, shards, shard, mailbox, own_devices(gpus) if plan.backend == "cuda" else ())
    if transport != "memory":
        # Its thread ends with the meeting.
        Carrier(own.meeting, GlooGroup(shards, shard, meeting))
    return own


def own_devices(count: int) -> Sequence[Device]:
    """GPUs that Ray gave this process, as many as it asked for."""
    devices = find_devices()
    if len(devices) < count:
        raise DeviceError(
            f"a worker was to have {count} GPUs and sees {len(devices)}; look at CUDA_VISIBLE_DEVICES there"
        )
    return devices[:count]
