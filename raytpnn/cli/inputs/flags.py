"""Flags and arguments of `fit` and `resume`. None means not given: the config file or the default decides."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

COLUMNS, LENGTH, STOPPING = "Columns of the data", "How long", "When to stop"
RUNNING, DETAILS = "Where to run", "Details"
VALIDATION = "Held-out rows (results in OUT/cv)"
EXPRESSION = "Expression data (GEO series matrix, .h5ad, 10x .h5, or a matrix with --samples)"


def flag(help: str, panel: str, default: str | None = None, **more: Any) -> Any:
    """Flag with its help, the panel of the help page it stands in, and the default to tell."""
    told = help if default is None else f"{help} Default: {default}."
    return typer.Option(help=told, rich_help_panel=panel, **more)


Data = Annotated[
    str | None,
    typer.Argument(
        help="CSV, TSV, Parquet or Feather file, or a folder of Parquet files; GEO series matrix, .h5ad or "
        "10x .h5. Also s3:// or gs://.",
        show_default=False,
    ),
]
Out = Annotated[
    str | None, typer.Option(help="Folder for the run, also s3:// or gs://; needed, must be new.")
]
Config = Annotated[
    Path | None,
    typer.Option(help="TOML file with options (keys as the flags, _ for -), [prior], [moves], [tempering]."),
]

Target = Annotated[
    str | None,
    flag("Column to predict; of expression data, a characteristic of the samples, or key:value.", COLUMNS),
]
FamilyName = Annotated[
    str | None, flag("gaussian, bernoulli or poisson; guessed from the target if not given.", COLUMNS)
]
Positive = Annotated[
    str | None,
    flag(
        "The class whose probability is modelled; of expression data, a level against all others, or "
        "~PATTERN to look for in a text.",
        COLUMNS,
    ),
]
Weights = Annotated[str | None, flag("Column with weights of the rows.", COLUMNS)]
Offset = Annotated[str | None, flag("Column added to f: for counts, the log of the exposure.", COLUMNS)]
Drop = Annotated[list[str] | None, flag("Column to leave out; may be given again.", COLUMNS)]

Samples = Annotated[
    str | None, flag("Sample sheet: a table with a row a sample, aligned by sample id.", EXPRESSION)
]
Layer = Annotated[str | None, flag("Layer of an .h5ad file, or raw.", EXPRESSION, "X")]
Orientation = Annotated[
    str | None, flag("What the rows of a matrix are: features, samples or auto.", EXPRESSION, "auto")
]
AnnotationFile = Annotated[
    str | None, flag("Table with gene symbols and accessions of the probes.", EXPRESSION)
]
GeneNames = Annotated[
    str | None,
    typer.Option("--annotation", help="Table with gene symbols and accessions, if the fit had none."),
]
Log2 = Annotated[str | None, flag("Take logarithms: auto, yes or no.", EXPRESSION, "auto")]
MinSd = Annotated[
    float | None,
    flag("Leave out features whose standard deviation is below this.", EXPRESSION, "0", min=0.0),
]
Collapse = Annotated[
    str | None,
    flag(
        "identical: of features that rank samples alike keep one; gene: of the probes of a gene keep that "
        "with the largest mean.",
        EXPRESSION,
    ),
]
Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariates",
        "--adjust",
        help="Characteristics to adjust for, with commas between them: an offset, no features.",
        rich_help_panel=EXPRESSION,
    ),
]

Chains = Annotated[int | None, flag("Independent chains.", LENGTH, "4", min=1)]
Warmup = Annotated[int | None, flag("Sweeps before the first draw.", LENGTH, "1000", min=0)]
NumberOfDraws = Annotated[
    int | None,
    flag(
        "Draws of each chain, just so many.",
        LENGTH,
        "as many as it takes to converge (R-hat 1.01, 400 effective draws), thinned to 1000 at most",
        min=1,
    ),
]
Thin = Annotated[int | None, flag("Sweeps a draw; without --draws, at least.", LENGTH, "1", min=1)]
MaxSweeps = Annotated[
    int | None,
    flag(
        "Most sweeps of each chain, warm-up included, without --draws.",
        LENGTH,
        "100000; with over 1,000 rows fewer, at least 20000",
        min=1,
    ),
]
Seed = Annotated[int | None, flag("The same seed gives the same draws.", LENGTH, "0", min=0)]

Replicas = Annotated[
    int | None,
    flag(
        "Replicas of each chain at higher temperatures, for posteriors with modes; 1 is none.",
        LENGTH,
        "1",
        min=1,
    ),
]

Shards = Annotated[
    int | None,
    flag(
        "Parts of the rows (1, 2, 4, 8 or 16) that a chain works on at a time, a worker or thread each; the "
        "draws are the same. For many rows.",
        LENGTH,
        "1",
        min=1,
    ),
]
Spread = Annotated[
    bool | None,
    typer.Option(
        "--spread",
        help="Replicas of one chain on different workers, swapped at ends of blocks: for many replicas.",
        rich_help_panel=LENGTH,
    ),
]
CrossValidation = Annotated[
    str | None,
    flag(
        "Also fit to parts of the rows and predict the rest: folds, or folds x repeats, as 5x5.", VALIDATION
    ),
]
Splits = Annotated[
    int | None, flag("Instead of folds: so many random splits, 20% of the rows held out.", VALIDATION, min=1)
]
Permute = Annotated[
    int | None,
    flag("Control: do the same so many times with the target permuted.", VALIDATION, "0", min=0),
]

TargetRhat = Annotated[
    float | None,
    flag(
        "Stop when R-hat of all that decides is at most this (1.01 without --draws); exit code 3 if it "
        "never is.",
        STOPPING,
    ),
]
TargetEss = Annotated[
    float | None,
    flag(
        "Stop when all that decides has so many effective draws, all chains together (400 without --draws).",
        STOPPING,
    ),
]
TimeLimit = Annotated[float | None, flag("Seconds after which no new block of sweeps begins.", STOPPING)]
NoTarget = Annotated[
    bool,
    typer.Option(
        "--no-target",
        help="Forget the targets that the run was begun with: go on to the last draw.",
        rich_help_panel=STOPPING,
    ),
]

Executor = Annotated[
    str | None,
    flag(
        "ray (started on this machine, unless --address or RAY_ADDRESS names a cluster), threads or auto.",
        RUNNING,
        "ray",
    ),
]
Address = Annotated[str | None, flag("Of a Ray cluster to join: host:6379 or ray://host:10001.", RUNNING)]
Workers = Annotated[
    int | None, flag("Workers at most; as many as there is room for, if not given.", RUNNING, min=1)
]
Cpus = Annotated[float | None, flag("CPUs that a worker asks Ray for.", RUNNING, "1", min=0.0)]
Gpus = Annotated[
    float | None,
    flag(
        "GPUs that a worker asks Ray for; with --shards on GPUs, how many of a chain's it has.",
        RUNNING,
        "0",
        min=0.0,
    ),
]
Wait = Annotated[
    bool | None,
    typer.Option(
        "--wait",
        help="Wait for nodes that can hold a worker, on a cluster that has none yet but can grow; give "
        "--workers to make it grow.",
        rich_help_panel=RUNNING,
    ),
]

FeatureWeights = Annotated[
    str | None,
    flag("How features are proposed: marginal, xgboost or adaptive; all alike if not given.", DETAILS),
]
MaxBins = Annotated[int | None, flag("Distinct values kept of a feature.", DETAILS, "255", min=2)]
MissingIndicators = Annotated[
    bool | None,
    typer.Option(
        "--missing-indicators",
        help="Add a feature 'x is missing' for every column with missing values.",
        rich_help_panel=DETAILS,
    ),
]
Streaming = Annotated[
    bool | None,
    typer.Option(
        "--streaming/--no-streaming",
        help="Encode Parquet files a batch of rows at a time, or read them at once. Default: streaming if "
        "they would take more than half of the free memory.",
        rich_help_panel=DETAILS,
        show_default=False,
    ),
]
Backend = Annotated[
    str | None, flag("auto, numba, cuda or reference; the draws are the same.", DETAILS, "auto")
]

Minibatch = Annotated[
    int | None,
    flag(
        "Rows that a sweep looks at, drawn anew for each: faster, approximate. With --delayed-acceptance, "
        "rows that proposals are screened on.",
        DETAILS,
        min=1,
    ),
]
DelayedAcceptance = Annotated[
    bool | None,
    typer.Option(
        "--delayed-acceptance",
        help="Screen proposals on a subset of the rows: faster on many rows, and exact.",
        rich_help_panel=DETAILS,
        show_default=False,
    ),
]

ExecutorAgain = Annotated[str | None, flag("ray, threads or auto; that of the run if not given.", RUNNING)]
MoreChains = Annotated[int | None, flag("Chains in all, if there should be more than before.", LENGTH, min=1)]
MoreSweeps = Annotated[
    int | None,
    flag("Most sweeps of each chain in all, if there should be more than before.", LENGTH, min=1),
]
MoreDraws = Annotated[
    int | None, flag("Draws of each chain in all, if there should be more than before.", LENGTH, min=1)
]
