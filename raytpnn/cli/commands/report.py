"""`raytpnn report`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from raytpnn.cli.inputs.flags import GeneNames
from raytpnn.storage.places.uris import shown

__all__ = ["report"]


def report(
    run: Annotated[str, typer.Argument(help="Folder of a run.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the page; RUN/report.html if not given.")
    ] = None,
    annotation: GeneNames = None,
    fdr: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="False discovery rate of the effects that are called real; 0 tests none."
        ),
    ] = 0.1,
) -> None:
    """Write one HTML page about a run: what was fitted, did it converge, what matters."""
    if out is None and "://" in run:
        raise typer.BadParameter(
            f"the run {shown(run)} is not on this machine: say where to write", param_hint="--out"
        )
    from raytpnn.cli.note import read_note
    from raytpnn.posterior.storage import load
    from raytpnn.report.page.write import write_report
    from raytpnn.storage.places.place import Place
    from raytpnn.validation.results import read_validation

    target = out or Path(run) / "report.html"
    post = load(run)
    post = post if annotation is None else post.annotate(annotation)
    note = read_note(Place(run))
    write_report(
        post,
        target,
        validation=read_validation(Place(run)),
        target=note.get("target"),
        fdr=fdr,
        data=None if note.get("data") is None else os.path.basename(str(note["data"])),
    )
    print(target)
