"""A folder on a local disk or in an object store, written so that no reader ever sees half a file."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["Place", "node_cache", "sha256_of_bytes", "sha256_of_file"]

PARTIAL = ".part"


def sha256_of_bytes(data: bytes) -> str:
    """Checksum of bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def node_cache() -> Path:
    """Folder for copies of remote files on this machine; RAYTPNN_CACHE_DIR overrides it."""
    wish = os.environ.get("RAYTPNN_CACHE_DIR")
    return Path(wish) if wish else Path(tempfile.gettempdir()) / f"raytpnn-{os.getuid()}"


class Place:
    """A folder.

    Parameters
    ----------
    where : str or path
        A local path, or a URI of a filesystem that `pyarrow.fs` knows: file://, s3://, gs://, hdfs://.
    """

    def __init__(self, where: str | os.PathLike[str]) -> None:
        text = os.fspath(where)
        self.remote: Any = None
        if "://" not in text:
            self.path: Path | None = Path(text).absolute()
            self.uri = str(self.path)
            return
        from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs

        try:
            filesystem, base = fs.FileSystem.from_uri(text)
        except (ArrowInvalid, ArrowNotImplementedError) as problem:
            raise ValueError(f"cannot use {text!r} as a folder: {problem}") from None
        self.path = Path(base) if isinstance(filesystem, fs.LocalFileSystem) else None
        self.uri = text if self.path is None else str(self.path)
        if self.path is None:
            self.remote, self.base = filesystem, base.rstrip("/")

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, (self.uri,)

    def __str__(self) -> str:
        # The query of a URI may hold credentials.
        return self.uri if self.path is not None else f"{self.uri.partition('://')[0]}://{self.base}"

    def name_of(self, name: str) -> str:
        """How to speak of a file in it."""
        return f"{self}/{name}"

    def read(self, name: str) -> bytes:
        """Content of a file; FileNotFoundError if there is none."""
        if self.path is not None:
            return (self.path / name).read_bytes()
        with self.remote.open_input_stream(f"{self.base}/{name}") as stream:
            return stream.read()

    def write(self, name: str, data: bytes) -> None:
        """Write a file: beside and renamed on a disk, in one PUT in an object store.

        The disk is not told to flush. Readers compare checksums, so what a power failure took is noticed.
        """
        if self.path is None:
            with self.remote.open_output_stream(f"{self.base}/{name}") as stream:
                stream.write(data)
            return
        target = self.path / name
        beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}{PARTIAL}")
        try:
            try:
                beside.write_bytes(data)
            except FileNotFoundError:
                target.parent.mkdir(parents=True, exist_ok=True)
                beside.write_bytes(data)
            os.replace(beside, target)
        except OSError:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise

    def names(self, under: str) -> list[str]:
        """Files below a folder, by their path in this one, sorted."""
        if self.path is not None:
            paths = sorted((self.path / under).rglob("*"))
            return [path.relative_to(self.path).as_posix() for path in paths if path.is_file()]
        from pyarrow import fs

        chosen = fs.FileSelector(f"{self.base}/{under}", allow_not_found=True, recursive=True)
        found = (info.path for info in self.remote.get_file_info(chosen) if info.is_file)
        return sorted(path.removeprefix(f"{self.base}/") for path in found)

    def times(self, under: str) -> dict[str, float]:
        """When the files below a folder were written, in seconds since 1970, by their path in this one."""
        if self.path is not None:
            times = {}
            for path in (self.path / under).rglob("*"):
                # Files beside which others are written vanish at any time.
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
            return (self.path / name).is_file()
        return self.remote.get_file_info(f"{self.base}/{name}").is_file

    def empty(self) -> bool:
        """Whether there is nothing here."""
        if self.path is None:
            return not self.names("")
        return not self.path.exists() or (self.path.is_dir() and not os.listdir(self.path))

    def local_file(self, name: str, checksum: str) -> Path:
        """Path of a file on this machine: itself, or a verified copy shared by all who ask for it here."""
        if self.path is not None:
            return self.path / name
        copy = node_cache() / checksum
        if not copy.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            beside = copy.with_name(f".{checksum}.{uuid.uuid4().hex}{PARTIAL}")
            with self.remote.open_input_stream(f"{self.base}/{name}") as source, beside.open("wb") as target:
                shutil.copyfileobj(source, target, 8_388_608)
            if sha256_of_file(beside) != checksum:
                beside.unlink()
                from raytpnn.storage.errors import RunError

                raise RunError(f"{self.name_of(name)} is damaged: its SHA-256 is not {checksum}")
            os.replace(beside, copy)
        return copy

    def large_file(self, name: str) -> Any:
        """Local path of a file; of a remote one a file of which any part can be read, without a copy."""
        return (
            self.path / name if self.path is not None else self.remote.open_input_file(f"{self.base}/{name}")
        )

    def sweep_up(self) -> None:
        """Remove what a writer that was killed left behind."""
        if self.path is not None and self.path.is_dir():
            for path in self.path.rglob(f".*{PARTIAL}"):
                path.unlink(missing_ok=True)

    @contextmanager
    def new_folder(self) -> Iterator[Path]:
        """Give a local folder to fill; what it holds at the end becomes this place, whole or not at all.

        In an object store files appear one by one, those at the top level last.
        """
        if self.path is None:
            with tempfile.TemporaryDirectory(prefix="raytpnn-") as name:
                folder = Path(name)
                yield folder
                files = [path for path in folder.rglob("*") if path.is_file()]
                for path in sorted(files, key=lambda path: (path.parent == folder, path)):
                    self.upload(path, path.relative_to(folder).as_posix())
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = self.path.parent / f".{self.path.name}.{uuid.uuid4().hex}{PARTIAL}"
        folder.mkdir()
        try:
            yield folder
            older = folder.with_suffix(".older")
            if self.path.exists():
                self.path.rename(older)
            folder.rename(self.path)
            shutil.rmtree(older, ignore_errors=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def upload(self, source: Path, name: str) -> None:
        """Copy a local file to an object store."""
        with (
            source.open("rb") as reader,
            self.remote.open_output_stream(f"{self.base}/{name}") as writer,
        ):
            shutil.copyfileobj(reader, writer, 8_388_608)
