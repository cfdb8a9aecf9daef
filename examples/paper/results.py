"""Write RESULTS.md from stored results.

    python -m examples.paper.results [--results FOLDER] [--out FILE]

Every table is made by the `table` of its module from the tidy files in the folder; the words around it are
the module's own, and those of `notes.py`. A table without results gets the reason why.
"""

from __future__ import annotations

import argparse
import importlib
import re
from pathlib import Path
from types import ModuleType

import pandas as pd

from examples.paper import standing
from examples.paper.notes import COMMANDS, INTRODUCTION, NOT_RUN, NOTES

__all__ = ["main", "page", "section"]

HERE = Path(__file__).parent
TABLES = (
    "prediction",
    "uncertainty",
    "nonbayesian",
    "runtime",
    "selection",
    "components",
    "proposals",
    "stepwise",
    "terms",
    "gamma_prior",
    "step_size",
    "poisson",
    "stability",
    "novelty",
    "minibatch",
    "trajectory",
    "genomics",
    "concepts",
)


def stored(folder: Path, module: ModuleType) -> pd.DataFrame | None:
    """Results that a table is made from; None if its own are not there."""
    sources = getattr(module, "SOURCES", (module.NAME,))
    paths = [folder / f"{name}.parquet" for name in sources]
    if not all(path.is_file() for path in paths):
        return None
    return pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)


def about(module: ModuleType) -> str:
    """Words of a module's docstring, without its title and its command."""
    paragraphs = re.split(r"\n\s*\n", (module.__doc__ or "").strip())
    return "\n\n".join(part for part in paragraphs[1:] if not part.startswith("    "))


def command(name: str) -> str:
    """Command that makes a table's results."""
    return COMMANDS.get(name, f"python -m examples.paper.{name}")


def section(folder: Path, name: str) -> str:
    """One table with its words."""
    module = importlib.import_module(f"examples.paper.{name}")
    parts = [f"## {module.TITLE}", f"`{command(name)}`", about(module)]
    frame = stored(folder, module)
    if frame is None:
        parts.append(f"Not run here: {NOT_RUN.get(name, 'no stored results')}.")
    else:
        parts.append(module.table(frame))
    if name in NOTES:
        parts.append(NOTES[name].strip())
    return "\n\n".join(parts)


def page(folder: Path) -> str:
    """The whole page."""
    parts = [INTRODUCTION.strip()]
    if (folder / "prediction.parquet").is_file():
        frame = pd.read_parquet(folder / "prediction.parquet")
        parts += ["## Where the defaults stand", standing.table(frame), NOTES["standing"].strip()]
    return "\n\n".join([*parts, *(section(folder, name) for name in TABLES)]) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of tidy results")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args(arguments)
    options.out.write_text(page(options.results))


if __name__ == "__main__":
    main()
