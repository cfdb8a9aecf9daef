"""A finished block of a chain: where it stands in the run, and the state from which the next one starts.

A checkpoint is a line of JSON, the state and what was watched, compressed, and the SHA-256 of all of it in 32
bytes. A block counts only when its checkpoint is there, and says the checksum of the block's draws.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import Any

from raytpnn.storage.checks import checksum, mapping, named, parsed_json, text, whole
from raytpnn.storage.errors import RunError
from raytpnn.storage.places.place import Place, sha256_of_bytes

__all__ = [
    "CHECKPOINT",
    "Checkpoint",
    "block_extents",
    "checkpoint_name",
    "draws_name",
    "good_block",
    "good_blocks",
]

DIGEST_BYTES = 32
CODEC = "zstd"
CHECKPOINT = re.compile(r"checkpoint/chain=(0|[1-9]\d{0,8})/block=(0|[1-9]\d{0,8})")
# Room for the states of 256 replicas; for what is watched of a block whose draws are as large as can be.
MOST_STATE_BYTES = 1 << 27
MOST_WATCHED_BYTES = 1 << 28
SMALL_BYTES = 1 << 23
LARGE = threading.Lock()
# Files that are read at a time: an object store answers late, but many at once.
READERS = 16


def checkpoint_name(chain: int, block: int) -> str:
    """Where in the run a checkpoint is."""
    return f"checkpoint/chain={chain}/block={block}"


def draws_name(chain: int, block: int) -> str:
    """Where in the run the draws of a block are."""
    return f"draws/chain={chain}/block={block}.parquet"


def weights_name(at: int) -> str:
    """Where in the run the feature weights are that hold from a round on."""
    return f"checkpoint/weights={at}"


def sets_name(at: int) -> str:
    """Where in the run the feature weights and the table of sets are that hold from a round on."""
    return f"checkpoint/sets={at}"


def block_extents(sweeps: int, step: int) -> list[tuple[int, int]]:
    """First sweep and number of sweeps of every block of a chain."""
    return [(first, min(step, sweeps - first)) for first in range(0, sweeps, step)]


@dataclass(frozen=True)
class Checkpoint:
    """What is known after a block.

    Attributes
    ----------
    plan : str
        Digest of what defines the run's chains: a checkpoint of another run is none of this one.
    chain, block : int
    first, sweeps : int
        First sweep of the block and how many it has.
    draws : int
        Draws the block kept.
    draws_sha256 : str or None
        Checksum of their file; None if it kept none.
    facts : dict
        What is to be shown of the chain after the block.
    state : bytes
        State of the chain after the block.
    watched : bytes
        What was watched of the block's draws; empty if it kept none.
    """

    plan: str
    chain: int
    block: int
    first: int
    sweeps: int
    draws: int
    draws_sha256: str | None
    facts: dict[str, Any]
    state: bytes
    watched: bytes

    def pack(self) -> bytes:
        """Content of the file."""
        import pyarrow as pa

        header = self.__dict__ | {"state": len(self.state), "watched": len(self.watched)}
        packed = pa.compress(self.state + self.watched, codec=CODEC, asbytes=True)
        body = json.dumps(header).encode() + b"\n" + packed
        return body + hashlib.sha256(body).digest()

    @staticmethod
    def unpack(data: bytes, name: str) -> Checkpoint:
        """Checkpoint of a file's content; `name` is for the error if it is damaged."""
        body, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            raise RunError(f"{name} is damaged: its checksum is wrong")
        line, _, packed = body.partition(b"\n")
        with named(name):
            header = checked_header(parsed_json(line))
            cut, rest = header["state"], header["watched"]
            # Sixteen files are read at a time: large ones one after the other.
            with LARGE if cut + rest > SMALL_BYTES else nullcontext():
                content = decompressed(packed, cut + rest)
                return Checkpoint(**header | {"state": content[:cut], "watched": content[cut:]})

    @staticmethod
    def read(place: Place, chain: int, block: int) -> Checkpoint:
        """Checkpoint of a run; FileNotFoundError if it is not there, RunError if it is damaged."""
        name = checkpoint_name(chain, block)
        found = Checkpoint.unpack(place.read(name), place.name_of(name))
        if (found.chain, found.block) != (chain, block):
            raise RunError(
                f"{place.name_of(name)} is damaged: it is one of chain {found.chain}, block {found.block}"
            )
        return found


