"""Kernels compile for every supported architecture, without spills, two blocks a multiprocessor."""

from __future__ import annotations

import zipfile

import pytest
from support.cuda_compile import (
    ARCHITECTURES,
    NVCC,
    REGISTERS_OF_MULTIPROCESSOR,
    RESERVED_BYTES,
    SHARED_OF_MULTIPROCESSOR,
    CompileError,
    compile_by_nvcc,
    compile_by_nvrtc,
    facts_of,
    nvrtc,
)

from raytpnn.engine.gpu.chains import BLOCKS_OF_MULTIPROCESSOR, MOST_THREADS, STATIC_SHARED_BYTES
from raytpnn.engine.gpu.kernel_files import KERNEL_FILES, kernel_folder
from raytpnn.model.prior import Prior

KERNELS = {
    "sweep": {"sweep_block", "end_sweep"},
    "forward": {"forward", "forward_tables"},
    "langevin": {"langevin_sums"},
    "rows_grid": {
        *("grid_pass", "grid_slopes", "grid_many_slopes", "grid_update", "grid_shift", "grid_terms"),
        *("grid_scores", "grid_gram", "grid_join", "grid_watch", "grid_subset", "grid_gather", "grid_bins"),
    },
}
VARIANTS = [(), ("WIDE_CODES=1", "TABLES_IN_SHARED=0")]
# Chains that screen proposals have sweeps of their own.
COMPILED = [
    *((name, macros) for name in KERNEL_FILES for macros in VARIANTS),
    *(("sweep", (*macros, "SCREENED=1")) for macros in VARIANTS),
]
NAMES = [f"{name}-{'-'.join(macros) or 'default'}" for name, macros in COMPILED]
# Tables of the default settings: three of 256 entries in float32 a variable.
DEFAULT_TABLE_BYTES = 3 * Prior().max_order * 256 * 4
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on the PATH")
needs_nvrtc = pytest.mark.skipif(nvrtc() is None, reason="nvidia-cuda-nvrtc is not installed")


# Bytes stored and loaded by a function. Seven families in one kernel take up to 80, outside of the loops over
# rows; three had none. A kernel compiled for one family alone would take fewer.
MOST_SPILLED = 96


def over_budget(facts, architecture, dynamic_bytes):
    """What of a kernel keeps two blocks of threads from sharing a multiprocessor."""
    problems = []
    for name, fact in facts.items():
        if fact.spilled_bytes > MOST_SPILLED:
            problems.append(f"{name} spills {fact.spilled_bytes} bytes")
        if fact.registers is None:
            continue
        if BLOCKS_OF_MULTIPROCESSOR * MOST_THREADS * fact.registers > REGISTERS_OF_MULTIPROCESSOR:
            problems.append(f"{name} takes {fact.registers} registers")
        shared = fact.shared_bytes + dynamic_bytes + (0 if architecture == "sm_75" else RESERVED_BYTES)
        if BLOCKS_OF_MULTIPROCESSOR * shared > SHARED_OF_MULTIPROCESSOR[architecture]:
            problems.append(f"{name} takes {shared} bytes of shared memory")
        if fact.shared_bytes > STATIC_SHARED_BYTES:
            problems.append(f"{name} has {fact.shared_bytes} bytes of static shared memory")
    return problems


def check(name, facts, architecture, macros):
    assert {kernel for kernel, fact in facts.items() if fact.registers is not None} == KERNELS[name]
    dynamic = 0 if "TABLES_IN_SHARED=0" in macros else DEFAULT_TABLE_BYTES
    assert over_budget(facts, architecture, dynamic) == []


def test_every_file_of_kernels_is_known():
    assert {path.stem for path in kernel_folder().glob("*.cu")} == set(KERNEL_FILES) == set(KERNELS)


@needs_nvrtc
@pytest.mark.parametrize("name", KERNEL_FILES)
def test_one_architecture_compiles_as_cupy_does_it(name):
    check(name, compile_by_nvrtc(name, "sm_75"), "sm_75", ())


@needs_nvrtc
@pytest.mark.kernels
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("name", "macros"), COMPILED, ids=NAMES)
def test_nvrtc_compiles_without_spills(name, architecture, macros):
    check(name, compile_by_nvrtc(name, architecture, macros), architecture, macros)


@needs_nvcc
@pytest.mark.kernels
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("name", "macros"), COMPILED, ids=NAMES)
def test_nvcc_compiles_the_files_as_they_are(name, architecture, macros, tmp_path):
    check(name, compile_by_nvcc(name, architecture, tmp_path / "out", macros), architecture, macros)


@needs_nvrtc
def test_a_wrong_record_does_not_compile(monkeypatch):
    """Broken twin: offsets are compared under NVRTC too, which has no __builtin_offsetof of its own."""
    from support import cuda_compile

    text = cuda_compile.kernel_source("langevin")
    assert "long long n_values;" in text
    wrong = text.replace("long long n_values;", "", 1)
    monkeypatch.setattr(cuda_compile, "kernel_source", lambda name: wrong)
    with pytest.raises(CompileError, match=r"static assertion failed"):
        compile_by_nvrtc("langevin", "sm_75")


def test_spills_and_registers_are_seen():
    """Broken twin: a kernel over budget in each respect."""
    log = (
        "ptxas info    : Function properties for hungry\n"
        "    40 bytes stack frame, 136 bytes spill stores, 120 bytes spill loads\n"
        "ptxas info    : Used 132 registers, used 1 barriers, 17296 bytes smem, 448 bytes cmem[0]\n"
    )
    problems = over_budget(facts_of(log), "sm_75", DEFAULT_TABLE_BYTES)
    assert [word in " ".join(problems) for word in ("spills 256", "132 registers", "shared", "static")] == [
        True
    ] * 4


def test_the_wheel_has_the_kernels(tmp_path):
    build = pytest.importorskip("hatchling.builders.wheel")
    root = kernel_folder().parent
    if not (root / "pyproject.toml").exists():
        pytest.skip("not a source tree")
    wheel = next(build.WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"]))
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("raytpnn/kernels/")}
    expected = {path.relative_to(kernel_folder()).as_posix() for path in kernel_folder().rglob("*.cu*")}
    assert len(expected) > 30
    assert held >= {f"raytpnn/kernels/{name}" for name in expected}
