"""`raytpnn effects`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from raytpnn.cli.group import say
from raytpnn.cli.inputs.flags import GeneNames
from raytpnn.numerics.level import CREDIBLE_LEVEL

__all__ = ["effects"]

LONGEST = 34


def effects(
    run: Annotated[str, typer.Argument(help="Folder of a run.")],
    fdr: Annotated[float, typer.Option(help="False discovery rate: expected share of false effects.")] = 0.1,
    out: Annotated[
        Path | None, typer.Option(help="File for the whole table: .parquet, .pq, .csv or .tsv.")
    ] = None,
    annotation: GeneNames = None,
    delta: Annotated[
        float | None, typer.Option(help="Size that matters; a tenth of the response's spread by default.")
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals of sizes.")] = CREDIBLE_LEVEL,
    stability: Annotated[
        int, typer.Option(min=0, help="Halves of the rows on which fit and selection are done again.")
    ] = 0,
    top: Annotated[int, typer.Option(min=1, help="Effects to show.")] = 20,
) -> None:
    """Show which effects are real at a false discovery rate, how large they are, and in which direction."""
    from raytpnn.posterior.tables.table_files import WRITABLE, write_tables

    if out is not None and out.suffix.lower() not in WRITABLE:
        raise typer.BadParameter(f"{str(out)!r} must end in one of {', '.join(WRITABLE)}", param_hint="--out")
    say(f"reading {run}")
    from raytpnn.posterior.storage import load

    post = load(run)
    if annotation is not None:
        post = post.annotate(annotation)
    table = post.select_genes(fdr, stability, delta=delta, level=level)
    if out is not None:
        import pyarrow as pa

        # Files are read without what is printed above: the verdict goes along.
        whole = table.assign(verdict=table.attrs["verdict"])
        write_tables(iter([pa.Table.from_pandas(whole, preserve_index=False)]), out)
    show(post, table, level, top)
    if out is not None:
        say(f"{len(table):,} rows:")
        print(out)


def show(post: Any, table: Any, level: float, top: int) -> None:
    """Print the verdict, the leading effects, and what the numbers are."""
    from rich.text import Text

    from raytpnn.cli.screen.text import figure, new_console, new_table, tell
    from raytpnn.report.names import latent_unit, percent, shorten

    console = new_console()
    told = table.attrs
    tell(console, f"Did it converge? {told['verdict']}")
    tell(
        console,
        f"{len(table):,} of {told['tested']:,} effects tested are real at a rate of {told['fdr']:.0%}",
    )
    if len(table):
        columns = ["effect", "size", f"{level:.0%} interval", "above", "direction", "q", "one of", "certain"]
        shown = new_table(*columns, *(["stability"] if "stability" in table else []))
        for row in table.head(top).to_dict("records"):
            way = row["direction"]
            cells = [
                Text(shorten(row["gene"], LONGEST)),
                figure(row["size"]),
                f"{figure(row['size_low'])} to {figure(row['size_high'])}",
                percent(row["probability_above"]),
                f"{way} ({percent(row['direction_probability'])})" if way else "",
                f"{row['q_value']:.2g}",
                Text(shorten(row["group"], LONGEST) if row["group"] else "-"),
                percent(row["group_certainty"]) if row["group_certainty"] < 1.0 else "",
            ]
            shown.add_row(*cells, *([percent(row["stability"])] if "stability" in row else []))
        console.print(shown)
        tell(
            console,
            f"size: root mean square over the training rows given that it is real, in {latent_unit(post)}",
        )
        tell(console, f"above: probability that the size is above {figure(told['delta'])}")
        if (table["group_certainty"] < 1.0).any():
            tell(console, "certain: probability that the real feature is the effect's or one of its group")
    if told["left_out"]:
        tell(console, f"Left out as controls of the assay: {', '.join(told['left_out'])}")
    tell(console, told["assumes"])
