"""Files of a run that are what its manifest says they are."""

from __future__ import annotations

from pathlib import Path

from raytpnn.storage.errors import RunError
from raytpnn.storage.places.place import Place, sha256_of_bytes, sha256_of_file

__all__ = ["RESTORE", "compare", "verified_bytes", "verified_file"]

# What to do about a file that nothing can make again.
RESTORE = "; restore it or fit again"


def verified_file(place: Place, name: str, expected: str, advice: str = RESTORE) -> Path:
    """Local path of a file whose checksum is right."""
    try:
        path = place.local_file(name, expected)
        # A copy of a remote file was verified when it was made.
        checksum = sha256_of_file(path) if place.path is not None else expected
    except FileNotFoundError:
        raise RunError(f"{place.name_of(name)} is missing{advice}") from None
    compare(place, name, checksum, expected, advice)
    return path


def verified_bytes(place: Place, name: str, expected: str, advice: str = RESTORE) -> bytes:
    """Content of a file whose checksum is right."""
    try:
        data = place.read(name)
    except FileNotFoundError:
        raise RunError(f"{place.name_of(name)} is missing{advice}") from None
    compare(place, name, sha256_of_bytes(data), expected, advice)
    return data


def compare(place: Place, name: str, checksum: str, expected: str, advice: str = RESTORE) -> None:
    """Raise if two checksums differ."""
    if checksum != expected:
        raise RunError(
            f"{place.name_of(name)} is damaged: its SHA-256 is not the one in manifest.json{advice}"
        )
