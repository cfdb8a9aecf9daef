"""Deliberately broken kernels of rows_grid.cu are noticed, and the whole ones run clean under sanitizers."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path

import pytest
from support.cuda_host.build import COMPILER, compile_library
from support.grid_cases import expected_outcome, grid_verdict
from support.sanitized import run_sanitized

from raytpnn.engine.gpu.kernel_files import kernel_folder

pytestmark = [pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH"), pytest.mark.kernels]

FILE = "rows_grid.cu"
BARRIER = "__syncthreads();"
# Name, what stands there, what is put in its place.
MUTANTS = [
    (
        "wrong lane order",
        "sums[first + s] + chain.lanes[s][lane];",
        "sums[first + s] + chain.lanes[s][HALF_LANES - 1 - lane];",
    ),
    ("lanes half as far apart", "i < rows.stop; i += LANES) add", "i < rows.stop; i += LANES / 2) add"),
    ("start in spite of a source", "j == 0 && command->source < 0 ?", "j == 0 ?"),
    ("a row block too few", "b < stop; ++b) total", "b < stop - 1; ++b) total"),
    ("stripe of another device", "int b = (int)shard->stripe_block[stripe]; b", "int b = 0; b"),
    (
        "row blocks in reverse",
        "for (int b = (int)shard->stripe_block[stripe]; b < stop; ++b)",
        "for (int b = stop - 1; b >= (int)shard->stripe_block[stripe]; --b)",
    ),
    (
        "wrong line of partial sums",
        "partial) + row_block * command->columns + first;",
        "partial) + row_block * terms;",
    ),
    ("wrong tile", "right -= ++left;", "right -= left++;"),
    ("wrong side of a tile", "value_at(left * GRAM_SIDE + a, i)", "value_at(right * GRAM_SIDE + a, i)"),
    (
        "copied before it is read",
        "if (out) out[i] = changed(i);\n        if (target) target[i] = source[i];",
        "if (target) target[i] = source[i];\n        if (out) out[i] = changed(i);",
    ),
    (
        "second moments of the first",
        "add_moments(given, grid_phi(*shard, command->second)[i]",
        "add_moments(given, grid_phi(*shard, command->row)[i]",
    ),
    ("bins of another feature", "look.features[order]", "look.features[0]"),
    ("bins not cleared", "i += LANES) counts[i] = 0;", "i += LANES) ;"),
    ("bins of one row block", "atomicAdd(out + i, counts[i]);", "out[i] = counts[i];"),
    (
        "bins without the first of the others",
        "for (int j = 0; j < order; ++j) others",
        "for (int j = 1; j < order; ++j) others",
    ),
    (
        "missing values in the last bin",
        "const int bin = look.codes[look.features[order] * look.stride + cell];",
        "const int bin = entry(look.codes[look.features[order] * look.stride + cell], columns / 2 - 1);",
    ),
    (
        "tables in the place of the sums",
        "lookup_of(*shard, *command, BIN_TABLES)",
        "lookup_of(*shard, *command)",
    ),
    ("a term too few", "for (int k = 0; k < terms; ++k) value", "for (int k = 1; k < terms; ++k) value"),
    (
        "shift of the first row only",
        "[=](int i) { out[i] += amount; }",
        "[=](int i) { if (i == 0) out[i] += amount; }",
    ),
    (
        "watched rows of another term",
        "grid_phi(*shard, line - 1)",
        "grid_phi(*shard, line > 1 ? line - 2 : 0)",
    ),
]

# The same, and by which chain it is to be noticed.
SLOPE_MUTANTS = [
    (
        "swapped tables of slopes",
        "in_b[f] = look(order + j, j, cell)",
        "in_b[f] = look(2 * order + j, j, cell)",
        "langevin",
    ),
    (
        "factor of another feature",
        "const float factor = look(other, other, cell);",
        "const float factor = look(other, 0, cell);",
        "langevin",
    ),
    ("factor that is its own other", "if (from + f == other) continue;", "", "langevin"),
    (
        "slopes in another place",
        "out[s + SLOPE_SUMS * from] = total;",
        "out[s + SLOPE_SUMS] = total;",
        "langevin",
    ),
]
OF_ROW = "at<int>(shard->rows)[i] = row;"
SUBSET_MUTANTS = [
    # New memory of the host is full of -1.
    ("codes of the first subset", OF_ROW, "if (at<int>(shard->rows)[i] < 0) " + OF_ROW, "minibatch"),
    ("another row's codes", OF_ROW, "at<int>(shard->rows)[i] = row > 0 ? row - 1 : row;", "minibatch"),
    ("codes of the first rows", "return rows ? rows[i] : i;", "return i;", "minibatch"),
    ("codes of rows, a subset's apart", "shard.stride, at<const int>", "shard.n, at<const int>", "minibatch"),
    ("another row's response", "at<const double>(whole.y)[row]", "at<const double>(whole.y)[i]", "minibatch"),
    ("weights as they are", "[row] * stratum.scale", "[row]", "minibatch"),
    ("another row's weight", "at<const double>(whole.w)[row]", "at<const double>(whole.w)[i]", "minibatch"),
    ("no offset", "at<const double>(whole.offset)[row]", "0.0", "minibatch"),
    ("rows of the first stratum", "stratum.start + permuted(", "permuted(", "minibatch"),
    ("permutation of places", "i - stratum.first, stratum.size", "i, stratum.size", "minibatch"),
    (
        "stratum of another stripe",
        "while ((int)blockIdx.x >= shard->stripe_block[stripe + 1]) ++stripe;",
        "",
        "minibatch",
    ),
    (
        "keys in another order",
        "{(unsigned int)stratum.keys[0], (unsigned int)stratum.keys[1]",
        "{(unsigned int)stratum.keys[1], (unsigned int)stratum.keys[0]",
        "minibatch",
    ),
    ("fit of another row", "out[i] = fit[from[i]]", "out[i] = fit[i]", "delayed"),
    ("basis function of another row", "own_phi[i] = phi[from[i]]", "own_phi[i] = phi[i]", "delayed"),
    (
        "basis function of another term",
        "grid_phi(*at<const GridShard>(shard->whole), term)",
        "grid_phi(*at<const GridShard>(shard->whole), term > 0 ? term - 1 : 0)",
        "delayed",
    ),
    (
        "a basis function too few",
        "(int)command->terms + 1;\n    const int line = blockIdx.x % lines;",
        "(int)command->terms + 1;\n    const int line = blockIdx.x % lines % (lines - 1);",
        "delayed",
    ),
    ("codes of the first rows, in screens", "return rows ? rows[i] : i;", "return i;", "delayed"),
]


@pytest.fixture(scope="module")
def expected():
    return expected_outcome()


@pytest.fixture(scope="module")
def expected_of():
    return {which: expected_outcome(which) for which in ("langevin", "minibatch", "delayed")}


def in_child(expected, folder, which, results):
    results.put(grid_verdict(expected, folder, which=which))


def verdict_of_child(expected, folder, which="all rows"):
    """Verdict from a process of its own: a broken kernel may crash or never end."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=in_child, args=(expected, folder, which, results))
    child.start()
    child.join(180)
    if child.is_alive():
        child.kill()
        child.join()
        return "never ends"
    return results.get(timeout=5) if child.exitcode == 0 else f"crash {child.exitcode}"


