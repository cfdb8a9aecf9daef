"""A posterior on disk, readable with JSON and Arrow alone; `FORMAT.md` beside this file is the description.

RUN/manifest.json                   what was fitted and how; the SHA-256 of every other file
RUN/encoder/                        see `raytpnn.data.encoding.encoder_io`
RUN/data/                           see `raytpnn.data.rows.rows_io`
RUN/draws/chain=C/block=B.parquet   see `raytpnn.draws.parquet`
RUN/checkpoint/                     see `raytpnn.storage.formats.checkpoint`; a run that can be resumed has it
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.data.encoding.encoder_io import read_run_encoder
from raytpnn.data.rows.rows_check import check_response
from raytpnn.data.rows.rows_io import TrainingRows, read_rows, write_rows
from raytpnn.draws.files import REMAKE, read_draws, write_draws
from raytpnn.storage.checks import named
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.checkpoint import draws_name, good_blocks
from raytpnn.storage.formats.length import length_of
from raytpnn.storage.formats.manifest import (
    BEGUN,
    FORMAT,
    MANIFEST,
    VERSION,
    as_json,
    package_versions,
    read_manifest,
)
from raytpnn.storage.lease import Lease
from raytpnn.storage.places.place import Place, sha256_of_file
from raytpnn.storage.places.verified import RESTORE, verified_file

if TYPE_CHECKING:
    from raytpnn.data.encoding.encoder import Encoder
    from raytpnn.families import Family
    from raytpnn.posterior.posterior import Posterior

__all__ = ["RunError", "load", "save"]


def save(posterior: Posterior, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write a posterior to a folder.

    The manifest comes last: a folder that has one is a complete run.

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
    with Lease.claim(place) as lease, place.new_folder(replace=overwrite) as partial:
        refuse_to_replace(place, overwrite)
        write_rows(TrainingRows(posterior.bins, posterior.y, posterior.weight, posterior.offset), partial)
        posterior.encoder.save(partial / "encoder")
        write_draws(posterior.draws, partial / "draws")
        manifest = describe(posterior) | {"files": checksums(partial)}
        for name in (BEGUN, MANIFEST):
            (partial / name).write_bytes(as_json(manifest))
    lease.remove()


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
    return load_place(Place(folder), unfinished)


def load_place(place: Place, unfinished: bool = False, contents: dict[str, bytes] | None = None) -> Posterior:
    """Read a posterior; files of draws in `contents` were read and verified before."""
    from raytpnn.families import get_family
    from raytpnn.posterior.kinds import posterior_kind

    manifest = read_manifest(place)
    files, counted = manifest["files"], manifest.get("counted")
    running = manifest.get("state") == "running"
    with named(place.name_of(MANIFEST)):
        family = get_family(manifest["family"]).with_classes(manifest.get("classes"))
    if running:
        contents = {}
        found, counted = blocks_so_far(place, manifest, unfinished, contents)
        files = {name: sum_ for name, sum_ in files.items() if not name.startswith("draws/")} | found
    advice = REMAKE if "plan" in manifest else RESTORE
    rows = read_rows(
        lambda name: verified_file(place, name, files[name]),
        manifest["n_rows"],
        place.name_of,
    )
    encoder = read_run_encoder(place, files)
    draws = read_draws(place, files, advice, rows.bins.n_features, counted, contents)
    with named(place.name_of(MANIFEST)):
        check_together(manifest, rows, encoder, family)
        if not running and draws.n_draws != manifest["n_draws"]:
            raise ValueError(f"n_draws is {manifest['n_draws']}, but there are {draws.n_draws} draws")
    return posterior_kind(family)(
        draws=draws,
        encoder=encoder,
        bins=rows.bins,
        family=family,
        y=rows.y,
        weight=rows.weight,
        offset=rows.offset,
        classes=None if manifest["classes"] is None else tuple(manifest["classes"]),
        config=manifest["config"],
    )


def check_together(manifest: dict[str, Any], rows: TrainingRows, encoder: Encoder, family: Family) -> None:
    """Raise ValueError unless rows, features, classes and encoder of a run fit together."""
    names = rows.bins.names
    if list(names) != manifest["feature_names"] or names != encoder.names:
        raise ValueError("the features of data, encoder and manifest are not the same")
    if encoder.missing_code != rows.bins.missing_code:
        raise ValueError(f"the encoder has max_bins {encoder.max_bins}, codes are {rows.bins.codes.dtype}")
    n_bins = np.diff(rows.bins.first)[rows.bins.marginal]
    other = np.flatnonzero(n_bins != encoder.n_bins)
    if len(other):
        raise ValueError(f"feature {names[other[0]]!r:.60} has other bins in the encoder than in the data")
    if manifest.get("classes") is not None and not family.labelled:
        raise ValueError(f"it has classes, but its family is {family.name}")
    check_response(family, rows.y)


def blocks_so_far(
    place: Place, manifest: dict[str, Any], wanted: bool, contents: dict[str, bytes]
) -> tuple[dict[str, str], dict[str, Any] | None]:
    """Checksums of the draws of a run that goes on or was killed, and which of its draws count.

    What is read of the draws goes into `contents`.
    """
    plan = manifest["plan"]
    length = length_of(plan)
    blocks = length.blocks()
    dropped = 0 if wanted else length.sweeps
    if length.until and wanted:
        dropped = length.counted(length.sweeps_of(manifest.get("dropped_rounds", 0))).warmup
    good, _ = good_blocks(place, plan["digest"], blocks, plan["chains"], False, dropped, contents)
    if not wanted:
        most = "at most " if length.until else ""
        raise RunError(
            f"the run in {place} has not ended: {len(good)} of {most}{len(blocks) * plan['chains']} blocks "
            "are there. Go on with `raytpnn resume`, or load what is there with load(..., unfinished=True)"
        )
    counted, rounds = None, len(blocks)
    if length.until:
        # Those of complete rounds count.
        rounds = next(
            (r for r in range(rounds) if not all((chain, r) in good for chain in range(length.chains))),
            rounds,
        )
        counted = asdict(length.counted(length.sweeps_of(rounds)))
    files = {
        draws_name(chain, block): checkpoint.draws_sha256
        for (chain, block), checkpoint in good.items()
        if checkpoint.draws_sha256 is not None
        and block < rounds
        and (counted is None or sum(blocks[block]) > counted["warmup"])
    }
    return files, counted


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
