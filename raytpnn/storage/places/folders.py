"""Folders that come to a place whole, beside what others may have written there."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from raytpnn.storage.places.atomic_files import PARTIAL, link, sync_files, sync_folder

__all__ = ["move_in"]


def move_in(folder: Path, target: Path, keep: set[str] | None = None) -> None:
    """Move all that a folder holds into another one on the same disk, files at the top level last.

    Parameters
    ----------
    folder, target : Path
    keep : set of str, optional
        Replace what is in the target, except for these names; without it, nothing there is touched.

    Raises
    ------
    FileExistsError
        If a name is taken; the target is then as it was.
    """
    sync_files(path for path in folder.rglob("*") if path.is_file())
    entries = sorted(folder.iterdir(), key=lambda path: (path.is_file(), path.name))
    aside: list[tuple[Path, Path]] = []
    moved: list[Path] = []
    try:
        if keep is not None:
            set_aside(folder, target, keep, aside)
        for entry in entries:
            if not give_name(entry, target / entry.name):
                raise FileExistsError(
                    f"{target / entry.name} was written by somebody else in the meantime; choose another "
                    "folder"
                )
            moved.append(target / entry.name)
            if not entry.is_file():
                sync_folder(target)
        sync_folder(target)
    except BaseException:
        for path in reversed(moved):
            remove(path)
        for old, was in reversed(aside):
            with suppress(OSError):
                os.rename(old, was)
        raise


def set_aside(folder: Path, target: Path, keep: set[str], aside: list[tuple[Path, Path]]) -> None:
    """Move what is in the target away, its files first: they say that it is whole."""
    older = folder / f"older{PARTIAL}"
    older.mkdir()
    there = (path for path in target.iterdir() if path.name not in keep and not path.name.endswith(PARTIAL))
    for path in sorted(there, key=lambda path: (path.is_dir(), path.name)):
        os.rename(path, older / path.name)
        aside.append((older / path.name, path))


def give_name(entry: Path, target: Path) -> bool:
    """Move an entry to a name unless that is taken."""
    if entry.is_file():
        return link(entry, target)
    # A folder that is there and empty is nobody's work: it is replaced.
    try:
        os.rename(entry, target)
    except OSError:
        if target.exists():
            return False
        raise
    return True


def remove(path: Path) -> None:
    """Remove a file or a folder with all it holds."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
