"""What the CUDA execution asks of a device; `chains.py` does not know which one it drives."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np

__all__ = ["Device", "DeviceError", "Limits", "Module", "find_devices", "missing_for_cuda", "use"]

# Names a function, as module:function, that gives the devices to use instead of CuPy's: for tests of
# processes that nobody can reach otherwise.
HOOK = "RAYTPNN_DEVICES"


class DeviceError(ValueError):
    """No device, or one that cannot do what is asked; the message says what is missing."""


@dataclass(frozen=True)
class Limits:
    """Limits of a device.

    Attributes
    ----------
    architecture : str
        Such as "sm_90".
    multiprocessors : int
    shared_bytes : int
        Shared memory of a multiprocessor.
    shared_bytes_of_block : int
        The most that one block can have.
    memory_bytes : int
        Memory that is free at present.
    """

    architecture: str
    multiprocessors: int
    shared_bytes: int
    shared_bytes_of_block: int
    memory_bytes: int


class Module(Protocol):
    """Compiled kernels of one file."""

    def launch(
        self, kernel: str, grid: int, block: int, arguments: Sequence[Any], shared_bytes: int, stream: Any
    ) -> None:
        """Have a kernel run on a stream.

        Parameters
        ----------
        kernel : str
        grid, block : int
            Blocks, and threads of one.
        arguments : sequence of NumPy scalars
            Exactly of the kernel's types; an address is an int64.
        shared_bytes : int
            Dynamic shared memory.
        stream
        """

    def facts(self, kernel: str) -> dict[str, int]:
        """Registers of a thread, local_bytes of it, and static shared_bytes of a block."""


class Device(Protocol):
    """Memory, streams and kernels.

    What is enqueued on one stream happens in order; streams are independent of each other.
    """

    @property
    def name(self) -> str:
        """What it is, for people."""

    def limits(self) -> Limits:
        """Limits of the device."""

    def allocate(self, n_bytes: int) -> int:
        """Address of new memory, aligned to 256 bytes; DeviceError if there is too little."""

    def free(self, address: int) -> None:
        """Give memory back."""

    def pinned(self, n_bytes: int) -> np.ndarray:
        """Memory of the host that copies are quick to and from, (n_bytes,) uint8."""

    def upload(self, address: int, source: np.ndarray, stream: Any) -> None:
        """Copy host memory to the device; the source must stay as it is until the copy is done."""

    def download(self, target: np.ndarray, address: int, stream: Any) -> None:
        """Copy device memory to the host; the target counts when the stream has come so far."""

    def copy(self, target: int, source: int, n_bytes: int, stream: Any) -> None:
        """Copy within the device."""

    def clear(self, address: int, n_bytes: int, stream: Any) -> None:
        """Fill with zeros."""

    def peek(self, target: np.ndarray, address: int) -> None:
        """Copy device memory to the host at once, while kernels run."""

    def poke(self, address: int, source: np.ndarray) -> None:
        """Copy host memory to the device at once, while kernels run."""

    def compile(self, name: str, macros: Sequence[str]) -> Module:
        """Kernels of a file of `kernels/`, with macros such as "WIDE_CODES=1"."""

    def stream(self) -> Any:
        """A new stream."""

    def record(self, stream: Any) -> Any:
        """An event: all that is enqueued on the stream so far is done."""

    def wait(self, stream: Any, event: Any) -> None:
        """Let a stream go on only after an event."""

    def synchronize(self, event: Any) -> None:
        """Wait for an event here; may sleep meanwhile."""

    def finish(self, stream: Any) -> None:
        """Wait for all that is enqueued on a stream so far, without sleeping: for what takes microseconds."""


_used: list[Sequence[Device]] = []


@contextmanager
def use(*devices: Device) -> Iterator[None]:
    """Have backend "cuda" run on these devices in this process: the way in for tests without a GPU."""
    _used.append(devices)
    try:
        yield
    finally:
        _used.pop()


def find_devices() -> Sequence[Device]:
    """Devices that this process may use, at least one.

    Raises
    ------
    DeviceError
        If there is none; the message says what is missing.
    """
    if _used:
        return _used[-1]
    if hook := os.environ.get(HOOK):
        module, _, function = hook.partition(":")
        return getattr(import_module(module), function)()
    from raytpnn.engine.gpu.cupy_device import cupy_devices

    return cupy_devices()


def missing_for_cuda() -> str | None:
    """Why backend "cuda" cannot run here; None if it can."""
    try:
        find_devices()
    except DeviceError as problem:
        return str(problem)
    return None
