"""`manifest.json`: what a run is, with a checksum of its own; the one before is kept beside it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from raytpnn.storage.checks import item, named, parsed_json, whole
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.manifest_check import check_manifest
from raytpnn.storage.places.place import Place

__all__ = [
    "BEGUN",
    "FORMAT",
    "MANIFEST",
    "PREVIOUS",
    "VERSION",
    "as_json",
    "manifest_in",
    "package_versions",
    "parse_manifest",
    "plain",
    "read_manifest",
    "write_manifest",
    "writer_of",
]

FORMAT = "raytpnn run"
VERSION = 1
MANIFEST = "manifest.json"
# The manifest before, and the first of all: what `raytpnn repair` begins with.
PREVIOUS = "manifest.previous.json"
BEGUN = "begun.json"
CHECKSUM = "checksum"


def as_json(manifest: dict[str, Any]) -> bytes:
    """Content of the file, with its checksum."""
    content = plain(manifest)
    content[CHECKSUM] = checksum_of(content)
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()


def checksum_of(manifest: dict[str, Any]) -> str:
    """SHA-256 of a manifest without its checksum: keys sorted, no spaces."""
    content = {name: value for name, value in manifest.items() if name != CHECKSUM}
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise ValueError("its lists or objects are nested too deeply") from None
    return hashlib.sha256(text.encode()).hexdigest()


def write_manifest(place: Place, manifest: dict[str, Any]) -> None:
    """Replace the manifest of a run, and keep the one before; both survive a power failure."""
    try:
        before = place.read(MANIFEST)
        parse_manifest(before)
    except (FileNotFoundError, ValueError):
        # What is lost or damaged must not take the place of one that is good.
        before = b""
    if before:
        place.write(PREVIOUS, before, durable=True)
    place.write(MANIFEST, as_json(manifest), durable=True)


def parse_manifest(data: bytes) -> Any:
    """Manifest of a file's content; ValueError if it is damaged. Older ones have no checksum."""
    manifest = parsed_json(data)
    if isinstance(manifest, dict) and CHECKSUM in manifest:
        version = manifest.get("version")
        # What a later version means by it is not known here.
        known = not isinstance(version, int) or version <= VERSION
        if known and manifest[CHECKSUM] != checksum_of(manifest):
            raise ValueError("its checksum is wrong")
        del manifest[CHECKSUM]
    return manifest


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


def writer_of(manifest: dict[str, Any]) -> str:
    """Version of raytpnn that wrote a run."""
    versions = manifest.get("versions")
    return str(versions.get("raytpnn", "unknown"))[:40] if isinstance(versions, dict) else "unknown"


def read_manifest(place: Place) -> dict[str, Any]:
    """Manifest of a run that this version can read."""
    try:
        return manifest_in(place, MANIFEST)
    except FileNotFoundError:
        if place.holds(BEGUN):
            raise RunError(
                f"{place.name_of(MANIFEST)} is missing; `raytpnn repair {place}` rebuilds it"
            ) from None
        raise RunError(f"{place} is not a saved run: it has no {MANIFEST}") from None
    except NotADirectoryError:
        raise RunError(f"{place} is not a saved run: it is a file") from None


def manifest_in(place: Place, name: str) -> dict[str, Any]:
    """Manifest of a file, checked: it may come from a stranger. FileNotFoundError if there is none."""
    path, data = place.name_of(name), place.read(name)
    try:
        manifest = parse_manifest(data)
    except ValueError as problem:
        whole_one = name == MANIFEST and place.holds(BEGUN)
        hint = f"; `raytpnn repair {place}` rebuilds it" if whole_one else ""
        raise RunError(f"{path} is damaged: {problem}{hint}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise RunError(f"{path} does not describe a saved run: its format is not {FORMAT!r}")
    with named(path):
        version = whole(item(manifest, "version"), "version", 1, 1 << 31)
    if version > VERSION:
        raise RunError(
            f"{path}: the run has format {version}, written by raytpnn {writer_of(manifest)}; this raytpnn "
            f"reads formats up to {VERSION}: upgrade raytpnn"
        )
    with named(path):
        check_manifest(manifest)
    return manifest
