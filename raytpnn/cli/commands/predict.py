"""`raytpnn predict`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import typer

from raytpnn.cli.group import say
from raytpnn.cli.inputs.flags import with_flags
from raytpnn.cli.inputs.options import PREDICT, PredictFlags, merge

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["predict"]

PARQUET = (".parquet", ".pq")


@with_flags(PREDICT)
def predict(**given: Unpack[PredictFlags]) -> None:
    """Predict every row of DATA: the mean and the ends of the predictive interval.

    For two classes: the probability of each with a credible interval, and the likelier one. For times until
    an event: the median. Parquet is read and written in batches, so that DATA may be larger than memory.
    """
    from raytpnn.posterior.tables.table_files import WRITABLE, write_tables

    options: PredictFlags = merge(given, PREDICT)
    run, data, out = options["run"], Path(options["data"]), Path(options["out"])
    level, kept, offset, no_offset = (
        options["level"],
        options["keep"],
        options["offset"],
        options["no_offset"],
    )
    if out.suffix.lower() not in WRITABLE:
        endings = ", ".join(WRITABLE)
        raise typer.BadParameter(f"{str(out)!r} must end in one of {endings}", param_hint="--out")
    if not 0.0 < level < 1.0:
        raise typer.BadParameter(f"{level:g} is not between 0 and 1", param_hint="--level")
    if out.exists() and data.exists() and out.samefile(data):
        raise ValueError(f"--out {out} is the file to read; choose another")
    say(f"reading {run}")
    from raytpnn.cli.inputs.expression import is_expression
    from raytpnn.posterior.storage import load

    post = load(run)
    if options["gpu"]:
        post = post.on_gpu()
    shift = None if no_offset else offset or offset_of(run)
    say(f"predicting the rows of {data}")
    if is_expression(str(data), options["samples"]) or (
        post.encoder.preparation is not None and data.is_file()
    ):
        from raytpnn.cli.inputs.predict_expression import predictions

        whence = options["samples"], options["layer"], options["orientation"]
        table, by = predictions(post, str(data), whence, level, kept, None if no_offset else run, offset)
        rows = write_tables(iter([finished(post, table, ["sample", *kept])]), out)
        tell(post, out, rows, level, by)
        return
    if (data.is_dir() or data.suffix.lower() in PARQUET) and not post.family.in_intervals:
        rows = write_tables(from_parquet(post, data, out, level, kept, shift), out)
    else:
        rows = write_tables(iter([from_table(post, data, level, kept, shift)]), out)
    tell(post, out, rows, level, shift)


def offset_of(run: str) -> str | None:
    """Column that was the offset of the fit."""
    from raytpnn.cli.note import read_note
    from raytpnn.storage.places.place import Place

    return read_note(Place(run)).get("offset")


def from_parquet(
    post: Any, data: Path, out: Path, level: float, keep: list[str], offset: str | None
) -> Iterator[pa.Table]:
    """Predictions of Parquet files, a batch at a time, by way of a file beside the target."""
    import uuid

    import pyarrow as pa
    import pyarrow.parquet as pq

    beside = out.with_name(f".{out.name}.{uuid.uuid4().hex}.parquet")
    try:
        post.predict_table(data, beside, level=level, keep=keep, offset=offset, executor="threads")
        with pq.ParquetFile(beside) as file:
            for batch in file.iter_batches():
                yield finished(post, pa.Table.from_batches([batch]), keep)
    finally:
        beside.unlink(missing_ok=True)


def from_table(post: Any, data: Path, level: float, keep: list[str], offset: str | None) -> pa.Table:
    """Predictions of a table that fits into memory."""
    import pyarrow as pa

    from raytpnn.cli.inputs.source import check_column, column_of
    from raytpnn.data.tables.tables import as_table
    from raytpnn.posterior.tables.predict_table import with_classes

    table = as_table(data)
    # Read it once, not a column at a time.
    table = table.select(range(len(table.names)))
    for name in keep:
        check_column(table, name, "--keep", str(data))
    if offset is not None:
        check_column(table, offset, "the offset; --no-offset does without", str(data))
    shift = None if offset is None else column_of(table, offset).astype(float)
    columns = {name: pa.array(column_of(table, name), from_pandas=True) for name in keep}
    if post.family.labelled and not post.family.binary:
        return with_classes(post, table, pa.table(columns), level)
    columns["mean"] = pa.array(post.predict(table, shift))
    low, high = post.interval(table, level, shift).T
    columns |= {"low": pa.array(low.copy()), "high": pa.array(high.copy())}
    return finished(post, pa.table(columns), keep)


def finished(post: Any, table: pa.Table, keep: list[str]) -> pa.Table:
    """Predictions as they are written: for two classes, a probability each and the likelier one."""
    import pyarrow as pa

    if post.family.censored:
        return table.rename_columns({"mean": "median"})
    if not post.family.binary:
        return table
    zero, one = post.classes or (0, 1)
    probability = table.column("mean").to_numpy()
    written = {
        f"probability_{zero}": pa.array(1.0 - probability),
        f"probability_{one}": pa.array(probability),
        f"probability_{one}_low": table.column("low"),
        f"probability_{one}_high": table.column("high"),
        "class": pa.array([one if likely else zero for likely in probability > 0.5]),
    }
    taken = [name for name in keep if name in written]
    if taken:
        raise ValueError(
            f"--keep {taken[0]}: the predictions have a column of that name; rename it in the data"
        )
    table = table.select(keep)
    for name, column in written.items():
        table = table.append_column(name, column)
    return table


def tell(post: Any, out: Path, rows: int, level: float, offset: str | None) -> None:
    """Say what was written."""
    what = (
        f"the probability of each class, with {level:.0%} credible intervals"
        if post.family.labelled
        else f"median time, low and high ({level:.0%} predictive interval)"
        if post.family.censored
        else f"mean, low and high ({level:.0%} predictive interval)"
    )
    by = f", column {offset!r} as offset" if offset else ""
    say(f"{rows:,} rows with {what}{by}:")
    print(out)
