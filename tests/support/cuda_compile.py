"""Compile kernels for GPUs without one: by nvcc as the files are, or by NVRTC as CuPy does it."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from raytpnn.engine.gpu.cupy_device import OPTIONS
from raytpnn.engine.gpu.kernel_files import kernel_folder, kernel_source

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100")
# Shared memory of a multiprocessor in bytes, from the table of compute capabilities in NVIDIA's CUDA C++
# programming guide.
SHARED_OF_MULTIPROCESSOR = {
    "sm_75": 65_536,
    "sm_80": 167_936,
    "sm_86": 102_400,
    "sm_89": 102_400,
    "sm_90": 233_472,
    "sm_100": 233_472,
}
REGISTERS_OF_MULTIPROCESSOR = 65_536
# What the system keeps for itself of every block's shared memory, from sm_80 on.
RESERVED_BYTES = 1024
NVCC = shutil.which("nvcc")

PROPERTIES = re.compile(
    r"Function properties for (\S+)\s+(?:ptxas\s+\.\s+)?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    r"(?:\s*ptxas info\s*: Used (\d+) registers([^\n]*))?"
)


@dataclass(frozen=True)
class Facts:
    """What ptxas says of a function; registers and shared memory only of kernels."""

    spilled_bytes: int
    registers: int | None
    shared_bytes: int


class CompileError(Exception):
    """A kernel that does not compile."""


def facts_of(log: str) -> dict[str, Facts]:
    """Facts by function from the output of ptxas -v."""
    found = {}
    for name, _, stores, loads, registers, rest in PROPERTIES.findall(log):
        shared = re.search(r"(\d+) bytes smem", rest)
        found[name] = Facts(
            int(stores) + int(loads), int(registers) if registers else None, int(shared[1]) if shared else 0
        )
    return found


def errors_of(log: str) -> str:
    """Errors of a compiler, without its warnings."""
    return "\n".join(line for line in log.splitlines() if "error" in line)


@cache
def nvrtc() -> ctypes.CDLL | None:
    """NVRTC of the PyPI package nvidia-cuda-nvrtc; None if it is not installed."""
    found = find_spec("nvidia")
    for root in found.submodule_search_locations or () if found else ():
        folder = Path(root) / "cu13" / "lib"
        if (folder / "libnvrtc.so.13").exists():
            # NVRTC looks for its builtins by name: loaded before, they are found.
            ctypes.CDLL(str(folder / "libnvrtc-builtins.so.13.0"), ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(folder / "libnvrtc.so.13"))
    return None


def compile_by_nvrtc(name: str, architecture: str, macros: tuple[str, ...] = ()) -> dict[str, Facts]:
    """Compile the text that CuPy is given, with its options."""
    library = nvrtc()
    assert library is not None
    program = ctypes.c_void_p()
    source = kernel_source(name).encode()
    library.nvrtcCreateProgram(ctypes.byref(program), source, f"{name}.cu".encode(), 0, None, None)
    options = [f"--gpu-architecture={architecture}", *OPTIONS, "--ptxas-options=-v"]
    options += [f"-D{macro}" for macro in macros]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), given)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    if failed:
        raise CompileError(errors_of(log.value.decode()))
    return facts_of(log.value.decode())


def compile_by_nvcc(
    name: str, architecture: str, target: Path, macros: tuple[str, ...] = (), folder: Path | None = None
) -> dict[str, Facts]:
    """Compile a file as it lies in its folder."""
    assert NVCC is not None
    folder = folder or kernel_folder()
    command = [NVCC, "-cubin", f"-arch={architecture}", "-std=c++17", "--fmad=false", "-Xptxas", "-v"]
    command += [f"-D{macro}" for macro in macros]
    command += [f"-I{folder}", str(folder / f"{name}.cu"), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(errors_of(done.stderr))
    return facts_of(done.stderr)
