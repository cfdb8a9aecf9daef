"""A GPU, driven through CuPy. This file has never met one: see the README."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from raytpnn.engine.gpu.device import DeviceError, Limits
from raytpnn.engine.gpu.kernel_files import kernel_source

__all__ = ["CuPyDevice", "cupy_devices"]

# The arithmetic contract: no contraction, IEEE division and square root, no flushing of small numbers.
OPTIONS = ("-std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false")
OLDEST = 75


@cache
def cupy_devices() -> tuple[CuPyDevice, ...]:
    """All GPUs that this process may see; DeviceError, saying what is missing, if there is none."""
    try:
        import cupy
    except ImportError as problem:
        raise DeviceError(
            f"backend 'cuda' needs CuPy, which cannot be imported ({problem}); "
            "pip install 'raytpnn[cuda12]' or 'raytpnn[cuda13]', whichever `nvidia-smi` names"
        ) from None
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as problem:
        raise DeviceError(
            f"backend 'cuda' needs a GPU and its driver, which CUDA does not find ({problem}); see what "
            "`nvidia-smi` says, or use backend='numba'"
        ) from None
    if count == 0:
        raise DeviceError(
            "backend 'cuda' needs a GPU, and this process sees none; look at `nvidia-smi` and at "
            "CUDA_VISIBLE_DEVICES, or use backend='numba'"
        )
    devices = tuple(CuPyDevice(i) for i in range(count))
    for device in devices:
        architecture = device.limits().architecture
        if int(architecture.removeprefix("sm_")) < OLDEST:
            raise DeviceError(f"{device.name} is {architecture}; backend 'cuda' needs sm_{OLDEST} or later")
    return devices


class CuPyModule:
    """Compiled kernels of one file."""

    def __init__(self, device: CuPyDevice, module: Any) -> None:
        self.device = device
        self.module = module
        self.functions: dict[str, Any] = {}

    def function(self, kernel: str) -> Any:
        """A kernel by its name."""
        if kernel not in self.functions:
            self.functions[kernel] = self.module.get_function(kernel)
        return self.functions[kernel]

    def launch(
        self, kernel: str, grid: int, block: int, arguments: Sequence[Any], shared_bytes: int, stream: Any
    ) -> None:
        """Have a kernel run on a stream."""
        with self.device.cupy_device, stream:
            function = self.function(kernel)
            if shared_bytes > function.max_dynamic_shared_size_bytes:
                function.max_dynamic_shared_size_bytes = shared_bytes
            function((grid,), (block,), tuple(arguments), shared_mem=shared_bytes)

    def facts(self, kernel: str) -> dict[str, int]:
        """Registers, local memory and static shared memory of a kernel."""
        with self.device.cupy_device:
            function = self.function(kernel)
            return {
                "registers": int(function.num_regs),
                "local_bytes": int(function.local_size_bytes),
                "shared_bytes": int(function.shared_size_bytes),
            }


class CuPyDevice:
    """One GPU.

    Parameters
    ----------
    index : int
        Among those that the process may see.
    """

    def __init__(self, index: int) -> None:
        import cupy

        self.cupy = cupy
        self.index = index
        self.cupy_device = cupy.cuda.Device(index)
        self.memory: dict[int, Any] = {}
        self.modules: dict[tuple[str, tuple[str, ...]], CuPyModule] = {}

    @property
    def name(self) -> str:
        """Name of the GPU."""
        found = self.cupy.cuda.runtime.getDeviceProperties(self.index)["name"]
        return found.decode() if isinstance(found, bytes) else str(found)

    def limits(self) -> Limits:
        """Limits of the GPU."""
        attributes = self.cupy_device.attributes
        with self.cupy_device:
            free, _ = self.cupy.cuda.runtime.memGetInfo()
        return Limits(
            architecture=f"sm_{self.cupy_device.compute_capability}",
            multiprocessors=int(attributes["MultiProcessorCount"]),
            shared_bytes=int(attributes["MaxSharedMemoryPerMultiprocessor"]),
            shared_bytes_of_block=int(attributes["MaxSharedMemoryPerBlockOptin"]),
            memory_bytes=int(free) + int(self.cupy.get_default_memory_pool().free_bytes()),
        )

    def allocate(self, n_bytes: int) -> int:
        """Address of new memory."""
        with self.cupy_device:
            try:
                memory = self.cupy.cuda.alloc(n_bytes)
            except self.cupy.cuda.memory.OutOfMemoryError as problem:
                raise DeviceError(f"{self.name} has too little memory: {problem}") from None
        self.memory[int(memory.ptr)] = memory
        return int(memory.ptr)

    def free(self, address: int) -> None:
        """Give memory back."""
        del self.memory[address]

    def pinned(self, n_bytes: int) -> np.ndarray:
        """Page-locked memory of the host."""
        with self.cupy_device:
            return np.frombuffer(self.cupy.cuda.alloc_pinned_memory(n_bytes), np.uint8, n_bytes)

    def _copy(self, target: int, source: int, n_bytes: int, kind: str, stream: Any) -> None:
        runtime = self.cupy.cuda.runtime
        with self.cupy_device:
            runtime.memcpyAsync(target, source, n_bytes, getattr(runtime, kind), stream.ptr)

    def upload(self, address: int, source: np.ndarray, stream: Any) -> None:
        """Copy host memory to the device."""
        self._copy(address, source.ctypes.data, source.nbytes, "memcpyHostToDevice", stream)

    def download(self, target: np.ndarray, address: int, stream: Any) -> None:
        """Copy device memory to the host."""
        self._copy(target.ctypes.data, address, target.nbytes, "memcpyDeviceToHost", stream)

    def copy(self, target: int, source: int, n_bytes: int, stream: Any) -> None:
        """Copy within the device."""
        self._copy(target, source, n_bytes, "memcpyDeviceToDevice", stream)

    def clear(self, address: int, n_bytes: int, stream: Any) -> None:
        """Fill with zeros."""
        with self.cupy_device:
            self.cupy.cuda.runtime.memsetAsync(address, 0, n_bytes, stream.ptr)

    def peek(self, target: np.ndarray, address: int) -> None:
        """Copy to the host at once, on a stream of its own."""
        stream = self.stream()
        self.download(target, address, stream)
        stream.synchronize()

    def poke(self, address: int, source: np.ndarray) -> None:
        """Copy to the device at once, on a stream of its own."""
        stream = self.stream()
        self.upload(address, source, stream)
        stream.synchronize()

    def compile(self, name: str, macros: Sequence[str]) -> CuPyModule:
        """Kernels of a file; CuPy keeps what NVRTC made of them on disk, by architecture."""
        key = name, tuple(macros)
        if key not in self.modules:
            options = (*OPTIONS, *(f"-D{macro}" for macro in macros))
            with self.cupy_device:
                module = self.cupy.RawModule(code=kernel_source(name), options=options, backend="nvrtc")
                module.compile()
            self.modules[key] = CuPyModule(self, module)
        return self.modules[key]

    def stream(self) -> Any:
        """A stream that does not wait for the default one."""
        with self.cupy_device:
            return self.cupy.cuda.Stream(non_blocking=True)

    def record(self, stream: Any) -> Any:
        """An event on a stream."""
        with self.cupy_device:
            event = self.cupy.cuda.Event(block=True, disable_timing=True)
            event.record(stream)
            return event

    def wait(self, stream: Any, event: Any) -> None:
        """Let a stream go on only after an event."""
        stream.wait_event(event)

    def synchronize(self, event: Any) -> None:
        """Wait for an event here."""
        event.synchronize()

    def finish(self, stream: Any) -> None:
        """Wait for a stream here."""
        stream.synchronize()
