"""The command line, `raytpnn`. Nothing heavy is imported before the command runs.

Exit codes: 0 done (converged, if a target was given); 3 done, but not converged; 130 interrupted; 2 wrong
use; 1 any other error, told in one line. RAYTPNN_DEBUG=1 shows where an error comes from.

commands  The commands, one file each.
inputs    What a user asks for: flags, config file, columns of the table.
machine   What this machine has, and whether its GPUs compute what the CPU computes.
screen    What is shown: text and figures, the end of a run, how its chains fare.
__main__  `python -m raytpnn.cli`.
group     All commands: how their errors, warnings and interrupts reach the user.
note      `RUN/command.json`: what the command line knows about a run that the sampler does not need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from raytpnn.cli.commands.demo import demo
from raytpnn.cli.commands.diagnose import diagnose
from raytpnn.cli.commands.doctor import doctor
from raytpnn.cli.commands.effects import effects
from raytpnn.cli.commands.fit import fit
from raytpnn.cli.commands.genes import genes
from raytpnn.cli.commands.inspect import inspect
from raytpnn.cli.commands.new import new
from raytpnn.cli.commands.predict import predict
from raytpnn.cli.commands.repair import repair
from raytpnn.cli.commands.report import report
from raytpnn.cli.commands.resume import resume
from raytpnn.cli.commands.tune import tune
from raytpnn.cli.commands.watch import watch
from raytpnn.cli.group import Commands
from raytpnn.cli.inputs.flags import Command

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
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


# Each command in the order in which it is used, with an example.
EXAMPLES: dict[Callable[..., None], str] = {
    inspect: "raytpnn inspect GSE4107_series_matrix.txt.gz",
    new: "raytpnn new fit.toml --data homes.csv --target price",
    tune: "raytpnn tune homes.csv --target price --out search --trials 24",
    fit: "raytpnn fit homes.csv --target price --out run",
    resume: "raytpnn resume run --max-sweeps 50000",
    watch: "raytpnn watch run",
    repair: "raytpnn repair run",
    diagnose: "raytpnn diagnose run",
    predict: "raytpnn predict run new.csv --out predictions.csv --keep id",
    report: "raytpnn report run --out report.html",
    effects: "raytpnn effects run --fdr 0.1",
    genes: "raytpnn genes run --out genes.csv",
    doctor: "raytpnn doctor",
    demo: "raytpnn demo",
}
for command, example in EXAMPLES.items():
    app.command(cls=Command, epilog=f"Example: `{example}`")(command)
