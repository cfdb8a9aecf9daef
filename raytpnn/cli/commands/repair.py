"""`raytpnn repair`."""

from __future__ import annotations

from typing import Annotated

import typer

from raytpnn.cli.group import say

__all__ = ["repair"]


def repair(
    run: Annotated[str, typer.Argument(help="Folder of a run whose manifest is lost or damaged.")],
) -> None:
    """Rebuild the manifest of a run from what lies beside its blocks of draws.

    Blocks that are there and whole count again. `raytpnn resume` runs those that are not.
    """
    say(f"looking at {run}")
    from raytpnn.chains.run.repair import repair as rebuild
    from raytpnn.storage.places.place import Place

    print(rebuild(Place(run), say))
