"""Columns and files for tests of encoding from Parquet."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def columns(n, seed=0):
    """Columns with more than 65,536 distinct values each, by name; none of them holds a value twice as often
    as half a bin of 255."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=n)
    return {
        "normal": normal,
        "single": rng.normal(size=n).astype(np.float32),
        "heavy": rng.standard_cauchy(size=n) ** 3,
        "tiny": rng.random(n) * 1e-300,
        "sorted": np.sort(normal),
        "reversed": np.sort(normal)[::-1].copy(),
        "up and down": np.where(np.arange(n) % 2, np.arange(n), -np.arange(n)) + 0.25,
        "integers": rng.integers(-(10**12), 10**12, size=n),
        "rounded": np.round(rng.normal(size=n), 5),
        "holes": pa.array(rng.lognormal(size=n), mask=rng.random(n) < 0.2),
        "first half": pa.array(rng.random(n), mask=np.arange(n) < n // 2),
        "close": 1.0 + rng.integers(0, 1 << 30, size=n) * 2.0**-52,
    }


def few_values(n, seed=0):
    """Columns with at most 65,536 distinct values, by name: encoded exactly."""
    rng = np.random.default_rng(seed)
    return {
        "two": rng.choice([3, 7], size=n),
        "counts": rng.poisson(3, size=n),
        "many counts": rng.poisson(3000, size=n),
        "heavy counts": rng.zipf(1.5, size=n).clip(max=60_000),
        "sorted counts": np.sort(rng.poisson(300, size=n)),
        "short": rng.integers(-(2**15), 2**15, size=n, dtype=np.int16),
        "halves": pa.array(rng.integers(0, 400, size=n) / 2, mask=rng.random(n) < 0.1),
        "zeros": np.where(rng.random(n) < 0.5, -0.0, 0.0) + (rng.random(n) < 0.2),
        "flag": pa.array(rng.random(n) < 0.3, mask=rng.random(n) < 0.3),
        "decimal": pa.array(rng.integers(0, 900, size=n)).cast(pa.decimal128(21, 2)),
        "text": pa.array(
            np.array(["b", "a", "10", "9"])[rng.integers(0, 4, size=n)], mask=rng.random(n) < 0.1
        ),
        "pair": pa.array(np.array(["no", "yes"])[rng.integers(0, 2, size=n)]),
        "category": pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, 3, size=n), mask=rng.random(n) < 0.1), pa.array(["u", "v", "unused"])
        ),
    }


def write(path, given, row_group_size=17_000):
    """Write columns to a Parquet file of many row groups."""
    pq.write_table(pa.table(given), path, row_group_size=row_group_size)
    return path


def same_fields(one, other):
    """Names of the fields of two dataclasses that are not equal, bit by bit."""
    apart = []
    for name in one.__dataclass_fields__:
        a, b = getattr(one, name), getattr(other, name)
        if isinstance(a, np.ndarray):
            alike = a.dtype == b.dtype and np.array_equal(a, b)
        else:
            alike = a == b
        if not alike:
            apart.append(name)
    return apart
