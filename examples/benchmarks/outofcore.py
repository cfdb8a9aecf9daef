"""Encoding Parquet files larger than memory: rows a second, and memory at the peak.

    python examples/benchmarks/outofcore.py [--rows N] [--memory-rows N] [--workers 2] [--ray] [--fit]

Writes a simulated Parquet file of ten columns of several types and a target to a temporary folder (which
TMPDIR moves), row group by row group, and encodes it in a process of its own, streamed; then a file of
`--memory-rows` rows both streamed and read at once, and says by how much the two encodings differ. Memory is
that of the process and of all its children: resident (shared pages counted in each) and proportional (shared
pages counted once), looked at 10 times a second, with the codes that were written included while they are
mapped; interpreter and libraries are in it. `--fit` also runs a few sweeps of one chain on the large file.
Linux only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 500_000
TEXTS = ("north", "east", "south", "west", "none of these")


def group(rng: np.random.Generator, n: int) -> pa.Table:
    """Rows of the simulated table."""
    normal = rng.normal(size=n)
    holes = rng.lognormal(size=n).astype(np.float32)
    columns = {
        "normal": normal,
        "heavy": (rng.standard_cauchy(size=n) * 1e3).astype(np.float32),
        "uniform": rng.random(n),
        "holes": pa.array(holes, mask=rng.random(n) < 0.05),
        "counts": rng.poisson(3000, size=n).astype(np.int32),
        "large": rng.integers(0, 10**12, size=n),
        "inflated": np.where(rng.random(n) < 0.3, 0.0, rng.exponential(size=n)),
        "flag": rng.random(n) < 0.2,
        "category": pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, len(TEXTS), size=n, dtype=np.int8)), pa.array(TEXTS)
        ),
        "text": pa.array(np.array(["no", "perhaps", "yes"])[rng.integers(0, 3, size=n)]),
        "target": (normal + rng.normal(size=n)).astype(np.float32),
    }
    return pa.table(columns)


def write(path: Path, rows: int) -> None:
    """Write a simulated file."""
    rng = np.random.default_rng(8)
    writer = None
    for start in range(0, rows, GROUP_ROWS):
        table = group(rng, min(GROUP_ROWS, rows - start))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def inputs(path: Path):
    """All columns but the target."""
    from raytpnn.data.tables.streamed_table import StreamedTable

    return StreamedTable.open(path).drop(["target"])


def stream(path: Path, workers: int | None, executor: str = "threads") -> float:
    """Seconds to encode a file, streamed."""
    from raytpnn.data.encoding.encoder import Encoder

    begin = time.perf_counter()
    Encoder.fit_parquet(inputs(path), codes=path.with_suffix(".npy"), executor=executor, workers=workers)
    return time.perf_counter() - begin


def stream_on_ray(path: Path, workers: int) -> float:
    """`stream` as tasks of a Ray of this machine."""
    import ray

    ray.init(address="local", num_cpus=workers, include_dashboard=False, object_store_memory=128 << 20)
    try:
        return stream(path, None, "ray")
    finally:
        ray.shutdown()


def at_once(path: Path) -> float:
    """Seconds to encode a file, read at once."""
    from raytpnn.data.encoding.encoder import Encoder
    from raytpnn.data.tables.tables import as_table

    begin = time.perf_counter()
    _, bins = Encoder.fit(as_table(path).drop(["target"]))
    seconds = time.perf_counter() - begin
    streamed = np.load(path.with_suffix(".npy"), mmap_mode="r")
    apart = [
        int(np.abs(a.astype(np.int16) - b.astype(np.int16)).max())
        for a, b in zip(streamed, bins.codes, strict=True)
    ]
    print(
        f"largest difference of a code, by feature: {dict(zip(bins.names, apart, strict=True))}", flush=True
    )
    return seconds


def short_fit(path: Path, out: Path) -> float:
    """Seconds of a few sweeps."""
    import raytpnn

    begin = time.perf_counter()
    post = raytpnn.sample(
        path, "target", chains=1, warmup=5, draws=5, out=out, executor="threads", streaming=True
    )
    post.diagnostics()
    return time.perf_counter() - begin


def memory(process: psutil.Process) -> tuple[int, int]:
    """Resident and proportional bytes of a process and its children."""
    resident = proportional = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            told = Path(f"/proc/{one.pid}/smaps_rollup").read_text().split()
        except OSError:
            continue
        resident += 1024 * int(told[told.index("Rss:") + 1])
        proportional += 1024 * int(told[told.index("Pss:") + 1])
    return resident, proportional


def watched(name: str, rows: int, step, *arguments) -> None:
    """Run a step in a process of its own and print what it took."""
    fresh = multiprocessing.get_context("spawn")
    mine, theirs = fresh.Pipe(duplex=False)
    process = fresh.Process(target=report, args=(theirs, step, *arguments))
    process.start()
    theirs.close()
    peak = [0, 0]
    over = threading.Event()

    def watch() -> None:
        looked_at = psutil.Process(process.pid)
        while not over.wait(0.1):
            try:
                peak[:] = map(max, zip(peak, memory(looked_at), strict=True))
            except psutil.NoSuchProcess:
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        seconds = mine.recv()
    finally:
        over.set()
        watcher.join()
        process.join()
    resident, proportional = (f"{size / 1e6:,.0f}" for size in peak)
    print(
        f"| {name} | {rows:,} | {seconds:.1f} | {rows / seconds:,.0f} | {resident} | {proportional} |",
        flush=True,
    )


def report(pipe, step, *arguments) -> None:
    """What the process does: compiled code is warm before it is timed."""
    from raytpnn.data.encoding.encoder import Encoder

    Encoder.fit(np.random.default_rng(0).normal(size=(300, 1)))
    pipe.send(step(*arguments))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--memory-rows", type=int, default=2_000_000)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="raytpnn-") as folder:
        large, small = Path(folder) / "large.parquet", Path(folder) / "small.parquet"
        write(large, options.rows)
        write(small, options.memory_rows)
        print(f"the large file has {large.stat().st_size / 1e6:,.0f} MB")
        print(
            "| | rows | s | rows/s | MB resident | MB proportional |\n|---|---|---|---|---|---|", flush=True
        )
        watched("streamed, 1 thread", options.rows, stream, large, 1)
        if options.workers > 1:
            watched(f"streamed, {options.workers} threads", options.rows, stream, large, options.workers)
        if options.ray:
            watched(
                f"streamed, Ray with {options.workers} CPUs",
                options.rows,
                stream_on_ray,
                large,
                options.workers,
            )
        watched("streamed, 1 thread", options.memory_rows, stream, small, 1)
        watched("read at once", options.memory_rows, at_once, small)
        if options.fit:
            watched("fit, 1 chain, 10 sweeps", options.rows, short_fit, large, Path(folder) / "run")


if __name__ == "__main__":
    main()