def copy_with(tmp_path, text):
    folder = tmp_path / "kernels"
    shutil.copytree(kernel_folder(), folder)
    (folder / FILE).write_text(text)
    return folder


def test_a_copy_without_mutation_is_not_noticed(expected, tmp_path):
    folder = copy_with(tmp_path, (kernel_folder() / FILE).read_text())
    assert verdict_of_child(expected, folder) == "same"


@pytest.mark.parametrize("mutant", MUTANTS, ids=[name for name, *_ in MUTANTS])
def test_a_mutant_is_noticed(mutant, expected, tmp_path):
    name, before, after = mutant
    text = (kernel_folder() / FILE).read_text()
    assert text.count(before) == 1, f"{name}: {before!r} stands {text.count(before)} times"
    assert verdict_of_child(expected, copy_with(tmp_path, text.replace(before, after))) != "same"


@pytest.mark.parametrize("which", ["langevin", "minibatch", "delayed"])
def test_a_copy_without_mutation_is_not_noticed_by_other_chains(which, expected_of, tmp_path):
    folder = copy_with(tmp_path, (kernel_folder() / FILE).read_text())
    assert verdict_of_child(expected_of[which], folder, which) == "same"


@pytest.mark.parametrize(
    "mutant", [*SLOPE_MUTANTS, *SUBSET_MUTANTS], ids=[name for name, *_ in (*SLOPE_MUTANTS, *SUBSET_MUTANTS)]
)
def test_a_mutant_is_noticed_by_its_chain(mutant, expected_of, tmp_path):
    name, before, after, which = mutant
    text = (kernel_folder() / FILE).read_text()
    assert text.count(before) == 1, f"{name}: {before!r} stands {text.count(before)} times"
    folder = copy_with(tmp_path, text.replace(before, after))
    assert verdict_of_child(expected_of[which], folder, which) != "same"


def test_every_barrier_is_missed(expected, tmp_path):
    pieces = (kernel_folder() / FILE).read_text().split(BARRIER)
    assert len(pieces) == 6
    for i in range(1, len(pieces)):
        text = BARRIER.join(pieces[:i]) + ";" + BARRIER.join(pieces[i:])
        folder = copy_with(tmp_path / str(i), text)
        assert verdict_of_child(expected, folder) != "same", f"barrier {i}"


@pytest.mark.parametrize("which", ["all rows", "langevin", "minibatch", "delayed"])
def test_sanitizers_find_nothing(which, expected, expected_of, tmp_path):
    file = tmp_path / which
    file.write_bytes(expected_of.get(which, expected))
    compile_library(kernel_folder() / FILE, ("WIDE_CODES=0", "TABLES_IN_SHARED=1"), "sanitized")
    done = run_sanitized(Path(__file__).parents[1] / "support" / "grid_cases.py", file, "sanitized")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "same"
