"""What the commands have beside the options of the library, and how flags and config file combine."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict, cast

import typer

from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.options.definition import (
    COLUMNS,
    EXPRESSION,
    LENGTH,
    PANELS,
    RUNNING,
    SEARCH,
    SHORTER,
    STOPPING,
    ChainOptions,
    ClusterOptions,
    HeldOutOptions,
    KeptOptions,
    ResumeOptions,
    RowOptions,
    SearchOptions,
    StreamingOption,
    WaitOption,
    families,
)
from raytpnn.options.option import Option, OptionSet

__all__ = [
    "FIT",
    "INSPECT",
    "PREDICT",
    "RESUME_RUN",
    "TUNE_PRIOR",
    "FitFlags",
    "InspectFlags",
    "PredictFlags",
    "ResumeFlags",
    "TuneFlags",
    "WorkerFlags",
    "check_needed",
    "merge",
]


def orientations() -> Sequence[str]:
    """What the rows of a matrix can be."""
    from raytpnn.expression.expression import ORIENTATIONS

    return ORIENTATIONS


def logarithms() -> Sequence[str]:
    """Whether logarithms are taken."""
    from raytpnn.data.preparation import LOG2

    return LOG2


def collapsing() -> Sequence[str]:
    """Which features stand for others."""
    from raytpnn.data.preparation import COLLAPSE

    return COLLAPSE


def presets() -> Sequence[str]:
    """Names of search spaces."""
    from raytpnn.tuning.presets import PRESETS

    return tuple(PRESETS)


class MatrixFlags(TypedDict, total=False):
    """How a matrix of expression data is read."""

    samples: Annotated[
        str | None,
        Option(
            None, "Sample sheet: a table with one row per sample, aligned by sample id.", panel=EXPRESSION
        ),
    ]
    layer: Annotated[str | None, Option(None, "Layer of an .h5ad file, or raw.", panel=EXPRESSION, usual="X")]
    orientation: Annotated[
        str, Option("auto", "What the rows of a matrix are.", panel=EXPRESSION, choices=orientations)
    ]


class DataFlags(MatrixFlags, total=False):
    """What is fitted."""

    data: Annotated[
        str | None,
        Option(
            None,
            "CSV, TSV, Parquet or Feather file, or a folder of Parquet files; GEO series matrix, .h5ad or "
            "10x .h5. Also s3:// or gs://.",
            argument=True,
        ),
    ]
    config: Annotated[
        str | None,
        Option(
            None,
            "TOML file with options (keys as the flags, _ for -), [prior], [moves], [tempering].",
            written=str,
        ),
    ]
    target: Annotated[
        str | None,
        Option(
            None,
            "Column to predict; of expression data, a characteristic of the samples, or key:value.",
            panel=COLUMNS,
        ),
    ]
    time: Annotated[
        str | None,
        Option(
            None,
            "Column with times until an event, or until a row was lost from sight; in the place of --target, "
            "with --event.",
            panel=COLUMNS,
        ),
    ]
    event: Annotated[
        str | None,
        Option(None, "Column that says whether the event was seen: 1 or 0, true or false.", panel=COLUMNS),
    ]
    family: Annotated[
        str | None,
        Option(
            None,
            "Distribution of the response.",
            usual="inferred from the target and printed",
            panel=COLUMNS,
            choices=families,
        ),
    ]
    positive: Annotated[
        str | int | float | bool | None,
        Option(
            None,
            "The class whose probability is modelled; of expression data, a level against all others, or "
            "~PATTERN to look for in a text.",
            panel=COLUMNS,
        ),
    ]
    drop: Annotated[list[str], Option([], "Column to leave out; may be given again.", panel=COLUMNS)]
    annotation: Annotated[
        str | None, Option(None, "Table with gene symbols and accessions of the probes.", panel=EXPRESSION)
    ]
    log2: Annotated[str, Option("auto", "Take logarithms.", panel=EXPRESSION, choices=logarithms)]
    min_sd: Annotated[
        float,
        Option(
            0.0, "Leave out features whose standard deviation is below this.", panel=EXPRESSION, least=0.0
        ),
    ]
    collapse: Annotated[
        str | None,
        Option(
            None,
            "identical: of features that rank samples alike keep one; gene: of the probes of a gene keep "
            "that with the largest mean.",
            panel=EXPRESSION,
            choices=collapsing,
        ),
    ]
    covariates: Annotated[
        list[str],
        Option(
            [],
            "Characteristics to adjust for, with commas between them: an offset, no features.",
            panel=EXPRESSION,
            flags=("--covariates", "--adjust"),
        ),
    ]


class WorkerFlags(WaitOption, total=False):
    """`raytpnn.Resources` in flags."""

    workers: Annotated[
        int | None,
        Option(None, "Workers at most.", usual="as many as there is room for", panel=RUNNING, least=1),
    ]
    cpus: Annotated[
        float | None, Option(None, "CPUs that a worker asks Ray for.", usual="1", panel=RUNNING, least=0.0)
    ]
    gpus: Annotated[
        float | None,
        Option(
            None,
            "GPUs that a worker asks Ray for; with `shards` on GPUs, how many of a chain's it has.",
            usual="0",
            panel=RUNNING,
            least=0.0,
        ),
    ]


class FitFlags(DataFlags, KeptOptions, RowOptions, StreamingOption, HeldOutOptions, WorkerFlags, total=False):
    """Of `raytpnn fit`, and keys of its config file."""

    replicas: Annotated[
        int | None,
        Option(
            None,
            "Replicas of each chain at higher temperatures, for posteriors with modes; 1 is none.",
            usual="1",
            panel=LENGTH,
            least=1,
        ),
    ]
    spread: Annotated[
        bool | None,
        Option(
            None,
            "Replicas of one chain on different workers, swapped at ends of blocks: for many replicas.",
            panel=LENGTH,
        ),
    ]


class ResumeFlags(ResumeOptions, WorkerFlags, total=False):
    """Of `raytpnn resume`."""

    run: Annotated[str, Option(..., "Folder of a run that `raytpnn fit` began.", argument=True)]
    no_target: Annotated[
        bool,
        Option(
            False,
            "Forget the targets that the run was begun with: go on to the last draw.",
            panel=STOPPING,
        ),
    ]


class TuneFlags(DataFlags, ChainOptions, ClusterOptions, RowOptions, SearchOptions, total=False):
    """Of `raytpnn tune`."""

    out: Annotated[
        str | None,
        Option(None, "Folder for the search, also s3:// or gs://; needed. One that was begun goes on."),
    ]
    preset: Annotated[
        str | None,
        Option(
            None,
            "Settings to try: around the default prior, its scales alone, or the paper's grids.",
            usual="default",
            panel=SEARCH,
            choices=presets,
        ),
    ]
    vary: Annotated[
        list[str],
        Option(
            [],
            "Instead of a preset: a field of the prior or the moves and its values, as C0=0.001,0.01; may "
            "be given again, all are combined.",
            panel=SEARCH,
        ),
    ]
    time_limit: Annotated[
        float | None,
        Option(None, "Seconds after which no fit begins; again to go on.", panel=STOPPING, above=0.0),
    ]


class InspectFlags(MatrixFlags, total=False):
    """Of `raytpnn inspect`."""

    data: Annotated[
        str, Option(..., "Expression data: GEO series matrix, .h5ad, .h5, or a matrix.", argument=True)
    ]


class PredictFlags(MatrixFlags, total=False):
    """Of `raytpnn predict`."""

    run: Annotated[str, Option(..., "Folder of a run.", argument=True)]
    data: Annotated[str, Option(..., "File of rows as for `fit`, or folder of Parquet files.", argument=True)]
    out: Annotated[str, Option(..., "File to write: .parquet, .pq, .csv or .tsv.")]
    level: Annotated[float, Option(CREDIBLE_LEVEL, "Level of the predictive intervals.")]
    keep: Annotated[list[str], Option([], "Column of DATA to copy; may be given again.")]
    offset: Annotated[str | None, Option(None, "Column added to f.", usual="that of the fit, if it had one")]
    no_offset: Annotated[
        bool,
        Option(
            False,
            "Add nothing to f, though the fit had an offset.",
        ),
    ]
    gpu: Annotated[
        bool,
        Option(
            False,
            "Predict on a GPU (needs CuPy).",
        ),
    ]


# The command line has no session to join that it would not be told of: it starts Ray if there is none.
FIT = OptionSet(FitFlags, PANELS, executor="ray")
RESUME_RUN = OptionSet(ResumeFlags, PANELS, executor=None)
TUNE_PRIOR = OptionSet(TuneFlags, PANELS, **SHORTER)
INSPECT = OptionSet(InspectFlags, PANELS)
PREDICT = OptionSet(PredictFlags, PANELS)


def merge(given: Mapping[str, Any], options: OptionSet[Any], config: Mapping[str, Any] | None = None) -> Any:
    """All options of a command: defaults, then the config file, then flags; each checked.

    Of flags, None and an empty list mean not given.
    """
    flags = {name: value for name, value in given.items() if value not in (None, [])}
    return options.filled({**(config or {}), **flags}, "raytpnn")


def check_needed(options: FitFlags) -> None:
    """Raise if what a fit cannot do without was given neither by a flag nor by the config file.

    Of times until an event, the column of times becomes the target.
    """
    if options["time"] is not None or options["event"] is not None:
        if options["time"] is None or options["event"] is None:
            missing = "--event" if options["event"] is None else "--time"
            raise typer.BadParameter("--time and --event go together", param_hint=missing)
        if options["target"] not in (None, options["time"]):
            raise typer.BadParameter("--time and --event stand in its place", param_hint="--target")
        options["target"] = options["time"]
    for hint, name in (("DATA", "data"), ("--target", "target"), ("--out", "out")):
        if cast(dict[str, Any], options)[name] is None:
            raise typer.BadParameter("it is needed, here or in the config file", param_hint=hint)
