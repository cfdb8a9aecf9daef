"""Expression data: how long reading, preparing and encoding take, and how much memory at the peak.

    python examples/benchmarks/wide.py [--large] [--data FOLDER]

Encoding is of simulated log-normal values, a feature's values together in memory as readers leave them, on
one thread, compiled code warm. Memory is the peak of resident memory over that before the step, with the
input in memory already, in bytes a cell of the input; every step has a process of its own (Linux only).
`--large` adds 1,000 x 54,675. With the folder of real data (or RAYTPNN_DATA), readers are timed on its files.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.preparation import prepare
from raytpnn.data.tables.tables import ArrayTable
from raytpnn.expression.expression import read_expression

SIZES = ((22, 54_675), (57, 54_675))
LARGE = (1_000, 54_675)
FILES = ("GSE4107_series_matrix.txt.gz", "gse4107_expr.parquet", "pbmc68k_reduced.h5ad")
STEPS: dict[str, Callable[[ArrayTable], object]] = {
    "encode": Encoder.fit,
    "prepare": prepare,
    "prepare and encode": lambda table: Encoder.fit(prepare(table)),
}


def resident(field: str) -> int:
    """Bytes that /proc says of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise ValueError(f"no {field} in /proc/self/status")


def measured(step: Callable[[], object]) -> tuple[object, float, int]:
    """Result of a step, its seconds of CPU, and the peak of resident memory over that before."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before, begin = resident("VmRSS"), time.process_time()
    result = step()
    return result, time.process_time() - begin, resident("VmHWM") - before


def simulated(n: int, p: int) -> ArrayTable:
    """Log-normal values, a feature's together."""
    rng = np.random.default_rng(0)
    values = np.empty((p, n), np.float32)
    for start in range(0, p, 1000):
        part = values[start : start + 1000]
        part[...] = 2.0 ** (rng.normal(7.0, 2.0, (len(part), 1)) + rng.normal(0.0, 0.5, part.shape))
    table = ArrayTable(values.T)
    table.names, table.named = tuple(f"probe{i}" for i in range(p)), True
    return table


def encoding(name: str, n: int, p: int) -> str:
    """Row of the table about a step of encoding."""
    STEPS[name](simulated(30, 300))
    table = simulated(n, p)
    _, seconds, peak = measured(lambda: STEPS[name](table))
    return f"| {name} | {n:,} x {p:,} | {seconds:.2f} | {peak / 1e6:.1f} | {peak / (n * p):.2f} |"


def reading(path: Path) -> str:
    """Row of the table about reading a file; libraries are loaded before."""
    import h5py  # noqa: F401
    import pandas as pd
    import pyarrow.parquet  # noqa: F401
    import scipy.sparse  # noqa: F401

    pd.DataFrame({"a": ["x"]})
    data, seconds, peak = measured(lambda: read_expression(path))
    cells = data.n_samples * data.n_features
    size = f"{data.n_samples:,} x {data.n_features:,}"
    return f"| read {path.name} | {size} | {seconds:.2f} | {peak / 1e6:.1f} | {peak / cells:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--data", type=Path, default=os.environ.get("RAYTPNN_DATA"))
    options = parser.parse_args()
    print("| step | samples x features | CPU s | MB at the peak | bytes a cell |")
    print("|---|---|---|---|---|")
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes:
        for n, p in (*SIZES, *([LARGE] if options.large else [])):
            for name in STEPS:
                print(processes.submit(encoding, name, n, p).result(), flush=True)
        for file in FILES if options.data else ():
            path = Path(options.data) / file
            if path.is_file():
                print(processes.submit(reading, path).result(), flush=True)


if __name__ == "__main__":
    main()
