"""Expression data: how long reading, preparing and encoding take, and how much memory at the peak.

    python examples/benchmarks/wide.py [--large] [--data FOLDER]

Encoding is of simulated log-normal values, features as rows in memory as readers leave them, on one thread.
Memory is the peak of resident memory over that before the step (Linux only), with the input in memory already,
in bytes a cell of the input. `--large` adds 1,000 x 54,675. With the folder of real data (or RAYTPNN_DATA), the
readers are timed on its files.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from raytpnn.data.encoder import Encoder
from raytpnn.data.expression import read_expression
from raytpnn.data.preparation import prepare
from raytpnn.data.tables import ArrayTable

SIZES = ((22, 54_675), (57, 54_675), (57, 22_283))
LARGE = (1_000, 54_675)
FILES = ("GSE4107_series_matrix.txt.gz", "GSE89143_series_matrix.txt.gz", "pbmc68k_reduced.h5ad")


def resident(field: str) -> int:
    """Bytes that /proc says of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise ValueError(f"no {field} in /proc/self/status")


def measured(step: Callable[[], object]) -> tuple[object, float, int]:
    """Result of a step, its seconds, and the peak of resident memory over that before."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before, begin = resident("VmRSS"), time.perf_counter()
    result = step()
    return result, time.perf_counter() - begin, resident("VmHWM") - before


def simulated(n: int, p: int, decimals: int | None) -> ArrayTable:
    """Log-normal values, a feature's together; with `decimals` as coarse as those of a file."""
    rng = np.random.default_rng(0)
    values = np.empty((p, n), np.float32)
    for start in range(0, p, 1000):
        part = values[start : start + 1000]
        level = rng.normal(7.0, 2.0, (len(part), 1))
        part[...] = 2.0 ** (level + rng.normal(0.0, 0.5, part.shape))
        if decimals is not None:
            np.round(part, decimals, out=part)
    table = ArrayTable(values.T)
    table.names, table.named = tuple(f"probe{i}" for i in range(p)), True
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--data", type=Path, default=os.environ.get("RAYTPNN_DATA"))
    options = parser.parse_args()
    Encoder.fit(prepare(simulated(30, 300, None)))
    print("| step | samples x features | s | MB over the input | bytes a cell |")
    print("|---|---|---|---|---|")
    for n, p in (*SIZES, *([LARGE] if options.large else [])):
        table = simulated(n, p, None)
        for name, step in (
            ("encode", lambda table=table: Encoder.fit(table)),
            ("prepare", lambda table=table: prepare(table)),
            ("prepare and encode", lambda table=table: Encoder.fit(prepare(table))),
        ):
            result, seconds, peak = measured(step)
            print(f"| {name} | {n:,} x {p:,} | {seconds:.2f} | {peak / 1e6:.1f} | {peak / (n * p):.2f} |")
            del result
        del table
    for file in FILES if options.data else ():
        path = Path(options.data) / file
        if path.is_file():
            data, seconds, peak = measured(lambda path=path: read_expression(path))
            size = f"{data.n_samples:,} x {data.n_features:,}"
            each = peak / (data.n_samples * data.n_features)
            print(f"| read {file} | {size} | {seconds:.2f} | {peak / 1e6:.1f} | {each:.1f} |")


if __name__ == "__main__":
    main()