def checked_header(header: Any) -> dict[str, Any]:
    """Header of a checkpoint; ValueError if it is not one, or what it announces is too large."""
    mapping(header, "the header")
    fields = {field.name for field in dataclass_fields(Checkpoint)}
    odd = set(header) ^ fields
    if odd:
        name = min(odd)
        raise ValueError(f"the header {'lacks' if name in fields else 'has'} {name!r:.60}")
    text(header["plan"], "plan")
    for name in ("chain", "block", "first", "sweeps", "draws"):
        whole(header[name], name, 0, 1 << 53)
    if header["draws_sha256"] is not None:
        checksum(header["draws_sha256"], "draws_sha256")
    mapping(header["facts"], "facts")
    whole(header["state"], "state", 0, MOST_STATE_BYTES)
    whole(header["watched"], "watched", 0, MOST_WATCHED_BYTES)
    return header


def decompressed(packed: bytes, size: int) -> bytes:
    """Bytes of so many, neither more nor fewer."""
    import pyarrow as pa

    if size == 0:
        return b""
    return pa.decompress(packed, size, codec=CODEC, asbytes=True)


def good_blocks(
    place: Place,
    plan: str,
    blocks: list[tuple[int, int]],
    chains: int,
    watched: bool = True,
    dropped: int = 0,
    contents: dict[str, bytes] | None = None,
) -> tuple[dict[tuple[int, int], Checkpoint], list[str]]:
    """Look at every block of a run.

    Parameters
    ----------
    place : Place
    plan : str
        Digest that checkpoints of the run have.
    blocks : list of (first sweep, sweeps)
        The blocks that a chain should have.
    chains : int
    watched : bool
        Whether what was watched is wanted: of many chains it takes much memory.
    dropped : int
        Sweeps whose draws do not count any more: blocks that end before are good without their draws.
    contents : dict of str to bytes, optional
        Takes what was read of the draws, by name, for who needs them later.

    Returns
    -------
    good : dict of (chain, block) to Checkpoint
        Without the states.
    problems : list of str
        What is wrong with those that are there but not good, by file.
    """
    there = filter(None, (CHECKPOINT.fullmatch(name) for name in place.names("checkpoint")))
    found = sorted((int(match[1]), int(match[2])) for match in there)
    wanted = [(chain, block) for chain, block in found if chain < chains and block < len(blocks)]

    def look(where: tuple[int, int]) -> Checkpoint | str | None:
        try:
            extent = blocks[where[1]]
            seen = good_block(place, plan, *where, extent, sum(extent) > dropped, contents)
            if seen is None:
                return None
            return replace(seen, state=b"", watched=seen.watched if watched else b"")
        except (RunError, OSError, ValueError) as problem:
            return str(problem)

    good, problems = {}, []
    with ThreadPoolExecutor(READERS) as readers:
        for where, seen in zip(wanted, readers.map(look, wanted), strict=True):
            if isinstance(seen, str):
                problems.append(seen)
            elif seen is not None:
                good[where] = seen
    return good, problems


def good_block(
    place: Place,
    plan: str,
    chain: int,
    block: int,
    extent: tuple[int, int],
    draws: bool = True,
    contents: dict[str, bytes] | None = None,
) -> Checkpoint | None:
    """Checkpoint of a block, verified, with `draws` its draws too; None if it has another length.

    `contents` takes what was read of the draws, by name.
    """
    checkpoint = Checkpoint.read(place, chain, block)
    if checkpoint.plan != plan:
        raise RunError(f"{place.name_of(checkpoint_name(chain, block))} belongs to another run")
    # The last block of a run that was made longer since is too short, and no mistake.
    if (checkpoint.first, checkpoint.sweeps) != extent:
        return None
    if draws:
        name, data = verify_draws(place, checkpoint)
        if data and contents is not None:
            contents[name] = data
    return checkpoint


def verify_draws(place: Place, checkpoint: Checkpoint) -> tuple[str, bytes]:
    """Compare the draws of a block with the checksum in its checkpoint; name and content of their file."""
    name = draws_name(checkpoint.chain, checkpoint.block)
    if checkpoint.draws_sha256 is None:
        return name, b""
    try:
        data = place.read(name)
    except FileNotFoundError:
        raise RunError(f"{place.name_of(name)} is missing") from None
    if sha256_of_bytes(data) != checkpoint.draws_sha256:
        raise RunError(f"{place.name_of(name)} is damaged: its SHA-256 is not the one in its checkpoint")
    return name, data
