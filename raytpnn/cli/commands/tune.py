"""`raytpnn tune`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raytpnn.cli.group import INTERRUPTED, say
from raytpnn.cli.inputs import flags
from raytpnn.cli.inputs.options import FitOptions, merge
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from raytpnn.cli.inputs.source import Source
    from raytpnn.tuning.result import Tuning

__all__ = ["tune"]

SEARCH = "What to search"
# A search wants many fits: they are shorter than one that is kept.
SHORTER = {"chains": 2, "warmup": 500, "draws": 500}
# Options of the fits, and of reading the data, that the config file hands on to `fit`.
OF_FITS = ("thin", "feature_weights", "max_bins", "missing_indicators", "backend")
OF_DATA = (
    *("family", "positive", "weights", "offset", "drop", "samples", "layer", "orientation", "annotation"),
    *("log2", "min_sd", "collapse", "covariates"),
)
SHOWN = 12

Preset = Annotated[
    str | None,
    flags.flag(
        "default (around the default prior), scales, paper (243 settings) or paper-full.", SEARCH, "default"
    ),
]
Vary = Annotated[
    list[str] | None,
    flags.flag(
        "Instead of a preset: a field of the prior or the moves and its values, as C0=0.001,0.01; may be "
        "given again, all are combined.",
        SEARCH,
    ),
]
Trials = Annotated[
    int | None, flags.flag("Of a larger space, sample so many settings (24 of default).", SEARCH, min=1)
]
Criterion = Annotated[
    str, flags.flag("cv (score of rows held out) or evidence (log evidence, by tempering).", SEARCH)
]
Metric = Annotated[
    str | None,
    flags.flag("Of cv: nll, rmse, crps, auroc, ece, error or deviance, as the family has it.", SEARCH, "nll"),
]
Folds = Annotated[int, flags.flag("Folds of cv.", SEARCH, min=2)]
Keep = Annotated[
    float, flags.flag("Share of the settings that goes on after each fold; 1 stops none early.", SEARCH)
]
SearchReplicas = Annotated[
    int | None,
    flags.flag("By evidence: replicas of an ensemble; as many as are needed, if not given.", SEARCH, min=2),
]
SearchOut = Annotated[
    str | None,
    typer.Option(help="Folder for the search, also s3:// or gs://; needed. One that was begun goes on."),
]
Chains = Annotated[
    int | None, flags.flag("Chains of a fit; by evidence, ensembles of a setting.", flags.LENGTH, "2", min=1)
]
Warmup = Annotated[int | None, flags.flag("Sweeps before the first draw.", flags.LENGTH, "500", min=0)]
NumberOfDraws = Annotated[int | None, flags.flag("Draws of each chain.", flags.LENGTH, "500", min=1)]
TimeLimit = Annotated[
    float | None, flags.flag("Seconds after which no fit begins; again to go on.", flags.STOPPING)
]


def tune(
    data: flags.Data = None,
    target: flags.Target = None,
    out: SearchOut = None,
    config: flags.Config = None,
    preset: Preset = None,
    vary: Vary = None,
    trials: Trials = None,
    criterion: Criterion = "cv",
    metric: Metric = None,
    folds: Folds = 5,
    keep: Keep = 0.5,
    replicas: SearchReplicas = None,
    family: flags.FamilyName = None,
    positive: flags.Positive = None,
    weights: flags.Weights = None,
    offset: flags.Offset = None,
    drop: flags.Drop = None,
    samples: flags.Samples = None,
    layer: flags.Layer = None,
    orientation: flags.Orientation = None,
    annotation: flags.AnnotationFile = None,
    log2: flags.Log2 = None,
    min_sd: flags.MinSd = None,
    collapse: flags.Collapse = None,
    covariates: flags.Covariates = None,
    chains: Chains = None,
    warmup: Warmup = None,
    draws: NumberOfDraws = None,
    thin: flags.Thin = None,
    seed: flags.Seed = None,
    time_limit: TimeLimit = None,
    address: flags.Address = None,
    wait: flags.Wait = None,
    feature_weights: flags.FeatureWeights = None,
    max_bins: flags.MaxBins = None,
    missing_indicators: flags.MissingIndicators = None,
    backend: flags.Backend = None,
) -> None:
    """Search for the prior that suits DATA best, and write OUT/tune.toml for `raytpnn fit --config`.

    Runs on Ray Tune. All settings are tried on one fold, the better half of them on a second, and so on. The
    prior of --config, or the default one, is always among them, up to the end. Ctrl-C finishes the fits at
    hand and saves; the same command goes on.
    """
    given = dict(locals())
    told = SHORTER | ({} if config is None else read(config))
    # Of these, those of the config file are meant for the fit.
    told.pop("replicas", None)
    given.pop("replicas")
    options = merge(given, told)
    for name, value in (("DATA", options.data), ("--target", options.target), ("--out", options.out)):
        if value is None:
            raise typer.BadParameter("it is needed, here or in the config file", param_hint=name)
    space = space_of(preset, vary)
    how = {"criterion": criterion, "metric": metric, "folds": folds, "keep": keep, "replicas": replicas}
    run_tune(options, space, trials, how)


def read(config: Any) -> dict[str, Any]:
    """Options of a config file."""
    from raytpnn.cli.inputs.config import read_config

    return read_config(config)


def space_of(preset: str | None, vary: list[str] | None) -> Any:
    """Search space that flags ask for; a preset that does not exist shows before anything is read."""
    if not vary:
        from raytpnn.tuning.presets import preset_of

        preset_of(preset or "default")
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


def run_tune(options: FitOptions, space: Any, trials: int | None, how: dict[str, Any]) -> None:
    """Read, search, write, tell."""
    from raytpnn.chains.observe.progress import make_reporter
    from raytpnn.chains.run.ownership import refuse_owner
    from raytpnn.cli.commands.fit import told_source
    from raytpnn.cli.commands.validate import cases_of
    from raytpnn.cli.inputs.config import settings
    from raytpnn.cli.screen.stop import stoppable
    from raytpnn.engine.moves.options import Moves
    from raytpnn.model.prior import Prior
    from raytpnn.storage.places.place import Place
    from raytpnn.tuning.settings import Setting
    from raytpnn.tuning.tune import tune_cases

    assert options.out is not None
    base = Setting(settings(Prior, options.prior, "prior"), settings(Moves, options.moves, "moves"))
    place = Place(options.out)
    with stoppable(options.out):
        refuse_owner(place, resumes=False)
        say(f"reading {options.data}")
        source = told_source(options)
        result = tune_cases(
            cases_of(options, source),
            space,
            trials,
            base,
            {name: getattr(options, name) for name in (*SHORTER, *OF_FITS)},
            options.seed,
            place,
            options.address,
            options.time_limit,
            make_reporter(True),
            wait=bool(options.wait),
            **how,
        )
        write(result, place, options, source)
    tell_tuning(result, options.out)
    if result.stopped == "interrupt":
        raise typer.Exit(INTERRUPTED)


def write(result: Tuning, place: Any, options: FitOptions, source: Source) -> None:
    """Write the table, and the config file if anything is known."""
    from raytpnn.validation.text import as_csv

    place.write("trials.csv", as_csv(result.table))
    if result.race.complete:
        place.write("tune.toml", result.config(**handed_on(options, source)).encode())


def handed_on(options: FitOptions, source: Source) -> dict[str, Any]:
    """Options of the fit that the config file takes over: the data, and how to read them."""
    plain = FitOptions()
    own: dict[str, Any] = {
        "data": to_keep(str(options.data)),
        "target": options.target,
        "family": source.family,
    }
    for name in (*OF_DATA, *OF_FITS, "seed", "tempering"):
        value = getattr(options, name)
        if name not in own and value != getattr(plain, name):
            own[name] = to_keep(value) if name in ("samples", "annotation") else value
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
