"""The device interface of `engine.gpu.device` on the CPU host of the kernels, strict about its use."""

from __future__ import annotations

import bisect
import ctypes
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from support.cuda_host.build import HostLibrary, build

from raytpnn.engine.gpu.device import DeviceError, Limits
from raytpnn.engine.gpu.kernel_files import kernel_folder

# Which streams put off what they are given until somebody waits for it.
POLICIES = ("eager", "late copies", "lazy")
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


@dataclass
class HostEvent:
    stream: HostStream
    done: bool = False


@dataclass
class HostStream:
    late: bool
    queue: deque = field(default_factory=deque)


class HostModule:
    """Kernels of one file; arguments must have exactly the sizes that the kernel declares."""

    def __init__(self, device: HostDevice, library: HostLibrary) -> None:
        self.device = device
        self.library = library

    def launch(self, kernel, grid, block, arguments, shared_bytes, stream):
        sizes = self.library.argument_sizes(kernel)
        given = [value.nbytes for value in arguments if isinstance(value, np.generic)]
        assert given == sizes, f"{kernel} takes arguments of {sizes} bytes, got {given}"
        limit = self.device.limits().shared_bytes_of_block
        assert shared_bytes + self.library.static_shared_bytes <= limit, "too much shared memory"
        self.device.launches.append((kernel, grid, block))

        def run():
            self.library.launch(
                kernel,
                grid,
                block,
                arguments,
                shared_bytes,
                order=self.device.order,
                seed=len(self.device.launches),
                os_threads=self.device.os_threads,
            )

        self.device.enqueue(stream, run)

    def facts(self, kernel):
        self.library.argument_sizes(kernel)
        return {"registers": 0, "local_bytes": 0, "shared_bytes": self.library.static_shared_bytes}


class HostDevice:
    """A device whose memory is the host's, in pieces that must be respected.

    Streams run what they are given at once ("eager"), or when somebody waits for it: all of them ("lazy"), or
    all but the first one made ("late copies"). A missing wait or a buffer used too early then gives wrong
    numbers; new memory and the targets of copies under way are full of NaN.
    """

    def __init__(
        self,
        policy: str = "eager",
        order: str = "ascending",
        os_threads: int = 1,
        memory_bytes: int = 2**30,
        multiprocessors: int = 2,
        folder: Path | None = None,
        variant: str = "plain",
    ) -> None:
        assert policy in POLICIES
        self.policy = policy
        self.order = order
        self.os_threads = os_threads
        self.memory_bytes = memory_bytes
        self.multiprocessors = multiprocessors
        self.folder = folder
        self.variant = variant
        self.pieces: dict[int, int] = {}
        self.starts: list[int] = []
        self.launches: list[tuple[str, int, int]] = []
        self.streams: list[HostStream] = []
        self.lock = threading.RLock()

    name = "the CPU host of the kernels"

    def limits(self):
        used = sum(self.pieces.values())
        return Limits("host", self.multiprocessors, 65_536, 65_536, self.memory_bytes - used)

    def allocate(self, n_bytes):
        if sum(self.pieces.values()) + n_bytes > self.memory_bytes:
            raise DeviceError(f"{self.name} has too little memory for {n_bytes} bytes")
        address = libc.malloc(n_bytes)
        ctypes.memset(address, 0xFF, n_bytes)
        with self.lock:
            self.pieces[address] = n_bytes
            bisect.insort(self.starts, address)
        return address

    def free(self, address):
        assert not any(stream.queue for stream in self.streams), "memory given back while streams are busy"
        with self.lock:
            del self.pieces[address]
            self.starts.remove(address)
        libc.free(address)

    def check(self, address, n_bytes):
        """A copy must lie within one piece."""
        with self.lock:
            start = self.starts[bisect.bisect_right(self.starts, address) - 1]
            assert start <= address, "a copy out of bounds"
            assert address + n_bytes <= start + self.pieces[start], "a copy out of bounds"

    def pinned(self, n_bytes):
        return np.full(n_bytes, 0xFF, np.uint8)

    def upload(self, address, source, stream):
        self.check(address, source.nbytes)
        assert source.flags.c_contiguous
        before = source.tobytes() if stream.late else None

        def run():
            assert before is None or source.tobytes() == before, "changed while the copy was under way"
            ctypes.memmove(address, source.ctypes.data, source.nbytes)

        self.enqueue(stream, run)

    def download(self, target, address, stream):
        self.check(address, target.nbytes)
        assert target.flags.c_contiguous
        ctypes.memset(target.ctypes.data, 0xFF, target.nbytes)
        self.enqueue(stream, lambda: ctypes.memmove(target.ctypes.data, address, target.nbytes))

    def copy(self, target, source, n_bytes, stream):
        self.check(target, n_bytes)
        self.check(source, n_bytes)
        self.enqueue(stream, lambda: ctypes.memmove(target, source, n_bytes))

    def clear(self, address, n_bytes, stream):
        self.check(address, n_bytes)
        self.enqueue(stream, lambda: ctypes.memset(address, 0, n_bytes))

    def peek(self, target, address):
        self.check(address, target.nbytes)
        ctypes.memmove(target.ctypes.data, address, target.nbytes)

    def poke(self, address, source):
        self.check(address, source.nbytes)
        ctypes.memmove(address, source.ctypes.data, source.nbytes)

    def compile(self, name, macros):
        folder = self.folder or kernel_folder()
        return HostModule(self, build(folder / f"{name}.cu", macros, self.variant))

    def stream(self):
        late = self.policy == "lazy" or (self.policy == "late copies" and bool(self.streams))
        self.streams.append(HostStream(late))
        return self.streams[-1]

    def enqueue(self, stream, step):
        stream.queue.append(step)
        if not stream.late:
            self.drain(stream)

    def drain(self, stream, until: HostEvent | None = None):
        """Do what a stream was given, up to an event."""
        while stream.queue and not (until is not None and until.done):
            step = stream.queue.popleft()
            if isinstance(step, HostEvent):
                if step.stream is stream:
                    step.done = True
                else:
                    self.drain(step.stream, step)
            else:
                step()

    def record(self, stream):
        event = HostEvent(stream)
        self.enqueue(stream, event)
        return event

    def wait(self, stream, event):
        self.enqueue(stream, event)

    def synchronize(self, event):
        self.drain(event.stream, event)

    def finish(self, stream):
        self.drain(stream)
