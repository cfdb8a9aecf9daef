"""A posterior on disk, readable with JSON and Arrow alone; `FORMAT.md` beside this file is the description.

RUN/manifest.json                   what was fitted and how; the SHA-256 of every other file
RUN/encoder/                        see `raytpnn.data.encoder_io`
RUN/data/features.parquet           a row an encoded feature: its name and which marginal it has
RUN/data/marginals.parquet          a row a marginal: values and weights of its bins
RUN/data/rows.parquet               a row a training row: y, sample_weight, offset
RUN/data/codes.npy                  (p, n) training bins; the largest code of the dtype means missing
RUN/draws/chain=C/block=B.parquet   see `raytpnn.posterior.parquet`
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.bins import Bins
from raytpnn.posterior.draws import Draws
from raytpnn.posterior.parquet import combined, numbers, starts

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["FORMAT", "VERSION", "RunError", "load", "save"]

FORMAT = "raytpnn run"
VERSION = 1
MANIFEST = "manifest.json"


class RunError(ValueError):
    """A saved run that cannot be read; the message names the file and what is wrong with it."""


def save(posterior: Posterior, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a posterior to a folder.

    Everything is written to a folder beside and renamed: a folder of that name is a complete run.

    Parameters
    ----------
    posterior : Posterior
    folder : path
        Must not exist, or be empty.
    overwrite : bool
        Replace a run that is there already.

    Raises
    ------
    FileExistsError
        If the folder holds something else than a run, or a run without `overwrite`.
    """
    target = Path(folder)
    refuse_to_replace(target, overwrite)
    target.parent.mkdir(parents=True, exist_ok=True)
    with folder_beside(target) as partial:
        write_data(posterior, partial / "data")
        posterior.encoder.save(partial / "encoder")
        write_draws(posterior.draws, partial / "draws")
        manifest = describe(posterior) | {"files": checksums(partial)}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1, allow_nan=False) + "\n")
        put_in_place(partial, target)


def load(folder: str | os.PathLike[str]) -> Posterior:
    """Read a posterior that `save` wrote, verifying every file.

    Parameters
    ----------
    folder : path

    Raises
    ------
    RunError
        If the folder is no run, was written by a newer version, or a file is missing or damaged.
    """
    from raytpnn.data.encoder import Encoder
    from raytpnn.model.families import get_family
    from raytpnn.posterior.posterior import Posterior

    source = Path(folder)
    manifest = read_manifest(source)
    verify(source, manifest["files"])
    bins, rows = read_data(source / "data")
    return Posterior(
        draws=read_draws(source, manifest["files"]),
        encoder=Encoder.load(source / "encoder"),
        bins=bins,
        family=get_family(manifest["family"]),
        y=rows["y"],
        weight=rows["sample_weight"],
        offset=rows["offset"],
        classes=None if manifest["classes"] is None else tuple(manifest["classes"]),
        config=manifest["config"],
    )


def describe(posterior: Posterior) -> dict[str, Any]:
    """Manifest, but for the checksums."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "family": posterior.family.name,
        "classes": plain(posterior.classes),
        "n_rows": posterior.bins.n_rows,
        "n_draws": posterior.draws.n_draws,
        "versions": package_versions(),
        "config": plain(posterior.config),
        "feature_names": list(posterior.bins.names),
    }


def plain(value: Any) -> Any:
    """Value in terms of JSON: no NumPy types, null for what is not finite."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def package_versions() -> dict[str, str]:
    """Versions the run was written with."""
    import platform
    from importlib.metadata import version

    return {"python": platform.python_version()} | {
        package: version(package) for package in ("raytpnn", "numpy", "numba", "pyarrow")
    }


