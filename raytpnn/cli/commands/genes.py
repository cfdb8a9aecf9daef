"""`raytpnn genes`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from raytpnn.cli.group import say
from raytpnn.cli.inputs.flags import GeneNames
from raytpnn.numerics.level import CREDIBLE_LEVEL

__all__ = ["genes"]

LONGEST = 26


def genes(
    run: Annotated[str, typer.Argument(help="Folder of a run.")],
    out: Annotated[
        Path | None, typer.Option(help="File for the whole table: .parquet, .pq, .csv or .tsv.")
    ] = None,
    annotation: GeneNames = None,
    level: Annotated[float, typer.Option(help="Level of the intervals of importance.")] = CREDIBLE_LEVEL,
    top: Annotated[int, typer.Option(min=1, help="Genes to show.")] = 20,
) -> None:
    """Rank genes, and combinations of genes: the probes of a gene together, with their direction."""
    from raytpnn.posterior.tables.table_files import WRITABLE, write_tables

    if out is not None and out.suffix.lower() not in WRITABLE:
        raise typer.BadParameter(f"{str(out)!r} must end in one of {', '.join(WRITABLE)}", param_hint="--out")
    say(f"reading {run}")
    from raytpnn.posterior.storage import load

    post = load(run)
    if annotation is not None:
        post = post.annotate(annotation)
    from raytpnn.posterior.verdict import quiet

    with quiet():
        table = post.genes(level)
    if out is not None:
        import pyarrow as pa

        # Before anything is shown: who reads that may stop reading.
        write_tables(iter([pa.Table.from_pandas(table, preserve_index=False)]), out)
    show(post, table, level, top)
    if out is not None:
        say(f"{len(table):,} rows:")
        print(out)


def brief(probes: str) -> str:
    """First of several probes, and how many others there are; of a combination, no more than the count."""
    first, *others = probes.split("; ")
    return f"{first if '+' not in first else '...'}{f' +{len(others)}' if others else ''}"


def show(post: Any, table: Any, level: float, top: int) -> None:
    """Print the leading genes."""
    from rich.text import Text

    from raytpnn.cli.screen.text import figure, new_console, new_table, tell
    from raytpnn.report.names import latent_unit, percent, shorten

    console = new_console()
    interval = f"{level:.0%} interval"
    shown = new_table("gene", "probes", "importance", interval, "in draws", "direction")
    shown.columns[1].justify = "left"
    for row in table.head(top).itertuples():
        way = f"{row.direction} ({percent(row.direction_probability)})" if row.direction else ""
        shown.add_row(
            Text(shorten(row.gene, LONGEST)),
            Text(brief(row.probes)),
            figure(row.importance),
            f"{figure(row.importance_low)} to {figure(row.importance_high)}",
            percent(row.share_of_draws),
            way,
        )
    tell(console, f"Leading {min(top, len(table))} of {len(table):,} genes and combinations of genes")
    console.print(shown)
    tell(console, f"importance: root mean square over the training samples, in {latent_unit(post)}")
    tell(
        console,
        f"in draws: share of draws in which it is above {figure(post.negligible)}; which are real: `effects`",
    )
    judgement = post.verdict()
    tell(console, f"Did it converge? {judgement.headline}")
    if not judgement.converged:
        tell(console, "Take the ranks above as rough; `raytpnn diagnose` says what to do.")
    if post.classes is not None:
        tell(console, f"up: the probability of {post.classes[1]} rises with expression")
