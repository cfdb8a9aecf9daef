"""Local files written beside their name and renamed, so that no reader sees half of one; and synced.

What a writer leaves beside says who wrote it: files of one that is gone can be removed, and no others.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from raytpnn.storage.places.identity import is_alive, own_process

__all__ = ["PARTIAL", "create_file", "part_name", "remove_parts", "replace_file", "sync_files", "sync_soon"]

PARTIAL = ".part"
NAME = re.compile(r"\.(?P<machine>[0-9a-f]{12})-(?P<pid>\d+)-(?P<started>\d+)-\w+\.part$")
# What a process on another machine has not touched for so long is taken for left behind.
LEFT_SECONDS = 600.0
# How often files that were written are synced, all at once: a sync takes longer than a small block.
SYNC_SECONDS = 1.0
SYNCERS = 16
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def part_name(name: str) -> str:
    """Name of a file beside another; no other process makes the same one."""
    own = own_process()
    return f".{name}.{own.machine}-{own.pid}-{own.started}-{uuid.uuid4().hex}{PARTIAL}"


def replace_file(target: Path, data: bytes, durable: bool) -> None:
    """Write a file; `durable`: it survives a power failure from when this returns."""
    beside = _written(target, data, durable)
    try:
        os.replace(beside, target)
    except OSError:
        _forget(beside)
        raise
    if durable:
        sync_folder(target.parent)
    else:
        sync_soon(target)


def create_file(target: Path, data: bytes) -> bool:
    """Write a file unless one of that name is there; whether it was written."""
    beside = _written(target, data, durable=False)
    try:
        return link(beside, target)
    finally:
        _forget(beside)


def link(source: Path, target: Path) -> bool:
    """Give a file a second name unless that is taken; whether it was given."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError as problem:
        if problem.errno not in NO_LINKS:
            raise
        try:
            descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return False
        os.close(descriptor)
        os.replace(source, target)
    return True


def _written(target: Path, data: bytes, durable: bool) -> Path:
    beside = target.with_name(part_name(target.name))
    try:
        try:
            file = beside.open("wb")
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            file = beside.open("wb")
        with file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
    except OSError:
        _forget(beside)
        raise
    return beside


def _forget(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Have names in a folder survive a power failure."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, PermissionError):
        return
    try:
        os.fsync(descriptor)
    except OSError as problem:
        # Some network filesystems have no such thing.
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def sync_files(paths: Iterable[Path]) -> None:
    """Have files and their names survive a power failure; those that are gone do not matter."""
    paths = list(paths)
    # Many at a time: the disk then writes them together.
    with ThreadPoolExecutor(SYNCERS) as pool:
        list(pool.map(sync_folder, paths))
        list(pool.map(sync_folder, {path.parent for path in paths}))


class _Syncer:
    """Syncs files that were written, in a thread of its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.paths: set[Path] = set()
        self.thread: threading.Thread | None = None

    def add(self, path: Path) -> None:
        with self.lock:
            self.paths.add(path)
            # A process that was forked has no threads.
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self._work, name="raytpnn-sync", daemon=True)
                self.thread.start()

    def _work(self) -> None:
        while True:
            time.sleep(SYNC_SECONDS)
            with self.lock:
                paths, self.paths = self.paths, set()
                if not paths:
                    self.thread = None
                    return
            # Whoever ends the run syncs again, and hears of errors.
            # And a program that ends lets no more threads begin.
            with suppress(OSError, RuntimeError):
                sync_files(paths)


_syncer = _Syncer()


def sync_soon(path: Path) -> None:
    """Have a file survive a power failure that is a second or more away."""
    _syncer.add(path)


def remove_parts(folder: Path, now: float | None) -> None:
    """Remove what writers that are gone left beside files.

    Parameters
    ----------
    folder : Path
    now : float or None
        Time by the clock of the folder's disk, such as that of a file just written there.
    """
    for path in sorted(folder.rglob(f".*{PARTIAL}")):
        if not is_left(path, now):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            _forget(path)


def is_left(path: Path, now: float | None) -> bool:
    """Whether the writer of a file beside another is gone."""
    match = NAME.search(path.name)
    alive = is_alive(match["machine"], int(match["pid"]), int(match["started"])) if match else None
    if alive is not None:
        return not alive
    try:
        return now is not None and now - path.stat().st_mtime > LEFT_SECONDS
    except FileNotFoundError:
        return False