def write_data(posterior: Posterior, folder: Path) -> None:
    """Training bins, response, weights and offset."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    bins = posterior.bins
    np.save(folder / "codes.npy", bins.codes)
    tables = {
        "features": {"name": pa.array(bins.names, pa.string()), "marginal": bins.marginal.astype(np.int32)},
        "marginals": {
            "value": pa.LargeListArray.from_arrays(bins.first, bins.value),
            "weight": pa.LargeListArray.from_arrays(bins.first, bins.weight),
        },
        "rows": {"y": posterior.y, "sample_weight": posterior.weight, "offset": posterior.offset},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet", compression="zstd")


def read_data(folder: Path) -> tuple[Bins, dict[str, np.ndarray]]:
    """Training bins, and the columns of `rows.parquet`."""
    import pyarrow.parquet as pq

    features, marginals, rows = (
        pq.ParquetFile(folder / f"{name}.parquet").read() for name in ("features", "marginals", "rows")
    )
    value, weight = (combined(marginals, name) for name in ("value", "weight"))
    bins = Bins(
        codes=np.load(folder / "codes.npy", mmap_mode="r"),
        names=tuple(features["name"].to_pylist()),
        marginal=np.array(features["marginal"].to_numpy(), np.int32),
        first=starts(value),
        value=numbers(value.flatten(), np.float64),
        weight=numbers(weight.flatten(), np.float64),
    )
    return bins, {name: np.array(rows[name].to_numpy(), np.float64) for name in rows.column_names}


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


def read_draws(source: Path, files: dict[str, str]) -> Draws:
    """All blocks of all chains, in order."""
    import pyarrow.parquet as pq

    from raytpnn.posterior.parquet import draws_from_arrow

    parts = []
    for chain, _, name in sorted(block_key(name) for name in files if name.startswith("draws/")):
        # One file alone is read without looking for partitions: the chain is known.
        table = pq.ParquetFile(source / name).read()
        try:
            parts.append(draws_from_arrow(table, chain))
        except ValueError as problem:
            raise RunError(f"{source / name} does not hold draws: {problem}") from None
    if not parts:
        raise RunError(f"{source} holds no draws")
    return Draws.concatenate(parts)


def block_key(name: str) -> tuple[int, int, str]:
    """Chain, block and name of a file of draws."""
    chain, block = (part.partition("=")[2] for part in name.removesuffix(".parquet").split("/")[1:])
    return int(chain), int(block), name


def read_manifest(source: Path) -> dict[str, Any]:
    """Manifest of a run that this version can read."""
    path = source / MANIFEST
    try:
        manifest = json.loads(path.read_text())
    except FileNotFoundError:
        raise RunError(f"{source} is not a saved run: it has no {MANIFEST}") from None
    except ValueError as problem:
        raise RunError(f"{path} is damaged: {problem}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise RunError(f"{path} does not describe a saved run: its format is not {FORMAT!r}")
    if manifest["version"] > VERSION:
        written_by = manifest.get("versions", {}).get("raytpnn", "unknown")
        raise RunError(
            f"{source} has run format {manifest['version']}, written by raytpnn {written_by}; this raytpnn "
            f"reads formats up to {VERSION}: upgrade raytpnn"
        )
    return manifest


def verify(source: Path, files: dict[str, str]) -> None:
    """Compare every file with its checksum."""
    for name, expected in files.items():
        path = source / name
        if not path.is_file():
            raise RunError(f"{path} is missing; restore it or fit again")
        if sha256(path) != expected:
            raise RunError(
                f"{path} is damaged: its SHA-256 is not the one in {MANIFEST}; restore it or fit again"
            )


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file, by its path within the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path) for path in paths}


def sha256(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_to_replace(target: Path, overwrite: bool) -> None:
    """Raise if there is something at `target` that must stay."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not (target / MANIFEST).is_file():
        raise FileExistsError(f"{target} exists and is not a saved run; choose another folder")
    if not overwrite:
        raise FileExistsError(f"{target} holds a run already; choose another folder or give overwrite=True")


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Make a new folder on the same disk as `target`, gone afterwards unless it was renamed."""
    partial = target.parent / f".{target.name}.{uuid.uuid4().hex}.partial"
    partial.mkdir()
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def put_in_place(partial: Path, target: Path) -> None:
    """Rename a complete folder to `target`, over an older run."""
    if target.exists():
        older = partial.with_suffix(".older")
        target.rename(older)
        partial.rename(target)
        shutil.rmtree(older)
    else:
        partial.rename(target)
