"""`manifest.json`: what a run is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from raytpnn.storage.errors import RunError
from raytpnn.storage.place import Place

__all__ = ["FORMAT", "MANIFEST", "VERSION", "as_json", "package_versions", "plain", "read_manifest"]

FORMAT = "raytpnn run"
VERSION = 1
MANIFEST = "manifest.json"


def as_json(manifest: dict[str, Any]) -> bytes:
    """Content of the file."""
    return (json.dumps(plain(manifest), indent=1, allow_nan=False) + "\n").encode()


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


def read_manifest(place: Place) -> dict[str, Any]:
    """Manifest of a run that this version can read."""
    path = place.name_of(MANIFEST)
    try:
        manifest = json.loads(place.read(MANIFEST))
    except FileNotFoundError:
        raise RunError(f"{place} is not a saved run: it has no {MANIFEST}") from None
    except NotADirectoryError:
        raise RunError(f"{place} is not a saved run: it is a file") from None
    except ValueError as problem:
        raise RunError(f"{path} is damaged: {problem}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise RunError(f"{path} does not describe a saved run: its format is not {FORMAT!r}")
    if manifest["version"] > VERSION:
        written_by = manifest.get("versions", {}).get("raytpnn", "unknown")
        raise RunError(
            f"{place} has run format {manifest['version']}, written by raytpnn {written_by}; this raytpnn "
            f"reads formats up to {VERSION}: upgrade raytpnn"
        )
    return manifest
