"""Deliberately broken kernels are noticed, and the whole ones run clean under sanitizers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.cuda_chains import LANGEVIN, PLAIN, REFIT, SCREENED, WAYS, expected_states, verdict
from support.cuda_host.build import COMPILER, HostError, build, compile_library
from support.cuda_host.child import said_in_child
from support.sanitized import run_sanitized

from raytpnn.engine.gpu.kernel_files import kernel_folder

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH")

# Name, file, what stands there, what is put in its place.
MUTANTS = [
    (
        "dropped barrier before the tree",
        "core/lanes.cuh",
        "    }\n    __syncthreads();\n    for (int s = threadIdx.x / WARP",
        "    }\n    for (int s = threadIdx.x / WARP",
    ),
    (
        "dropped barrier after the sums",
        "core/lanes.cuh",
        "take(s, total);\n    }\n    __syncthreads();\n",
        "take(s, total);\n    }\n",
    ),
    (
        "dropped barrier after a look at the host",
        "sweeps/sweep.cuh",
        "control[STOP] == 0;\n    __syncthreads();\n",
        "control[STOP] == 0;\n",
    ),
    ("wrong shuffle width", "core/lanes.cuh", "int width = WARP / 2;", "int width = WARP / 4;"),
    ("shuffle the other way", "core/lanes.cuh", "__shfl_down_sync(", "__shfl_up_sync("),
    (
        "wrong lane order",
        "core/lanes.cuh",
        "(half[lane] + half[lane + 64]) + (half[lane + 32] + half[lane + 96])",
        "(half[lane] + half[lane + 32]) + (half[lane + 64] + half[lane + 96])",
    ),
    ("lanes half as far apart", "core/lanes.cuh", "i < stop; i += LANES)", "i < stop; i += LANES / 2)"),
    (
        "swapped words of the stream",
        "core/philox.cuh",
        "return {c0, c1, c2, c3};",
        "return {c1, c0, c2, c3};",
    ),
    (
        "barrier that some threads pass by",
        "core/lanes.cuh",
        "take(s, total);\n    }\n    __syncthreads();\n",
        "take(s, total);\n    }\n    if (threadIdx.x < 16) __syncthreads();\n",
    ),
]

# Of chains that take Langevin steps.
LANGEVIN_MUTANTS = [
    (
        "swapped index of a table",
        "rows/rows.cuh",
        "float* slope_b = table_of(D + j)",
        "float* slope_b = table_of(2 * D + j)",
    ),
]

FACTOR_FILE, BINS_FILE = "moves/refit_factor.cuh", "rows/bin_sums.cuh"
# Of chains that refit factors, gaussian and poisson.
REFIT_MUTANTS = [
    ("always the first factor", FACTOR_FILE, "pick < d - 1 ? pick : d - 1", "0"),
    ("bins not cleared", FACTOR_FILE, "    clear_bins();\n", ""),
    ("bins at the fit with the term", BINS_FILE, "fit[i] - beta * phi[i]", "fit[i]"),
    ("a factor among the others", BINS_FILE, "if (other != j)", "if (other >= 0)"),
    (
        "curvature times the factors once",
        BINS_FILE,
        "((given.curvature * value) * value)",
        "(given.curvature * value)",
    ),
    ("rounded, not cut off", BINS_FILE, "(Count)(long long)value", "(Count)__double2ll_rn(value)"),
    (
        "missing values in the last bin",
        BINS_FILE,
        "const int bin = codes_of(features[j])[place];",
        "const int bin = entry(codes_of(features[j])[place], size - 1);",
    ),
    ("curvature from the score", BINS_FILE, "counts[2 * i + 1] * inverse", "counts[2 * i] * inverse"),
    (
        "sums in their own units",
        BINS_FILE,
        "const double inverse = 1.0 / chain.settings->bin_unit;",
        "const double inverse = 1.0;",
    ),
    ("steps by one number", FACTOR_FILE, "FOR_FACTOR, k, 3 + 2 * turn", "FOR_FACTOR, k, 3"),
    ("one scale in all turns", FACTOR_FILE, "GAMMA_SLOTS + k + MOST_TERMS * turn", "GAMMA_SLOTS + k"),
    (
        "walk without its prior",
        FACTOR_FILE,
        "log_ratio - (next[SCALE] - now[SCALE]) / state->scalar[B_GAMMA]",
        "log_ratio",
    ),
    ("location as wide as the scale", FACTOR_FILE, "(LOCATION_WIDTH * step)", "step"),
    (
        "step that learns on its way",
        FACTOR_FILE,
        "step = chain.kept[STEP_SIZE];",
        "step = exp(state->log_step[state->order[k]]);",
    ),
    ("walk that aims at another rate", FACTOR_FILE, "FACTOR_ACCEPTANCE", "WALK_ACCEPTANCE"),
    ("draws from the prior that adapt", FACTOR_FILE, "adapts && drawn.v < WALK_SHARE", "adapts"),
    ("evidence of the start", FACTOR_FILE, "        chain.kept[EVIDENCE] = there;\n", ""),
    ("evidence without its determinant", FACTOR_FILE, "/ precision - log(precision))", "/ precision)"),
    ("table of a step that was refused", FACTOR_FILE, "if (!chain.table_is_now) {", "if (false) {"),
    ("gain without the loss", FACTOR_FILE, " - chain.kept[OLD_GAIN];", ";"),
    ("old basis function", FACTOR_FILE, "chain.moved ? (int)chain.settings->K_max : k", "k"),
    ("approximation taken for the likelihood", FACTOR_FILE, "* (change - chain.log_ratio)", "* change"),
    (
        "one number for coefficient and decision",
        FACTOR_FILE,
        "const double v = uniforms(chain.state, FOR_FACTOR, k, 1).v",
        "const double v = uniforms(chain.state, FOR_FACTOR, k, 1).u",
    ),
    ("unmoved counted as moved", FACTOR_FILE, "if (chain.moved) state->tally", "state->tally"),
]

# Of chains that screen proposals.
SCREEN_MUTANTS = [
    (
        "check that forgets the screen",
        "moves/screen.cuh",
        "is_screened(group) ? log_ratio - chain.log_screen : log_ratio",
        "log_ratio",
    ),
    (
        "subset left behind by a new term",
        "moves/screen.cuh",
        "if (is_screening()) replace_in_subset(k, old_beta);",
        "",
    ),
    (
        "subset left behind by a death",
        "moves/screen.cuh",
        "if (is_screening()) remove_from_subset(k, beta, last);",
        "",
    ),
    ("subset without a fit", "moves/screen.cuh", "    gather_fit();\n", ""),
    (
        "subset drawn once",
        "moves/screen.cuh",
        "    take_subset();\n",
        "    if (!chain.state->K) take_subset();\n",
    ),
    (
        "screen of a death by the ratio of a birth",
        "moves/screen.cuh",
        "-log_birth_screen(",
        "log_birth_screen(",
    ),
    (
        "evidence of the old term forgotten",
        "moves/screen.cuh",
        "(evidence.value - old.value)",
        "evidence.value",
    ),
    ("screen without a margin", "moves/screen.cuh", "MARGIN * sqrt(", "0.0 * sqrt("),
    ("noise of the subset forgotten", "moves/screen.cuh", " - 0.5 * excess(), evidence", ", evidence"),
    ("screen on all rows", "moves/screen.cuh", "subset ? &chain.part : chain.whole;", "chain.whole;"),
    (
        "derivatives of the subset before it followed",
        "moves/screen.cuh",
        "state->beta[k]);\n    if (leader()) chain.work->at_fit = 0;\n",
        "state->beta[k]);\n",
    ),
    (
        "screen and check by one number",
        "moves/screen.cuh",
        "FOR_SCREEN, slot, 0)",
        "FOR_BIRTH_DEATH, slot, 1)",
    ),
    ("one set tried again and again", "moves/restructure.cuh", "k + attempt * MOST_TERMS", "k"),
    ("walk that drifts on its way back", "moves/langevin.cuh", "if (!DRIFT) back.gradient = 0.0;", ""),
    (
        "walk judged by the subset",
        "moves/walk.cuh",
        "    look_at(false);\n    return possible;",
        "    return possible;",
    ),
    ("walk without its prior", "moves/walk.cuh", "there - here + back - forth", "back - forth"),
    ("walk that aims at the rate of a Langevin step", "moves/walk.cuh", "WALK_ACCEPTANCE", "0.574"),
    (
        "rows of the screen not counted",
        "moves/screen_plan.cuh",
        "if (way != 0) tally[ROWS]",
        "if (way > 1) tally[ROWS]",
    ),
    (
        "steps not in units of the scale",
        "moves/langevin.cuh",
        "(there - here)) * precision",
        "(there - here))",
    ),
    ("screened in every sweep of the trial", "moves/screen_plan.cuh", "(int)(index % 2)", "1"),
    ("never decided", "moves/screen_plan.cuh", "index == 2 * warmup / 3", "index == -1"),
]


@pytest.fixture(scope="module")
def expected():
    return expected_states()


@pytest.fixture(scope="module")
def expected_screened():
    return expected_states(SCREENED)


@pytest.fixture(scope="module")
def expected_refit():
    return expected_states(REFIT)


def test_a_short_chain_on_the_host_is_that_of_numba(expected):
    assert verdict(expected) == "same"


@pytest.mark.parametrize("ways", [REFIT, LANGEVIN], ids=["refit", "langevin"])
def test_short_chains_of_other_ways_are_those_of_numba(ways):
    assert verdict(expected_states(ways), ways=ways) == "same"


def test_short_chains_that_screen_are_those_of_numba(expected_screened):
    assert verdict(expected_screened, ways=SCREENED) == "same"


def what_is_said_of(mutant, expected, ways, tmp_path):
    name, file, before, after = mutant
    folder = tmp_path / "kernels"
    shutil.copytree(kernel_folder(), folder)
    text = (folder / file).read_text()
    assert text.count(before) == 1, f"{name}: {before!r} stands {text.count(before)} times in {file}"
    (folder / file).write_text(text.replace(before, after))
    said = said_in_child(180, verdict, expected, folder, "plain", ways)
    assert "does not compile" not in said
    return said


@pytest.mark.kernels
@pytest.mark.parametrize("mutant", MUTANTS, ids=[name for name, *_ in MUTANTS])
def test_a_mutant_is_noticed(mutant, expected, tmp_path):
    assert what_is_said_of(mutant, expected, PLAIN, tmp_path) != "same"


@pytest.mark.kernels
@pytest.mark.parametrize("mutant", REFIT_MUTANTS, ids=[name for name, *_ in REFIT_MUTANTS])
def test_a_mutant_of_refitting_is_noticed(mutant, expected_refit, tmp_path):
    assert what_is_said_of(mutant, expected_refit, REFIT, tmp_path) != "same"


@pytest.mark.kernels
@pytest.mark.parametrize("mutant", LANGEVIN_MUTANTS, ids=[name for name, *_ in LANGEVIN_MUTANTS])
def test_a_mutant_of_langevin_steps_is_noticed(mutant, tmp_path):
    assert what_is_said_of(mutant, expected_states(LANGEVIN), LANGEVIN, tmp_path) != "same"


@pytest.mark.kernels
@pytest.mark.parametrize("mutant", SCREEN_MUTANTS, ids=[name for name, *_ in SCREEN_MUTANTS])
def test_a_mutant_of_the_screen_is_noticed(mutant, expected_screened, tmp_path):
    assert what_is_said_of(mutant, expected_screened, SCREENED, tmp_path) != "same"


@pytest.mark.kernels
def test_a_copy_without_mutation_is_not_noticed(expected, tmp_path):
    folder = tmp_path / "kernels"
    shutil.copytree(kernel_folder(), folder)
    assert said_in_child(600, verdict, expected, folder) == "same"


@pytest.mark.kernels
@pytest.mark.parametrize("name", ["refit", "langevin", "screened"])
def test_sanitizers_find_nothing(name, tmp_path):
    (tmp_path / name).write_bytes(b"".join(expected_states(WAYS[name])))
    macros = ("WIDE_CODES=0", "TABLES_IN_SHARED=1", *(("SCREENED=1",) if name == "screened" else ()))
    compile_library(kernel_folder() / "sweep.cu", macros, "sanitized")
    done = run_sanitized(
        Path(__file__).parents[1] / "support" / "cuda_chains.py", tmp_path / name, "sanitized"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "same"


FAULTY = """
extern "C" __global__ void past_shared(double* out) {
    extern __shared__ double dynamic[];
    dynamic[threadIdx.x + 1] = 1.0;
    __syncthreads();
    out[threadIdx.x] = dynamic[threadIdx.x + 1];
}
extern "C" __global__ void past_global(double* out) { out[threadIdx.x + 1] = 1.0; }
extern "C" __global__ void overflow(int* out) { out[threadIdx.x] = 2147483647 + out[threadIdx.x]; }
"""
LAUNCH = """
import ctypes, sys
from pathlib import Path
from support.cuda_host.build import build
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
memory = libc.malloc(ctypes.c_size_t(32 * 8))
ctypes.memset(memory, 1, 32 * 8)
build(Path(sys.argv[1]), variant="sanitized").launch(sys.argv[2], 1, 32, [memory], shared_bytes=32 * 8)
"""


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("kernel", "fault"),
    [
        ("past_shared", "AddressSanitizer: use-after-poison"),
        ("past_global", "AddressSanitizer: heap-buffer-overflow"),
        ("overflow", "runtime error: signed integer overflow"),
    ],
)
def test_sanitizers_find_faults(kernel, fault, tmp_path):
    """Broken twins of the test above."""
    (tmp_path / "faulty.cu").write_text(FAULTY)
    (tmp_path / "launch.py").write_text(LAUNCH)
    done = run_sanitized(tmp_path / "launch.py", tmp_path / "faulty.cu", kernel)
    assert done.returncode != 0
    assert fault in done.stderr


HOST_FAULTS = """
extern "C" __global__ void left_early(int* out) { if (threadIdx.x < 40) __syncthreads(); out[0] = 1; }
extern "C" __global__ void diverged(int* out) {
    if (threadIdx.x < 40)
        __syncthreads();
    else
        __syncthreads();
}
extern "C" __global__ void off_mask(int* out) {
    if (threadIdx.x < 8) out[threadIdx.x] = __shfl_sync(0x000000ffu, (int)threadIdx.x, 9);
}
extern "C" __global__ void not_in_mask(int* out) { out[0] = __ballot_sync(0x0000ffffu, 1); }
extern "C" __global__ void __launch_bounds__(32) bounded(int* out) { out[0] = 1; }
extern "C" __global__ void uninitialised(int* out) {
    __shared__ double value;
    // Written nowhere, it would be taken for a constant.
    if (out[threadIdx.x] == 12345) value = 0.0;
    out[threadIdx.x] = value != value;
}
"""


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("left_early", "threads 0-39 wait at __syncthreads.*threads 40-63 have left"),
        ("diverged", "barriers diverged"),
        ("off_mask", "reads lane 9"),
        ("not_in_mask", "lacks the calling lane"),
        ("bounded", "its launch bound is 32"),
    ],
)
def test_the_host_reports_faults(kernel, message, tmp_path):
    path = tmp_path / "faults.cu"
    path.write_text(HOST_FAULTS)
    library = build(path)
    out = np.zeros(64, np.int32)
    with pytest.raises(HostError, match=message):
        library.launch(kernel, 1, 64, [out], order="random")
    library.launch("uninitialised", 2, 64, [out], os_threads=2)
    assert out.all(), "shared memory is not poisoned"


def test_a_float_atomic_does_not_compile(tmp_path):
    path = tmp_path / "atomic.cu"
    path.write_text('extern "C" __global__ void add(float* out) { atomicAdd(out, 1.0f); }')
    with pytest.raises(HostError, match="atomics are for integers"):
        build(path)
