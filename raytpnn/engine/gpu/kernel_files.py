"""Where the CUDA sources are, and their text in one piece."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from raytpnn.families import FAMILIES, Family

__all__ = [
    "KERNEL_FILES",
    "check_family",
    "family_file",
    "kernel_folder",
    "kernel_source",
    "registered_header",
]

# Every file of kernels, by the name under which it is compiled.
KERNEL_FILES = ("sweep", "forward", "langevin", "rows_grid")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*$', re.MULTILINE)
# NVRTC has no __builtin_offsetof, by which layout.cuh compares its records with ours; this is the same to it.
FOR_NVRTC = (
    "#define __builtin_offsetof(type, member) ((unsigned long long)__INTADDR__(&(((type*)0)->member)))\n"
)
# Of this header there is as much as there are families in this process.
REGISTERED = "families/registered.cuh"
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


def family_file(family: Family, folder: Path | None = None) -> Path:
    """Header of a family: its own, or that of the kernels' folder."""
    return family.cuda or (folder or kernel_folder()) / "families" / f"{family.name}.cuh"


def check_family(family: Family) -> None:
    """Raise ValueError if a family has no CUDA source."""
    if not family_file(family).is_file():
        raise ValueError(
            f"family {family.name!r} has no CUDA source (`Family.cuda`); take backend 'numba' for it"
        )


def registered_header() -> str:
    """Text of kernels/families/registered.cuh: every family that has a CUDA source, by its code."""
    families = [family for family in FAMILIES.values() if family_file(family).is_file()]
    includes = "".join(f'#include "families/{family.name}.cuh"\n' for family in families)
    branches = "".join(
        f"    if (family == {family.code}) return {family.name}_row(y, f, w, dispersion, need);\n"
        for family in families
    )
    return (
        "// Written by raytpnn/engine/gpu/headers.py from the Python source: do not edit.\n#pragma once\n\n"
        f"{includes}\nnamespace raytpnn {{\n\n"
        "// What a family gives for one row; a code that no family has ends the kernel.\n"
        "__device__ __forceinline__ FamilyRow family_row(int family, double y, double f, double w, "
        "double dispersion,\n"
        "                                                int need) {\n"
        f"{branches}    __trap();\n    return {{}};\n}}\n\n}}  // namespace raytpnn\n"
    )


def kernel_source(name: str, folder: Path | None = None) -> str:
    """Text of NAME.cu for NVRTC, with the headers of its folder put in where they are first included.

    CuPy keeps compiled code by its text, so that a header that it does not see could change unnoticed.
    """
    folder = folder or kernel_folder()
    own = {f"families/{family.name}.cuh": family_file(family, folder) for family in FAMILIES.values()}
    seen: set[str] = set()

    def text_of(file: str) -> str:
        seen.add(file)
        text = registered_header() if file == REGISTERED else own.get(file, folder / file).read_text()
        text = ONCE.sub("", text)
        return INCLUDE.sub(lambda found: "" if found[1] in seen else text_of(found[1]), text)

    return FOR_NVRTC + text_of(f"{name}.cu")
