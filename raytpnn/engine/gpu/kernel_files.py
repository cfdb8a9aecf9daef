"""Where the CUDA sources are, and their text in one piece."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

__all__ = ["KERNEL_FILES", "kernel_folder", "kernel_source"]

# Every file of kernels, by the name under which it is compiled.
KERNEL_FILES = ("sweep", "forward", "langevin", "rows_grid")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*$', re.MULTILINE)
# NVRTC has no __builtin_offsetof, by which layout.cuh compares its records with ours; this is the same to it.
FOR_NVRTC = (
    "#define __builtin_offsetof(type, member) ((unsigned long long)__INTADDR__(&(((type*)0)->member)))\n"
)
ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[ \t]*$", re.MULTILINE)


def kernel_folder() -> Path:
    """Folder of the .cu and .cuh files: inside the installed package, or beside it in a source tree."""
    package = Path(str(files("raytpnn")))
    for folder in (package / "kernels", package.parent / "kernels"):
        if (folder / f"{KERNEL_FILES[0]}.cu").is_file():
            return folder
    raise FileNotFoundError(
        f"the CUDA sources are missing: neither {package / 'kernels'} nor {package.parent / 'kernels'} has "
        f"{KERNEL_FILES[0]}.cu; install raytpnn again"
    )


def kernel_source(name: str, folder: Path | None = None) -> str:
    """Text of NAME.cu for NVRTC, with the headers of its folder put in where they are first included.

    CuPy keeps compiled code by its text, so that a header that it does not see could change unnoticed.
    """
    folder = folder or kernel_folder()
    seen: set[str] = set()

    def text_of(file: str) -> str:
        seen.add(file)
        text = ONCE.sub("", (folder / file).read_text())
        return INCLUDE.sub(lambda found: "" if found[1] in seen else text_of(found[1]), text)

    return FOR_NVRTC + text_of(f"{name}.cu")
