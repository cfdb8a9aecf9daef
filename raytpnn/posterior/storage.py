"""A posterior on disk, readable with JSON and Arrow alone; `FORMAT.md` beside this file is the description.

RUN/manifest.json                   what was fitted and how; the SHA-256 of every other file
RUN/encoder/                        see `raytpnn.data.encoder_io`
RUN/data/                           see `raytpnn.data.rows_io`
RUN/draws/chain=C/block=B.parquet   see `raytpnn.posterior.parquet`
RUN/checkpoint/                     see `raytpnn.storage.checkpoint`; a run that can be resumed has it
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.rows_io import TrainingRows, read_rows, write_rows
from raytpnn.posterior.draws import Draws
from raytpnn.storage.checkpoint import READERS, block_extents, draws_name, good_blocks
from raytpnn.storage.errors import RunError
from raytpnn.storage.manifest import FORMAT, MANIFEST, VERSION, as_json, package_versions, read_manifest
from raytpnn.storage.place import Place, sha256_of_bytes, sha256_of_file

if TYPE_CHECKING:
    from raytpnn.data.encoder import Encoder
    from raytpnn.posterior.posterior import Posterior

__all__ = ["RunError", "load", "save"]

ENCODER = ("encoder/encoder.json", "encoder/encoder.parquet")


def save(posterior: Posterior, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a posterior to a folder.

    Everything is written to a folder beside and renamed: a folder of that name is a complete run.

    Parameters
    ----------
    posterior : Posterior
    folder : path or URI
        Must not exist, or be empty.
    overwrite : bool
        Replace a run that is there already.

    Raises
    ------
    FileExistsError
        If the folder holds something else than a run, or a run without `overwrite`.
    """
    place = Place(folder)
    refuse_to_replace(place, overwrite)
    with place.new_folder() as partial:
        write_rows(TrainingRows(posterior.bins, posterior.y, posterior.weight, posterior.offset), partial)
        posterior.encoder.save(partial / "encoder")
        write_draws(posterior.draws, partial / "draws")
        manifest = describe(posterior) | {"files": checksums(partial)}
        (partial / MANIFEST).write_bytes(as_json(manifest))


def load(folder: str | os.PathLike[str], unfinished: bool = False) -> Posterior:
    """Read a posterior, verifying every file.

    Parameters
    ----------
    folder : path or URI
        What `Posterior.save` wrote, or the run of `raytpnn.sample(out=...)` and `raytpnn fit`.
    unfinished : bool
        Take the blocks that are there of a run that has not ended.

    Raises
    ------
    RunError
        If the folder is no run, was written by a newer version, has not ended, or a file is missing or
        damaged.
    """
    from raytpnn.model.families import get_family
    from raytpnn.posterior.posterior import Posterior

    place = Place(folder)
    manifest = read_manifest(place)
    files = manifest["files"]
    if manifest.get("state") == "running":
        files = files | blocks_so_far(place, manifest, unfinished)
    advice = "; `raytpnn resume` makes it again" if "plan" in manifest else "; restore it or fit again"
    rows = read_rows(lambda name: verified(place, name, files, "; restore it or fit again"))
    return Posterior(
        draws=read_draws(place, files, advice),
        encoder=read_encoder(place, files),
        bins=rows.bins,
        family=get_family(manifest["family"]),
        y=rows.y,
        weight=rows.weight,
        offset=rows.offset,
        classes=None if manifest["classes"] is None else tuple(manifest["classes"]),
        config=manifest["config"],
    )


def blocks_so_far(place: Place, manifest: dict[str, Any], wanted: bool) -> dict[str, str]:
    """Checksums of the draws of a run that goes on or was killed."""
    plan = manifest["plan"]
    blocks = block_extents(plan["warmup"] + plan["draws"] * plan["thin"], plan["block_sweeps"])
    good, _ = good_blocks(place, plan["digest"], blocks, plan["chains"], watched=False)
    if not wanted:
        raise RunError(
            f"the run in {place} has not ended: {len(good)} of {len(blocks) * plan['chains']} blocks are "
            "there. Go on with `raytpnn resume`, or load what is there with load(..., unfinished=True)"
        )
    return {
        draws_name(chain, block): checkpoint.draws_sha256
        for (chain, block), checkpoint in good.items()
        if checkpoint.draws_sha256 is not None
    }


