"""Files of draws: one per block, or one per chain of a saved posterior."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from raytpnn.draws.check import check_draws
from raytpnn.draws.draws import Draws
from raytpnn.storage.checks import named, whole
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.checkpoint import READERS
from raytpnn.storage.formats.length import Counted
from raytpnn.storage.formats.manifest import MANIFEST
from raytpnn.storage.formats.manifest_check import MOST_DRAWS
from raytpnn.storage.formats.parquet_files import read_columns
from raytpnn.storage.places.place import Place
from raytpnn.storage.places.verified import verified_bytes

__all__ = ["REMAKE", "draws_content", "read_draws", "write_draws"]

# What to do about a file of draws whose run can go on.
REMAKE = "; `raytpnn resume` makes it again"


def draws_content(draws: Draws) -> bytes:
    """Content of the file of a block's draws."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from raytpnn.draws.parquet import draws_to_arrow

    sink = pa.BufferOutputStream()
    # Numbers of a chain hardly repeat, and all are read: dictionaries and statistics would only cost.
    plain = {"use_dictionary": False, "write_statistics": False}
    pq.write_table(draws_to_arrow(draws), sink, compression="zstd", **plain)
    return sink.getvalue().to_pybytes()


def write_draws(draws: Draws, folder: Path) -> None:
    """Write one file per chain."""
    import pyarrow.parquet as pq

    from raytpnn.draws.parquet import draws_to_arrow

    chains, first = np.unique(draws.chain, return_index=True)
    edges = np.append(first, draws.n_draws)
    for i, chain in enumerate(chains):
        file = folder / f"chain={chain}" / "block=0.parquet"
        file.parent.mkdir(parents=True)
        pq.write_table(draws_to_arrow(draws, int(edges[i]), int(edges[i + 1])), file, compression="zstd")


def read_draws(
    place: Place,
    files: dict[str, str],
    advice: str,
    n_features: int,
    counted: dict[str, Any] | None = None,
    contents: dict[str, bytes] | None = None,
) -> Draws:
    """All blocks of all chains, in order; only the draws that count, if not all of them do.

    All that compiled code relies on is checked.

    Parameters
    ----------
    place : Place
    files : dict of str to str
        Checksums of the files of a run, by name.
    advice : str
        What to do about a file that is missing or damaged.
    n_features : int
        Encoded features of the model.
    counted : dict, optional
        Which draws count; see `Counted`.
    contents : dict of str to bytes, optional
        Files that were read and verified before, by name; they are taken out.
    """
    from raytpnn.draws.parquet import KINDS, OPTIONAL, draws_from_arrow

    def read(key: tuple[int, int, str]) -> Draws:
        chain, _, name = key
        data = (contents or {}).pop(name, None)
        if data is None:
            data = verified_bytes(place, name, files[name], advice)
        # One file alone is read without looking for partitions: the chain is known.
        table = read_columns(data, place.name_of(name), KINDS, OPTIONAL, MOST_DRAWS)
        with named(place.name_of(name)):
            draws = draws_from_arrow(table, chain)
            check_draws(draws, n_features)
        return draws

    keys = sorted(block_key(name) for name in files if name.startswith("draws/"))
    with ThreadPoolExecutor(READERS) as readers:
        parts = list(readers.map(read, keys))
    if not parts:
        raise RunError(f"{place} holds no draws: {MANIFEST} lists none")
    draws = Draws.concatenate(parts)
    if counted is None:
        return draws
    with named(place.name_of(MANIFEST)):
        draws = draws.counted(counted_of(counted))
    if not draws.n_draws:
        raise RunError(f"{place} holds no draws that count")
    return draws


def counted_of(stated: Any) -> Counted:
    """Which draws count, as a manifest states it; ValueError if it is something else."""
    if not isinstance(stated, dict) or set(stated) != {field.name for field in fields(Counted)}:
        raise ValueError(f"counted is {stated!r:.100}, but must say which draws count")
    least = {"thin": 1, "step": 1}
    return Counted(
        **{
            name: whole(value, f"counted.{name}", least.get(name, 0), MOST_DRAWS)
            for name, value in stated.items()
        }
    )


def block_key(name: str) -> tuple[int, int, str]:
    """Chain, block and name of a file of draws."""
    chain, block = (part.partition("=")[2] for part in name.removesuffix(".parquet").split("/")[1:])
    return int(chain), int(block), name
