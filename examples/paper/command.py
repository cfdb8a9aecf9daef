"""What the scripts of all tables have in common: options, running, and printing the table."""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

from examples.paper.data import NAMES, folder_of, present
from examples.paper.runner import Store, run_cases
from examples.paper.splits import SPLITS

__all__ = ["main", "parser"]


def parser(module: Any) -> argparse.ArgumentParser:
    """Options of a table's script; a module may set other defaults in its `DEFAULTS`."""
    made = argparse.ArgumentParser(
        prog=f"python -m {module.__spec__.name}" if module.__spec__ else None,
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--data-dir", help="folder of the data sets (default: RAYTPNN_DATA)")
    made.add_argument(
        "--out", default="paper-results", help="folder of results; what is there is not run again"
    )
    made.add_argument("--executor", choices=["ray", "threads"], default="ray")
    made.add_argument("--address", help="of a Ray cluster; a local one is started by default")
    made.add_argument("--jobs", type=int, help="most cases at a time on Ray")
    made.add_argument("--data", nargs="+", choices=NAMES, default=list(NAMES))
    made.add_argument("--models", nargs="+", help="only these of the table's models")
    made.add_argument("--splits", type=int, default=SPLITS)
    made.add_argument("--chains", type=int, default=4)
    made.add_argument("--warmup", type=int, default=1000)
    made.add_argument("--draws", type=int, default=1000)
    made.set_defaults(**getattr(module, "DEFAULTS", {}))
    return made


def main(module: Any, arguments: list[str] | None = None) -> str:
    """Run a table's cases, keep their results, and print the table.

    Parameters
    ----------
    module : module
        Has `cases(options)`, `run(case, folder)` and `table(frame)`.
    arguments : list of str, optional
        Of the command line.

    Returns
    -------
    str
        The table.
    """
    options = parser(module).parse_args(arguments)
    folder = folder_of(options.data_dir)
    wanted = tuple(name for name in getattr(module, "DATA", NAMES) if name in options.data)
    options.data, missing = present(folder, wanted)
    for line in missing:
        print(line, flush=True)
    store = Store(options.out)
    cases = module.cases(options)
    if options.models:
        cases = [case for case in cases if case.model in options.models]
    # Peers warn of what their authors deprecate, BLAS and OpenMP of threads: none of it concerns a result.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_cases(
            cases,
            store,
            folder,
            options.executor,
            options.jobs,
            options.address,
            lambda s: print(s, flush=True),
        )
    text = module.table(store.collect(cases))
    Path(options.out, f"{module.NAME}.md").write_text(text + os.linesep)
    print(text)
    return text
