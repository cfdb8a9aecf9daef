"""Copies of remote files on this machine: private to their user, verified whenever they are used, evicted."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from raytpnn.storage.errors import RunError
from raytpnn.storage.places.atomic_files import PARTIAL

__all__ = ["kept_copy", "node_cache", "sha256_of_file"]

DIGEST = ".sha256"
# Most that copies may take together; the newest one stays whatever its size.
MOST_GIB = 50.0
# Copies that were asked for so short a time ago may be about to be opened, and stay.
IN_USE_SECONDS = 600.0
# What a writer that was killed left behind.
ABANDONED_SECONDS = 86_400.0


def node_cache() -> Path:
    """Folder for copies of remote files on this machine, below RAYTPNN_CACHE_DIR if that is set.

    Raises
    ------
    RunError
        If somebody else owns it: copies are trusted, so nobody else may write there.
    """
    base = os.environ.get("RAYTPNN_CACHE_DIR") or tempfile.gettempdir()
    folder = Path(base) / f"raytpnn-{os.getuid()}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    # Of a link itself, not of where it leads.
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise RunError(
            f"{folder} is not a folder of yours, so copies of remote files in it cannot be trusted: remove "
            "it, or name another place by the environment variable RAYTPNN_CACHE_DIR"
        )
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)
    return folder


def sha256_of_file(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kept_copy(key: str, fetch: Callable[[Path], None], checksum: str | None = None, suffix: str = "") -> Path:
    """Path of a copy, made if there is no good one.

    Parameters
    ----------
    key : str
        What it is a copy of; never part of a name.
    fetch : callable
        Writes it to the path that it is given.
    checksum : str, optional
        SHA-256 that it must have. Otherwise that which it had when it was made.
    suffix : str
        End of its name, for who reads it.

    Raises
    ------
    ValueError
        If what was fetched has another checksum.
    """
    folder = node_cache()
    name = hashlib.sha256(key.encode()).hexdigest()[:40]
    end = re.sub(r"[^A-Za-z0-9._-]", "_", suffix)[-80:]
    copy, noted = folder / f"{name}{end}", folder / f"{name}{DIGEST}"
    if is_good(copy, noted, checksum):
        with suppress(OSError):
            os.utime(copy)
        return copy
    beside = folder / f".{name}.{uuid.uuid4().hex}{PARTIAL}"
    try:
        fetch(beside)
        found = sha256_of_file(beside)
        if checksum is not None and found != checksum:
            raise ValueError(f"its SHA-256 is not {checksum:.80}")
        note = beside.with_suffix(".note" + PARTIAL)
        note.write_text(found)
        os.replace(note, noted)
        os.replace(beside, copy)
    finally:
        beside.unlink(missing_ok=True)
    evict(folder, copy)
    return copy


def is_good(copy: Path, noted: Path, checksum: str | None) -> bool:
    """Whether a copy is there and still what it was."""
    try:
        if copy.is_symlink():
            return False
        return sha256_of_file(copy) == (checksum or noted.read_text())
    except OSError:
        return False


def evict(folder: Path, newest: Path) -> None:
    """Remove the copies that were used least recently, as long as all together are too large."""
    limit = float(os.environ.get("RAYTPNN_CACHE_GIB") or MOST_GIB) * 1024**3
    now, total = time.time(), 0
    files = []
    for path in folder.iterdir():
        with suppress(OSError):
            found = path.lstat()
            if path.name.endswith(PARTIAL):
                if now - found.st_mtime > ABANDONED_SECONDS:
                    path.unlink()
            elif not path.name.endswith(DIGEST):
                files.append((found.st_mtime, found.st_size, path))
                total += found.st_size
    for used, size, path in sorted(files):
        if total <= limit or now - used < IN_USE_SECONDS:
            return
        if path != newest:
            with suppress(OSError):
                path.unlink()
                total -= size
                (folder / f"{path.name[:40]}{DIGEST}").unlink(missing_ok=True)
