"""The command line, `raytpnn`: a module a command. Nothing heavy is imported before the command runs.

Exit codes: 0 done (converged, if a target was given); 3 done, but not converged; 130 interrupted; 2 wrong
use; 1 any other error, told in one line. RAYTPNN_DEBUG=1 shows where an error comes from.
"""

from __future__ import annotations

from typing import Annotated

import typer

from raytpnn.cli.demo import demo
from raytpnn.cli.diagnose import diagnose
from raytpnn.cli.doctor import doctor
from raytpnn.cli.fit import fit
from raytpnn.cli.genes import genes
from raytpnn.cli.group import Commands
from raytpnn.cli.inspect import inspect
from raytpnn.cli.predict import predict
from raytpnn.cli.repair import repair
from raytpnn.cli.report import report
from raytpnn.cli.resume import resume
from raytpnn.cli.tune import tune
from raytpnn.cli.watch import watch

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        from raytpnn import __version__

        print(f"raytpnn {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Bayesian tensor product neural networks: interpretable regression with credible bands."""


for command in (inspect, tune, fit, resume, watch, repair, diagnose, predict, report, genes, doctor, demo):
    app.command()(command)
