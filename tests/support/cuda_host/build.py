"""Compile unmodified .cu files into libraries that run on the CPU, and launch their kernels."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["COMPILER", "HostError", "HostLibrary", "build", "compile_library", "sanitizer_environment"]

HEADERS = Path(__file__).parent
KERNELS = Path(__file__).parents[3] / "kernels"
COMPILER = shutil.which("g++")

# The largest shared memory of any supported device.
DYNAMIC_ROOM = 232_448
ORDERS = ("ascending", "descending", "random")
FLAGS = (
    "-std=gnu++20",
    "-fno-gnu-unique",
    "-mtls-dialect=gnu2",
    "-fPIC",
    "-shared",
    "-ffp-contract=off",
    "-fno-extern-tls-init",
    "-Wall",
    "-Wno-unknown-pragmas",
)
VARIANTS = {
    "plain": ("-O2",),
    "sanitized": ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
    "ucontext": ("-O2", "-DHOST_UCONTEXT"),
}

KERNEL = re.compile(
    r"__global__\s+(?:__launch_bounds__\s*\(([^()]*)\)\s*)?void\s+(?:__launch_bounds__\s*\(([^()]*)\)\s*)?(\w+)\s*\("
)
DYNAMIC = re.compile(r"extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?[\w\s]+?\s+(\w+)\s*\[\s*\]")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


class HostError(Exception):
    """A kernel that does not compile, or a fault while it ran."""


def sources_of(path: Path) -> dict[Path, str]:
    """Text of a source file and of all it includes from its own folder, or from that of the kernels."""
    found: dict[Path, str] = {}
    waiting = [path]
    while waiting:
        at = waiting.pop()
        if at not in found:
            found[at] = at.read_text()
            for name in INCLUDE.findall(found[at]):
                waiting.append(next(folder / name for folder in folders_of(path) if (folder / name).exists()))
    return found


def folders_of(path: Path) -> tuple[Path, Path]:
    """Where a source file's headers are looked for."""
    return path.parent, KERNELS


def main_source(path: Path, texts: Sequence[str]) -> str:
    """The translation unit: the file as it is, then the names of its kernels."""
    lines = ['#include "cuda_host.h"', f'#include "{path}"']
    for text in texts:
        for before, after, name in KERNEL.findall(text):
            bounds = (before or after or "1024").split(",")[0].strip()
            lines.append(f"HOST_KERNEL({name}, {bounds})")
    return "\n".join(lines) + "\n"


def shared_source(texts: Sequence[str]) -> str:
    """Room for the dynamic shared memory under the name the kernels give it."""
    names = {name for text in texts for name in DYNAMIC.findall(text)}
    if len(names) > 1:
        raise HostError(f"dynamic shared memory goes by one name, found {sorted(names)}")
    room = DYNAMIC_ROOM if names else 0
    lines = ["#include <cstddef>", 'extern "C" {', f"extern const size_t host_dynamic_room = {room};"]
    if names:
        name = names.pop()
        lines.append(f"alignas(128) thread_local unsigned char {name}[{room}];")
        lines.append(f"void* host_dynamic_shared() {{ return {name}; }}")
    else:
        lines.append("void* host_dynamic_shared() { return nullptr; }")
    return "\n".join([*lines, "}"]) + "\n"


def cache_folder() -> Path:
    """Where libraries are kept between runs of the tests."""
    folder = Path(tempfile.gettempdir()) / f"raytpnn-cuda-host-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def build(path: Path, macros: Sequence[str] = (), variant: str = "plain") -> HostLibrary:
    """Compile a .cu file, or take the library from the cache, and load it.

    Parameters
    ----------
    path : Path
        The source; it may include files of its own folder.
    macros : sequence of str
        Such as "WIDE_CODES=1".
    variant : str
        "plain", "sanitized" (AddressSanitizer and UBSan) or "ucontext".
    """
    return load(compile_library(path, macros, variant))


