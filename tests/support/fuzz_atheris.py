"""The readers of a run's files under a fuzzer that follows what code is reached.

    pip install atheris
    python tests/support/fuzz_atheris.py -max_total_time=300

Not among the tests, since Atheris is not among the dependencies; test_strangers.py has mutations of its own.
"""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["raytpnn.storage", "raytpnn.chains.monitoring.watched", "raytpnn.data.encoding.encoder_io"]
):
    from raytpnn.chains.block_report import BlockReport
    from raytpnn.data.encoding.encoder_io import read_encoder_files
    from raytpnn.draws.check import check_draws
    from raytpnn.draws.parquet import KINDS, draws_from_arrow
    from raytpnn.engine.record_check import check_checkpoint
    from raytpnn.storage.checks import mapping, named
    from raytpnn.storage.formats.checkpoint import Checkpoint
    from raytpnn.storage.formats.manifest import parse_manifest
    from raytpnn.storage.formats.manifest_check import check_manifest
    from raytpnn.storage.formats.npy_files import npy_header
    from raytpnn.storage.formats.parquet_files import read_columns
    from raytpnn.storage.lease import Record

HERE = Path(__file__).parents[1]
RUN = HERE / "fixtures" / "run-0.1"
PARQUET = (RUN / "encoder" / "encoder.parquet").read_bytes()
JSON = (RUN / "encoder" / "encoder.json").read_bytes()


def read_checkpoint(data: bytes) -> None:
    """A checkpoint whose checksum is right."""
    checkpoint = Checkpoint.unpack(data + hashlib.sha256(data).digest(), "file")
    BlockReport.of(checkpoint)
    with named("file"):
        check_checkpoint(checkpoint.state, SETTINGS, 4, None)


def read_draws(data: bytes) -> None:
    """A file of draws."""
    table = read_columns(data, "file", KINDS, {}, 1000)
    with named("file"):
        check_draws(draws_from_arrow(table, 0), 12)


def read_manifest(data: bytes) -> None:
    """A manifest; its checksum, if it has one, is compared."""
    with named("file"):
        check_manifest(mapping(parse_manifest(data), "the manifest"))


def read_array(data: bytes) -> None:
    """An array."""
    with named("file"):
        npy_header(io.BytesIO(data), len(data))


def read_lease(data: bytes) -> None:
    """A lease: whatever it holds, it is that of somebody."""
    str(Record.read(OneFile(data), 1).owner)


class OneFile:
    """A place where every file is the same."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, name: str) -> bytes:
        """Content of any file."""
        return self.data


READERS = (
    read_checkpoint,
    read_draws,
    read_manifest,
    read_array,
    lambda data: read_encoder_files((data, "file"), (PARQUET, "file")),
    lambda data: read_encoder_files((JSON, "file"), (data, "file")),
    read_lease,
)


def one_input(data: bytes) -> None:
    """The first byte says which reader."""
    if data:
        try:
            READERS[data[0] % len(READERS)](data[1:])
        except ValueError as problem:
            # A checkpoint is named by what it is one of, once that is known.
            if "file" not in str(problem) and "block=" not in str(problem):
                raise AssertionError("an error names no file") from problem


def seeds(folder: Path) -> None:
    """Write good files, to begin with."""
    unfinished = next((HERE / "fixtures").glob("unfinished-*-gaussian"))
    good = [
        (unfinished / "checkpoint/chain=1/block=2").read_bytes()[:-32],
        (RUN / "draws/chain=0/block=0.parquet").read_bytes(),
        (unfinished / "manifest.json").read_bytes(),
        (RUN / "data/codes.npy").read_bytes(),
        JSON,
        PARQUET,
        b'{"owner": {"user": "a", "host": "b", "machine": "c", "pid": 1, "started": 2}, "token": "d", '
        b'"count": 0, "time": 0.0, "renew": 5.0, "expire": 60.0, "released": false}',
    ]
    folder.mkdir(exist_ok=True)
    for kind, data in enumerate(good):
        (folder / str(kind)).write_bytes(bytes([kind]) + data)


if __name__ == "__main__":
    import tempfile

    import numpy as np

    SETTINGS = np.load(next((HERE / "fixtures").glob("unfinished-*-gaussian")) / "data/settings.npy")[0]
    with tempfile.TemporaryDirectory() as room:
        seeds(Path(room))
        atheris.Setup([*sys.argv, "-rss_limit_mb=2048", "-timeout=60", "-max_len=200000", room], one_input)
        atheris.Fuzz()
