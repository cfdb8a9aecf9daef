"""A folder on a local disk or in an object store, written so that no reader ever sees half a file."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from raytpnn.storage.checks import named
from raytpnn.storage.errors import RunError
from raytpnn.storage.places.atomic_files import (
    PARTIAL,
    create_file,
    part_name,
    remove_parts,
    replace_file,
    sync_files,
)
from raytpnn.storage.places.cache import kept_copy, sha256_of_file
from raytpnn.storage.places.folders import move_in
from raytpnn.storage.places.retry import default_patience, patiently
from raytpnn.storage.places.uris import shown

__all__ = ["LEASE_FOLDER", "Place", "sha256_of_bytes", "sha256_of_file"]

# Who works on what is here; see `raytpnn.storage.lease`.
LEASE_FOLDER = "lease"
# How long those who claim a name in an object store at the same moment wait before they look again.
CLAIM_SECONDS = 1.0
STALE_CLAIM_SECONDS = 30.0
# Most that a file of a run which is read at once may have.
MOST_BYTES = 1 << 31


def sha256_of_bytes(data: bytes) -> str:
    """Checksum of bytes."""
    return hashlib.sha256(data).hexdigest()


class Place:
    """A folder.

    Parameters
    ----------
    where : str or path
        A local path, or a URI of a filesystem that `pyarrow.fs` knows: file://, s3://, gs://, hdfs://.
    patience : float, optional
        Seconds for which an operation is tried again after errors that pass; see `retry.py`.
    """

    def __init__(self, where: str | os.PathLike[str], patience: float | None = None) -> None:
        text = os.fspath(where)
        self.patience = default_patience() if patience is None else patience
        self.remote: Any = None
        if "://" not in text:
            self.path: Path | None = Path(text).absolute()
            self.uri = str(self.path)
            return
        from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs

        try:
            filesystem, base = fs.FileSystem.from_uri(in_one_request(text))
        except (ArrowInvalid, ArrowNotImplementedError) as problem:
            raise ValueError(shown(f"cannot use {text!r} as a folder: {problem}")) from None
        self.path = Path(base) if isinstance(filesystem, fs.LocalFileSystem) else None
        self.uri = text if self.path is None else str(self.path)
        if self.path is None:
            self.remote, self.base = filesystem, base.rstrip("/")

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, (self.uri, self.patience)

    def __str__(self) -> str:
        return self.uri if self.path is not None else shown(self.uri)

    def name_of(self, name: str) -> str:
        """How to speak of a file in it."""
        return f"{self}/{name}"

    def inside(self, name: str) -> Path:
        """Path of a file in a local folder; RunError if links lead it out of the folder.

        A run that somebody else packed may hold links to anywhere.
        """
        assert self.path is not None
        path = self.path / name
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.path)):
            raise RunError(f"{self.name_of(name)} leads out of the folder; a run's files must lie in it")
        return path

    def regular(self, name: str) -> Path:
        """Path of a file in a local folder; FileNotFoundError if there is none, RunError if it is no file."""
        path = self.inside(name)
        # To open a pipe would be to wait for a writer that never comes.
        if not stat.S_ISREG(path.stat().st_mode):
            raise RunError(f"{self.name_of(name)} is not a file")
        return path

    def read(self, name: str) -> bytes:
        """Content of a file; FileNotFoundError if there is none."""
        return patiently(lambda: self._read(name), self.patience)

    def _read(self, name: str) -> bytes:
        if self.path is not None:
            path = self.regular(name)
            self._refuse_large(name, path.stat().st_size)
            return path.read_bytes()
        with self.remote.open_input_file(f"{self.base}/{name}") as file:
            self._refuse_large(name, file.size())
            return file.read()

    def _refuse_large(self, name: str, size: int) -> None:
        if size > MOST_BYTES:
            raise RunError(f"{self.name_of(name)} has more than {MOST_BYTES:,} bytes: that is too large")

    def write(self, name: str, data: bytes, durable: bool = False) -> None:
        """Write a file: beside and renamed on a disk; in an object store as one object, which appears whole.

        A disk is told to flush a second or so later, beside the work: readers compare checksums, so what a
        power failure took is noticed. A `durable` file is flushed before this returns.
        """
        patiently(lambda: self._write(name, data, durable), self.patience)

    def _write(self, name: str, data: bytes, durable: bool) -> None:
        if self.path is not None:
            replace_file(self.inside(name), data, durable)
            return
        with self.remote.open_output_stream(f"{self.base}/{name}") as stream:
            stream.write(data)

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless there is one; whether it was written. Of many who try at a time, one does."""
        if self.path is not None:
            target = self.inside(name)
            return patiently(lambda: create_file(target, data), self.patience)
        # Arrow has no conditional PUT. Lists of an object store show what was written before: of two who
        # both claim the name and then look, at least one sees the other.
        claim = f"{name}.claim-{uuid.uuid4().hex}"
        seen: dict[str, float] = {}
        while not self.holds(name):
            self.write(claim, b"")
            try:
                claims = [one for one in self.names(os.path.dirname(name)) if one.startswith(f"{name}.")]
                if claims == [claim]:
                    if self.holds(name):
                        return False
                    self.write(name, data)
                    return True
            finally:
                self.remove(claim)
            for one in claims:
                # One that stays is that of somebody who was killed.
                if time.monotonic() - seen.setdefault(one, time.monotonic()) > STALE_CLAIM_SECONDS:
                    self.remove(one)
            time.sleep(random.uniform(0.1, 1.0) * CLAIM_SECONDS)
        return False

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        with suppress(FileNotFoundError):
            if self.path is not None:
                # A link is removed, not what it leads to; but no folder may lead elsewhere.
                target = self.inside(os.path.dirname(name)) / os.path.basename(name)
                patiently(target.unlink, self.patience)
            else:
                patiently(lambda: self.remote.delete_file(f"{self.base}/{name}"), self.patience)

    def remove_folder(self, name: str) -> None:
        """Remove a folder with all it holds, if there is one."""
        if self.path is not None:
            shutil.rmtree(self.path / name, ignore_errors=True)
            return
        for one in self.names(name):
            self.remove(one)

    def sync(self, names: Iterable[str]) -> None:
        """Have files survive a power failure; an object store has seen to that already."""
        if self.path is not None:
            base, names = self.path, list(names)
            patiently(lambda: sync_files(base / name for name in names), self.patience)

    def names(self, under: str) -> list[str]:
        """Files below a folder, by their path in this one, sorted."""
        return patiently(lambda: self._names(under), self.patience)

    def _names(self, under: str) -> list[str]:
        if self.path is not None:
            paths = sorted((self.path / under).rglob("*"))
            return [path.relative_to(self.path).as_posix() for path in paths if path.is_file()]
        from pyarrow import fs

        chosen = fs.FileSelector(f"{self.base}/{under}", allow_not_found=True, recursive=True)
        found = (info.path for info in self.remote.get_file_info(chosen) if info.is_file)
        return sorted(path.removeprefix(f"{self.base}/") for path in found)

    def times(self, under: str) -> dict[str, float]:
        """When the files below a folder were written, in seconds since 1970, by their path in this one."""
        return patiently(lambda: self._times(under), self.patience)

    def _times(self, under: str) -> dict[str, float]:
        if self.path is not None:
            times = {}
            for path in (self.path / under).rglob("*"):
                # Another process may rename or remove a file while this loop goes through the folder.
                with suppress(FileNotFoundError):
                    if path.is_file() and not path.name.endswith(PARTIAL):
                        times[path.relative_to(self.path).as_posix()] = path.stat().st_mtime
            return times
        from pyarrow import fs

        chosen = fs.FileSelector(f"{self.base}/{under}", allow_not_found=True, recursive=True)
        found = [info for info in self.remote.get_file_info(chosen) if info.is_file]
        return {info.path.removeprefix(f"{self.base}/"): info.mtime.timestamp() for info in found}

    def holds(self, name: str) -> bool:
        """Whether there is such a file."""
        if self.path is not None:
            return patiently((self.path / name).is_file, self.patience)
        return patiently(lambda: self.remote.get_file_info(f"{self.base}/{name}").is_file, self.patience)

    def empty(self) -> bool:
        """Whether there is nothing here but traces of somebody who began to write, and did not go on."""
        if self.path is None:
            return all(name.startswith(f"{LEASE_FOLDER}/") for name in self.names(""))
        return patiently(self._empty, self.patience)

    def _empty(self) -> bool:
        assert self.path is not None
        if not self.path.is_dir():
            return not self.path.exists()
        return all(name == LEASE_FOLDER or name.endswith(PARTIAL) for name in os.listdir(self.path))

    def local_file(self, name: str, checksum: str) -> Path:
        """Path of a file on this machine: itself, or a verified copy shared by all who ask for it here."""
        if self.path is not None:
            return self.regular(name)

        def fetch(target_path: Path) -> None:
            with (
                self.remote.open_input_stream(f"{self.base}/{name}") as source,
                target_path.open("wb") as target,
            ):
                shutil.copyfileobj(source, target, 8_388_608)

        key = f"{self.uri}\n{name}\n{checksum}"
        with named(self.name_of(name)):
            return patiently(lambda: kept_copy(key, fetch, checksum), self.patience)

    def large_file(self, name: str) -> Any:
        """Local path of a file; of a remote one a file of which any part can be read, without a copy."""
        return (
            self.regular(name)
            if self.path is not None
            else patiently(lambda: self.remote.open_input_file(f"{self.base}/{name}"), self.patience)
        )

    def remove_leftovers(self, fresh: str | None = None) -> None:
        """Remove what writers that were killed left behind, and nothing of those that are alive.

        `fresh` is a file that was written just now: its time is that of the disk's clock.
        """
        if self.path is None or not self.path.is_dir():
            return
        now = None
        if fresh is not None:
            with suppress(FileNotFoundError):
                now = (self.path / fresh).stat().st_mtime
        remove_parts(self.path, now)

    @contextmanager
    def new_folder(self, replace: bool = False) -> Iterator[Path]:
        """Give a local folder to fill; what it holds at the end comes to this place, whole or not at all.

        What lies at the top level, such as the manifest, comes last: a place that has it is whole. With
        `replace`, what was here before is removed, except the lease; without, FileExistsError if somebody has
        written anything of the same name in the meantime, and nothing is touched.
        """
        if self.path is None:
            with tempfile.TemporaryDirectory(prefix="raytpnn-") as name:
                folder = Path(name)
                yield folder
                if replace:
                    self._clear()
                self._upload_all(folder)
            return
        self.path.mkdir(parents=True, exist_ok=True)
        folder = self.path / part_name("new")
        folder.mkdir()
        try:
            yield folder
            move_in(folder, self.path, {LEASE_FOLDER} if replace else None)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _upload_all(self, folder: Path) -> None:
        files = [path for path in folder.rglob("*") if path.is_file()]
        uploaded: list[str] = []
        try:
            for path in sorted(files, key=lambda path: (path.parent == folder, path)):
                uploaded.append(path.relative_to(folder).as_posix())
                if self.holds(uploaded[-1]):
                    raise FileExistsError(
                        f"{self.name_of(uploaded.pop())} was written by somebody else in the meantime; "
                        "choose another folder"
                    )
                self.upload(path, uploaded[-1])
        except BaseException:
            # An upload that was given up leaves nothing.
            for name in uploaded:
                with suppress(OSError):
                    self.remove(name)
            raise

    def _clear(self) -> None:
        """Remove all files of an object store's folder but the lease, those at the top level first."""
        names = [name for name in self.names("") if not name.startswith(f"{LEASE_FOLDER}/")]
        for name in sorted(names, key=lambda name: ("/" in name, name)):
            self.remove(name)

    def upload(self, source: Path, name: str) -> None:
        """Copy a local file to an object store."""
        patiently(lambda: self._upload(source, name), self.patience)

    def _upload(self, source: Path, name: str) -> None:
        with (
            source.open("rb") as reader,
            self.remote.open_output_stream(f"{self.base}/{name}") as writer,
        ):
            shutil.copyfileobj(reader, writer, 8_388_608)


def in_one_request(uri: str) -> str:
    """URI of a filesystem that writes small files in one request, where Arrow lets one ask for that."""
    if not uri.startswith("s3://") or "allow_delayed_open" in uri:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}allow_delayed_open=true"
