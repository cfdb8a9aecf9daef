"""Communicators between processes of one machine, by files; arguments as of `cupy.cuda.nccl`."""

import ctypes
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN = range(4)
NCCL_INT8, NCCL_UINT8, NCCL_INT32, NCCL_UINT32, NCCL_INT64, NCCL_UINT64 = range(6)
NCCL_FLOAT16, NCCL_FLOAT32, NCCL_FLOAT64 = range(6, 9)
NCCL_INT, NCCL_HALF, NCCL_FLOAT, NCCL_DOUBLE = NCCL_INT32, NCCL_FLOAT16, NCCL_FLOAT32, NCCL_FLOAT64
_here = threading.local()


def get_build_version():
    return 22304


get_version = get_build_version


def get_unique_id():
    folder = tempfile.mkdtemp(prefix="numpy-nccl-", dir=os.environ.get("NUMPY_NCCL_FOLDER"))
    return tuple(folder.encode())


def groupStart():
    pass


groupEnd = groupStart


def run_what_is_put_off():
    steps, _here.put_off = getattr(_here, "put_off", []), []
    for step in steps:
        step()


class NcclCommunicator:
    def __init__(self, count, unique_id, rank):
        self.folder = Path(bytes(unique_id).decode())
        self.count, self.rank, self.calls = count, rank, 0

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream):
        assert (datatype, op) == (NCCL_INT64, NCCL_SUM)
        assert stream != 0
        self.calls += 1
        call = self.calls
        _here.put_off = getattr(_here, "put_off", [])
        _here.put_off.append(lambda: self._reduce(call, sendbuf, recvbuf, count))

    def _reduce(self, call, sendbuf, recvbuf, count):
        size = 8 * count
        part = self.folder / f"{call}-{self.rank}.part"
        part.write_bytes(ctypes.string_at(sendbuf, size))
        part.rename(part.with_suffix(""))
        total = np.zeros(count, np.int64)
        for rank in range(self.count):
            other = self.folder / f"{call}-{rank}"
            while not other.exists():
                time.sleep(1e-4)
            total += np.frombuffer(other.read_bytes(), np.int64)
        ctypes.memmove(recvbuf, total.ctypes.data, size)
        if call > 1:
            # All have come to this call, so that nobody reads the one before any more.
            (self.folder / f"{call - 1}-{self.rank}").unlink()