def compile_library(path: Path, macros: Sequence[str] = (), variant: str = "plain") -> Path:
    """Compile a .cu file unless that was done before; returns the library's path."""
    if COMPILER is None:
        raise HostError("g++ is not on the PATH")
    texts = sources_of(path)
    flags = [*FLAGS, *VARIANTS[variant], *(f"-D{macro}" for macro in macros)]
    headers = [header.read_text() for header in sorted(HEADERS.glob("*.h"))]
    described = repr((flags, headers, sorted((at.name, text) for at, text in texts.items())))
    name = f"{path.stem}-{variant}-{hashlib.sha256(described.encode()).hexdigest()[:16]}"
    library = cache_folder() / f"{name}.so"
    if library.exists():
        return library
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        main, shared, made = (
            Path(scratch) / "main.cpp",
            Path(scratch) / "shared.cpp",
            Path(scratch) / "made.so",
        )
        main.write_text(main_source(path.resolve(), list(texts.values())))
        shared.write_text(shared_source(list(texts.values())))
        include = [f"-I{folder}" for folder in (HEADERS, *folders_of(path))]
        command = [COMPILER, *flags, *include, str(main), str(shared), "-o", str(made), "-lpthread"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            raise HostError(f"{path.name} does not compile for the host:\n{result.stderr[-4000:]}")
        os.replace(made, library)
    return library


@cache
def load(path: Path) -> HostLibrary:
    """Load a library once."""
    return HostLibrary(path)


class HostLibrary:
    """Kernels of one .cu file on the CPU.

    Parameters
    ----------
    path : Path
        Library made by `compile_library`. One built with a sanitizer needs its runtime preloaded.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.library = ctypes.CDLL(str(path))
        self.library.host_static_shared_bytes.restype = ctypes.c_size_t

    @property
    def static_shared_bytes(self) -> int:
        """Shared memory that kernels declare with a size, those of all kernels together."""
        return int(self.library.host_static_shared_bytes())

    @property
    def barriers(self) -> int:
        """Barriers that blocks of threads have passed so far, all blocks together."""
        self.library.host_barriers.restype = ctypes.c_longlong
        return int(self.library.host_barriers())

    def argument_sizes(self, kernel: str) -> list[int]:
        """Bytes of a kernel's arguments; HostError if there is no such kernel."""
        sizes = (ctypes.c_size_t * 32)()
        count = self.library.host_arguments(kernel.encode(), sizes, len(sizes))
        if count < 0:
            raise HostError(f"no kernel {kernel}")
        return list(sizes[:count])

    def launch(
        self,
        kernel: str,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        order: str = "ascending",
        seed: int = 0,
        os_threads: int = 1,
        poison: bool = True,
    ) -> None:
        """Run a kernel to its end.

        Parameters
        ----------
        kernel : str
        grid, block : int or up to three of them
        arguments : sequence
            Arrays and records stand for the address of their memory, whole numbers for any integer or
            pointer type, Python floats for double, NumPy scalars and ctypes values for themselves.
        shared_bytes : int
            Dynamic shared memory.
        order : str
            In which order threads run between barriers: "ascending", "descending" or "random", drawn anew
            at every barrier.
        seed : int
            Of the random order.
        os_threads : int
            Over which blocks are spread.
        poison : bool
            Fill shared memory with NaN before every block.

        Raises
        ------
        HostError
            If barriers diverged or were left out by some threads, a shuffle read a lane off its mask, ...
        """
        cells = [argument_cell(value) for value in arguments]
        pointers = (ctypes.c_void_p * max(len(cells), 1))(*(ctypes.addressof(cell) for cell in cells))
        message = ctypes.create_string_buffer(2048)
        failed = self.library.host_launch(
            kernel.encode(),
            extent(grid),
            extent(block),
            ctypes.c_size_t(shared_bytes),
            pointers,
            ORDERS.index(order),
            ctypes.c_ulonglong(seed),
            os_threads,
            int(poison),
            message,
            ctypes.c_size_t(len(message)),
        )
        if failed:
            raise HostError(message.value.decode())


def extent(size: int | Sequence[int]) -> Any:
    """Three numbers of a grid or block."""
    sizes = (size,) if isinstance(size, int) else tuple(size)
    return (ctypes.c_uint * 3)(*sizes, *[1] * (3 - len(sizes)))


def argument_cell(value: Any) -> Any:
    """Memory that holds an argument; whole numbers take 64 bits, of which a kernel may read fewer."""
    if isinstance(value, np.ndarray):
        return ctypes.c_longlong(value.ctypes.data)
    if isinstance(value, np.record):
        return ctypes.c_longlong(np.frombuffer(value, np.uint8).ctypes.data)  # its own memory, not a copy
    if isinstance(value, np.generic):
        return ctypes.create_string_buffer(value.tobytes().ljust(8, b"\0"), max(8, value.nbytes))
    if isinstance(value, (bool, int)):
        return ctypes.c_longlong(value)
    if isinstance(value, float):
        return ctypes.c_double(value)
    return value


def sanitizer_environment() -> dict[str, str]:
    """Environment variables for a process that loads a sanitized library."""
    assert COMPILER is not None
    runtimes = [
        subprocess.run([COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        "LD_PRELOAD": ":".join(result.stdout.strip() for result in runtimes),
        # Python itself never frees all it has.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
