"""Files that are elsewhere, as files of this machine."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath

from raytpnn.storage.places.cache import kept_copy
from raytpnn.storage.places.uris import shown

__all__ = ["local_copy"]


def local_copy(where: str) -> Path:
    """Path of a file on this machine: itself, or of a URI (s3://, gs://, ...) a copy, kept and used again.

    Raises
    ------
    ValueError
        If nothing here knows that kind of URI.
    FileNotFoundError
        If there is no such file.
    """
    if "://" not in where:
        return Path(where)
    from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs

    try:
        filesystem, path = fs.FileSystem.from_uri(where)
    except (ArrowInvalid, ArrowNotImplementedError) as problem:
        raise ValueError(shown(f"cannot read {where!r}: {problem}")) from None
    if isinstance(filesystem, fs.LocalFileSystem):
        return Path(path)
    info = filesystem.get_file_info(path)
    if not info.is_file:
        raise FileNotFoundError(f"there is no file {shown(where)}")

    def fetch(beside: Path) -> None:
        with filesystem.open_input_stream(path, compression=None) as source, beside.open("wb") as target:
            shutil.copyfileobj(source, target, 8_388_608)

    # A file that has changed is another one.
    key = f"{where}\n{info.size}\n{info.mtime_ns}"
    return kept_copy(key, fetch, suffix=f"-{PurePosixPath(path).name}")
