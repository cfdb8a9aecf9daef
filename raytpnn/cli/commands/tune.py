"""`raytpnn tune`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

import typer

from raytpnn.cli.group import INTERRUPTED, say
from raytpnn.cli.inputs.flags import with_flags
from raytpnn.cli.inputs.options import FIT, TUNE_PRIOR, DataFlags, FitFlags, TuneFlags, merge
from raytpnn.options.definition import OF_SEARCH, SHORTER, RowOptions
from raytpnn.options.option import OptionSet
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from raytpnn.cli.inputs.source import Source
    from raytpnn.tuning.result import Tuning

__all__ = ["tune"]

# How data are read, which the config file hands on to `fit`.
OF_DATA = tuple(OptionSet(DataFlags).options)
OF_ROWS = tuple(OptionSet(RowOptions).options)
SHOWN = 12


@with_flags(TUNE_PRIOR)
def tune(**given: Unpack[TuneFlags]) -> None:
    """Search for the prior that suits DATA best, and write OUT/tune.toml for `raytpnn fit --config`.

    Runs on Ray. All settings are tried on one fold, the better half of them on a second, and so on. The
    prior of --config, or the default one, is always among them, up to the end. Ctrl-C finishes the fits at
    hand and saves; the same command goes on.
    """
    from raytpnn.cli.inputs.config import fit_options

    search: TuneFlags = merge(given, TUNE_PRIOR)
    # Replicas of the config file are those of the fit.
    of_fit = {name: value for name, value in given.items() if name in FIT.options and name != "replicas"}
    options = fit_options(of_fit, **SHORTER)
    run_tune(options, space_of(search["preset"], search["vary"]), search)


def space_of(preset: str | None, vary: list[str] | None) -> Any:
    """Search space that flags ask for."""
    if not vary:
        return preset or "default"
    if preset is not None:
        raise ValueError(f"give --preset {preset} or --vary, not both")
    grid: dict[str, list[Any]] = {}
    for text in vary:
        name, equals, values = text.partition("=")
        try:
            grid[name.strip()] = [number_of(value) for value in values.split(",")]
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"--vary {text} must be like C0=0.001,0.01: a field, and numbers")
    return grid


def number_of(text: str) -> int | float:
    """Number of a text; whole ones stay whole, as K_max must be."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def run_tune(options: FitFlags, space: Any, search: TuneFlags) -> None:
    """Read, search, write, tell."""
    from raytpnn.chains.observe.progress import make_reporter
    from raytpnn.chains.run.ownership import refuse_owner
    from raytpnn.cli.commands.fit import told_source
    from raytpnn.cli.inputs.validate import cases_of
    from raytpnn.cli.screen.stop import stoppable
    from raytpnn.engine.moves.options import Moves
    from raytpnn.model.prior import Prior
    from raytpnn.storage.places.place import Place
    from raytpnn.tuning.settings import Setting
    from raytpnn.tuning.tune import tune_cases

    base = Setting(options["prior"] or Prior(), options["moves"] or Moves())
    told: Mapping[str, Any] = options
    out = str(options["out"])
    place = Place(out)
    with stoppable(out):
        refuse_owner(place, resumes=False)
        say(f"reading {options['data']}")
        source = told_source(options)
        result = tune_cases(
            cases_of(options, source),
            space,
            search["trials"],
            base,
            {name: told[name] for name in OF_SEARCH},
            options["seed"],
            place,
            options["address"],
            options["time_limit"],
            make_reporter(True),
            criterion=search["criterion"],
            metric=search["metric"],
            folds=search["folds"],
            keep=search["keep"],
            replicas=search["replicas"],
            wait=search["wait"],
        )
        write(result, place, options, source)
    tell_tuning(result, out)
    if result.stopped == "interrupt":
        raise typer.Exit(INTERRUPTED)


def write(result: Tuning, place: Any, options: FitFlags, source: Source) -> None:
    """Write the table, and the config file if anything is known."""
    from raytpnn.validation.text import as_csv

    place.write("trials.csv", as_csv(result.table))
    if result.race.complete:
        place.write("tune.toml", result.config(**handed_on(options, source)).encode())


def handed_on(options: FitFlags, source: Source) -> dict[str, Any]:
    """Options of the fit that the config file takes over: the data, and how to read them."""
    own: dict[str, Any] = {
        "data": to_keep(str(options["data"])),
        "target": options["target"],
        "family": source.family,
    }
    for name, value in options.items():
        handed = name in (*OF_DATA, *OF_ROWS) or (name in OF_SEARCH and name not in SHORTER)
        if handed and name not in (*own, "config") and value != FIT.options[name].default:
            own[name] = to_keep(str(value)) if name in ("samples", "annotation") else value
    if options["tempering"] is not None:
        from raytpnn.tuning.config_text import changes

        own["tempering"] = changes(options["tempering"])
    return own


def to_keep(where: str) -> str:
    """Path or URI for a file: whole, but for credentials, which are then those of the environment."""
    if "://" not in where:
        return os.path.abspath(where)
    kept = shown(where, to_use=True)
    if kept != where:
        say(f"tune.toml names {kept} without its credentials: have them in the environment")
    return kept


def tell_tuning(result: Tuning, out: str) -> None:
    """Print the leading settings and what to do next."""
    from rich.text import Text

    from raytpnn.cli.screen.text import figure, new_console, new_table, tell
    from raytpnn.tuning.outcome import EVIDENCE

    console, out = new_console(), shown(out)
    kind = "ensembles" if result.criterion == EVIDENCE else "folds"
    table = new_table("changes", "no.", result.metric, "se", "gain", "se", kind, "status")
    rows = result.table
    for row in rows.head(SHOWN).to_dict("records"):
        number = int(row["setting"])
        changes = result.settings[number].changes(result.settings[0])
        text = (
            ", ".join(f"{name} {value_text(value)}" for name, value in changes.items()) or "(none: the base)"
        )
        scores = [figure(row[name]) for name in (result.metric, "se", "gain", "gain_se")]
        table.add_row(Text(text), str(number), *scores, str(row["steps"]), Text(row["status"]))
    tell(console)
    console.print(table)
    if len(rows) > SHOWN:
        tell(console, f"... and {len(rows) - SHOWN} more in {out}/trials.csv")
    for sentence in result.sentences():
        tell(console, sentence)
    if result.stopped != "complete":
        tell(console, f"Stopped by {result.stopped}: the same command goes on.")
    if result.race.complete:
        tell(console, f"Next: raytpnn fit --config {out}/tune.toml --out RUN")


def value_text(value: Any) -> str:
    """Value of a field; None leaves it to the rule, or has it learned."""
    return "auto" if value is None else f"{value:.3g}"