def describe(posterior: Posterior) -> dict[str, Any]:
    """Manifest, but for the checksums."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "family": posterior.family.name,
        "classes": posterior.classes,
        "n_rows": posterior.bins.n_rows,
        "n_draws": posterior.draws.n_draws,
        "versions": package_versions(),
        "config": posterior.config,
        "feature_names": list(posterior.bins.names),
    }


def write_draws(draws: Draws, folder: Path) -> None:
    """One file a chain."""
    import pyarrow.parquet as pq

    from raytpnn.posterior.parquet import draws_to_arrow

    chains, first = np.unique(draws.chain, return_index=True)
    edges = np.append(first, draws.n_draws)
    for i, chain in enumerate(chains):
        file = folder / f"chain={chain}" / "block=0.parquet"
        file.parent.mkdir(parents=True)
        pq.write_table(draws_to_arrow(draws, int(edges[i]), int(edges[i + 1])), file, compression="zstd")


def read_draws(place: Place, files: dict[str, str], advice: str) -> Draws:
    """All blocks of all chains, in order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from raytpnn.posterior.parquet import draws_from_arrow

    def read(key: tuple[int, int, str]) -> Draws:
        chain, _, name = key
        data = verified_bytes(place, name, files[name], advice)
        try:
            # One file alone is read without looking for partitions: the chain is known.
            return draws_from_arrow(pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False), chain)
        except ValueError as problem:
            raise RunError(f"{place.name_of(name)} does not hold draws: {problem}") from None

    keys = sorted(block_key(name) for name in files if name.startswith("draws/"))
    with ThreadPoolExecutor(READERS) as readers:
        parts = list(readers.map(read, keys))
    if not parts:
        raise RunError(f"{place} holds no draws")
    return Draws.concatenate(parts)


def block_key(name: str) -> tuple[int, int, str]:
    """Chain, block and name of a file of draws."""
    chain, block = (part.partition("=")[2] for part in name.removesuffix(".parquet").split("/")[1:])
    return int(chain), int(block), name


def read_encoder(place: Place, files: dict[str, str]) -> Encoder:
    """Encoder of a run."""
    from raytpnn.data.encoder import Encoder

    content = {
        name: verified_bytes(place, name, files[name], "; restore it or fit again") for name in ENCODER
    }
    if place.path is not None:
        return Encoder.load(place.path / "encoder")
    with tempfile.TemporaryDirectory(prefix="raytpnn-") as folder:
        for name, data in content.items():
            (Path(folder) / Path(name).name).write_bytes(data)
        return Encoder.load(Path(folder))


def verified(place: Place, name: str, files: dict[str, str], advice: str) -> Path:
    """Local path of a file whose checksum is right."""
    try:
        path = place.local_file(name, files[name])
        checksum = sha256_of_file(path) if place.path is not None else files[name]
    except FileNotFoundError:
        raise RunError(f"{place.name_of(name)} is missing{advice}") from None
    compare(place, name, checksum, files[name], advice)
    return path


def verified_bytes(place: Place, name: str, expected: str, advice: str) -> bytes:
    """Content of a file whose checksum is right."""
    try:
        data = place.read(name)
    except FileNotFoundError:
        raise RunError(f"{place.name_of(name)} is missing{advice}") from None
    compare(place, name, sha256_of_bytes(data), expected, advice)
    return data


def compare(place: Place, name: str, checksum: str, expected: str, advice: str) -> None:
    """Raise if two checksums differ."""
    if checksum != expected:
        raise RunError(f"{place.name_of(name)} is damaged: its SHA-256 is not the one in {MANIFEST}{advice}")


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file, by its path within the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256_of_file(path) for path in paths}


def refuse_to_replace(place: Place, overwrite: bool) -> None:
    """Raise if there is something at `place` that must stay."""
    if place.empty():
        return
    if not place.holds(MANIFEST):
        raise FileExistsError(f"{place} exists and is not a saved run; choose another folder")
    if not overwrite:
        raise FileExistsError(f"{place} holds a run already; choose another folder or give overwrite=True")
