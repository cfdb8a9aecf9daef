"""The options: name, type, default, words, flag, choices.

A class holds the options that the same entry points have; entry points combine classes. As TypedDicts they
are what type checkers and editors see of `sample(X, y, **options: Unpack[SampleOptions])`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from raytpnn.options.option import Option, OptionSet

if TYPE_CHECKING:
    from raytpnn.chains.executors.resources import Resources
    from raytpnn.chains.observe.progress import Reporter
    from raytpnn.data.gene_symbols import Annotation
    from raytpnn.engine.moves.options import Moves
    from raytpnn.engine.tempering.options import Tempering
    from raytpnn.model.prior import Prior

COLUMNS, LENGTH, STOPPING = "Columns of the data", "How long", "When to stop"
RUNNING, DETAILS, SEARCH = "Where to run", "Details", "What to search"
VALIDATION = "Held-out rows (results in OUT/cv)"
EXPRESSION = "Expression data (GEO series matrix, .h5ad, 10x .h5, or a matrix with --samples)"
PANELS = ("", SEARCH, COLUMNS, EXPRESSION, LENGTH, VALIDATION, STOPPING, RUNNING, DETAILS)


def families() -> Sequence[str]:
    """Names of the families."""
    from raytpnn.families import FAMILIES

    return tuple(FAMILIES)


def regression_families() -> Sequence[str]:
    """Names of the families whose response is a number."""
    from raytpnn.families import FAMILIES

    return tuple(name for name, family in FAMILIES.items() if not family.labelled and not family.censored)


def survival_families() -> Sequence[str]:
    """Families of times until an event."""
    from raytpnn.families import FAMILIES

    return tuple(name for name, family in FAMILIES.items() if family.censored)


def backends() -> Sequence[str]:
    """Names of the backends."""
    from raytpnn.engine.backends import BACKENDS

    return BACKENDS


def executors() -> Sequence[str]:
    """Names of the executors."""
    from raytpnn.parallel.ordered_map import EXECUTORS

    return EXECUTORS


def feature_weight_schemes() -> Sequence[str]:
    """Names that feature weights can be given by."""
    from raytpnn.model.feature_weights import LEARNED, SCHEMES

    return (*SCHEMES, *LEARNED)


class FamilyOption(TypedDict, total=False):
    """The law of the response."""

    family: Annotated[
        str, Option("gaussian", "Distribution of the response.", panel=COLUMNS, choices=families)
    ]


class RowOptions(TypedDict, total=False):
    """What belongs to rows, and the seed."""

    sample_weight: Annotated[
        Any,
        Option(
            None,
            "Weights of the rows' log-likelihoods, or the column of X that holds them.",
            flag_help="Column with weights of the rows' log-likelihoods.",
            kind="(n,) or str, optional",
            panel=COLUMNS,
            flags=("--sample-weight", "--weights"),
            written=str,
            saved=False,
        ),
    ]
    offset: Annotated[
        Any,
        Option(
            None,
            "Known part of f (for counts, the log of the exposure), or the column of X that holds it.",
            flag_help="Column added to f: for counts, the log of the exposure.",
            kind="(n,) or str, optional",
            panel=COLUMNS,
            written=str,
            saved=False,
        ),
    ]
    seed: Annotated[
        int,
        Option(
            0,
            "The same seed gives the same draws, whatever executes them.",
            "The estimators call it `random_state`, as scikit-learn does.",
            panel=LENGTH,
            least=0,
        ),
    ]


class ChainOptions(TypedDict, total=False):
    """Of every fit: `sample`, the estimators, `cross_validate` and `tune`."""

    chains: Annotated[int, Option(4, "Independent chains.", panel=LENGTH, least=1)]
    warmup: Annotated[
        int, Option(1000, "Sweeps thrown away at the start of each chain.", panel=LENGTH, least=0)
    ]
    draws: Annotated[
        int | None,
        Option(
            None,
            "Draws kept of each chain: just so many.",
            "Without a number chains go on until R-hat is at most 1.01 and there are 400 effective draws "
            "(bulk and tail, all chains together) of all that users read: f at up to 64 training rows, the "
            "log-likelihood, the noise, and the importance of the features and components that lead (a "
            "twentieth of the total or more). K and the learned scales are shown, but do not decide. At "
            "least the first quarter of a chain then counts as warm-up, and later sweeps are thinned on the "
            "way.",
            usual="as many as it takes to converge (R-hat 1.01, 400 effective draws), thinned to 1,000 at "
            "most",
            panel=LENGTH,
            least=1,
        ),
    ]
    thin: Annotated[
        int | None,
        Option(
            None,
            "Sweeps from one draw to the next; without `draws`, at least.",
            "Without `draws` thinning begins there: it doubles whenever a chain would have more than 1,000 "
            "draws.",
            usual="1",
            panel=LENGTH,
            least=1,
        ),
    ]
    prior: Annotated[
        "Prior | None",
        Option(None, "The prior.", panel=DETAILS, written=dict),
    ]
    moves: Annotated[
        "Moves | None",
        Option(None, "How states are proposed.", panel=DETAILS, written=dict),
    ]
    feature_weights: Annotated[
        Any,
        Option(
            "auto",
            "How often features and sets of them are proposed, which does not change the posterior.",
            "An array has a weight for each feature, a mapping one for each name; None, uniform: all alike. "
            '"adaptive" learns in warm-up from the features that all chains hold, "screen" also looks for '
            'features, pairs and triples in what all chains leave unexplained. "auto" screens unless there '
            "are few features, or too few rows to tell them apart.",
            kind='"auto", None, array, mapping, "uniform", "xgboost", "marginal", "adaptive" or "screen"',
            usual="by screens where they pay",
            panel=DETAILS,
            choices=feature_weight_schemes,
            written=str | dict,
        ),
    ]
    max_bins: Annotated[
        int,
        Option(255, "Most distinct values kept of a feature, at most 65,535.", panel=DETAILS, least=2),
    ]
    missing_indicators: Annotated[
        bool,
        Option(
            False,
            "Add a feature 'x is missing' for every column with missing values.",
            panel=DETAILS,
        ),
    ]
    backend: Annotated[
        str,
        Option(
            "auto",
            "Compiled, on GPUs, or the slow reference; the draws are the same.",
            '"auto" is "cuda" if there is a GPU and CuPy (on Ray: if `resources` asks for a GPU), else '
            '"numba"; with `delayed_acceptance` always "numba". The CUDA backend has been compiled and run '
            "through a CPU host; it has not yet been run on a GPU.",
            panel=DETAILS,
            choices=backends,
        ),
    ]


class ValidatedOptions(ChainOptions, total=False):
    """Of a fit that is kept, or scored on rows held out: not of a search."""

    tempering: Annotated[
        "Tempering | None",
        Option(
            None,
            "Make every chain an ensemble of replicas at powers of the likelihood, of which the draws of "
            "the cold one are kept; see `Posterior.tempering`.",
            panel=LENGTH,
            written=dict,
            saved=False,
        ),
    ]
    minibatch: Annotated[
        int | None,
        Option(
            None,
            "Rows that a sweep looks at, drawn anew for each: faster, approximate. With "
            "`delayed_acceptance`, the rows that proposals are screened on.",
            "Log-likelihoods are scaled up to all rows. Cost does not grow with the rows, but draws spread "
            "wider than the posterior, and `loglik` of a draw is the subset's estimate. What depends on the "
            "marginals of features stays that of all rows.",
            panel=DETAILS,
            least=1,
        ),
    ]
    delayed_acceptance: Annotated[
        bool,
        Option(
            False,
            "Screen proposals on a subset of the rows and check those that pass on all of them: faster on "
            "many rows, and exact.",
            "The size of the subset follows from the number of rows, and warm-up finds out for which moves "
            "it pays (never below 20,000 rows); with `minibatch` both are as asked for.",
            panel=DETAILS,
        ),
    ]


class ClusterOptions(TypedDict, total=False):
    """Of all that runs on Ray."""

    address: Annotated[
        str | None,
        Option(
            None,
            "Of a Ray cluster to join: host:6379 or ray://host:10001.",
            panel=RUNNING,
            saved=False,
        ),
    ]
    progress: Annotated[
        "bool | Reporter | None",
        Option(
            None,
            "Report to standard error, or to a reporter of your own; in notebooks a bar, unless False.",
            'Whatever it is, the same lines go to the logger "raytpnn" of `logging`, at level INFO.',
            usual="a bar in notebooks, nothing elsewhere",
            panel=RUNNING,
            written=None,
            saved=False,
        ),
    ]


class PlaceOptions(ClusterOptions, total=False):
    """Of all that runs on Ray or in threads."""

    executor: Annotated[
        str,
        Option(
            "auto",
            "Where chains run, which changes no draw: Ray or threads of this process.",
            '"auto", the default in Python, is Ray when a cluster is connected or addressed (by `address` '
            'or the environment variable RAY_ADDRESS), and threads otherwise. "ray", the default on the '
            "command line, takes that cluster too; without one it starts Ray on this machine and stops it "
            "again.",
            flag_help="ray (started on this machine, unless `address` or RAY_ADDRESS names a cluster), "
            "threads, or auto (ray if there is a cluster, else threads). The draws are the same.",
            panel=RUNNING,
            choices=executors,
            saved=False,
        ),
    ]


class RunOptions(PlaceOptions, total=False):
    """Of a run that is begun or gone on with."""

    resources: Annotated[
        "Resources | None",
        Option(
            None,
            "What a worker on Ray asks for.",
            usual="one CPU",
            panel=RUNNING,
            written=None,
            saved=False,
        ),
    ]
    target_rhat: Annotated[
        float | None,
        Option(
            None,
            "Stop when R-hat of all that decides is at most this.",
            "With `draws`, that is before the last one; targets that are given have all to be met.",
            flag_help="Stop when R-hat of all that decides is at most this; exit code 3 if it never is.",
            usual="without `draws` 1.01",
            panel=STOPPING,
            above=1.0,
        ),
    ]
    target_ess: Annotated[
        float | None,
        Option(
            None,
            "Stop when all that decides has so many effective draws, all chains together.",
            usual="without `draws` 400",
            panel=STOPPING,
            above=0.0,
        ),
    ]
    time_limit: Annotated[
        float | None,
        Option(
            None,
            "Seconds after which no new block of sweeps begins; what was drawn is kept.",
            panel=STOPPING,
            above=0.0,
            saved=False,
        ),
    ]


class KeptOptions(ValidatedOptions, RunOptions, total=False):
    """Of `sample`, the estimators and `raytpnn fit`."""

    max_sweeps: Annotated[
        int | None,
        Option(
            None,
            "Most sweeps of each chain, warm-up included, of a run without `draws`, converged or not.",
            "It is no time, so that the same seed gives the same draws.",
            usual="100,000; with n > 1,000 rows 10**8 / n, but at least 20,000",
            panel=LENGTH,
            least=1,
        ),
    ]
    shards: Annotated[
        int,
        Option(
            1,
            "Parts of the rows (1, 2, 4, 8 or 16) that one chain works on at a time, a worker or thread "
            "each; the draws are the same. For many rows.",
            'Workers on Ray read only their rows. With backend "cuda" as many GPUs of this process, or on '
            "Ray of as few workers as the nodes allow. With subsets each takes its rows of them, which must "
            "be 512 or more.",
            panel=LENGTH,
            least=1,
        ),
    ]
    out: Annotated[
        str | os.PathLike[str] | None,
        Option(
            None,
            "Folder to keep the run in, also s3:// or gs://; it must be new.",
            "Finished blocks are written as they come: what ends too early can be gone on with by "
            "`raytpnn.resume`. On a Ray cluster all nodes must see it.",
            kind="path or URI, optional",
            written=str,
            saved=False,
        ),
    ]


class StreamingOption(TypedDict, total=False):
    """How files are read."""

    streaming: Annotated[
        bool | None,
        Option(
            None,
            "Encode Parquet files a batch of rows at a time, or read them at once.",
            "X may then be a folder of files. Codes of the rows are mapped from the run's folder, or a "
            "temporary file. See `Encoder.fit_parquet`.",
            usual="a batch at a time if they would take more than half of the free memory",
            panel=DETAILS,
            flags=("--streaming/--no-streaming",),
            saved=False,
        ),
    ]


class SampleOptions(FamilyOption, KeptOptions, RowOptions, StreamingOption, total=False):
    """Options of `raytpnn.sample`."""


class EstimatorOptions(KeptOptions, total=False):
    """Options of the classifier."""

    random_state: Annotated[
        Any,
        Option(
            None,
            "The seed by scikit-learn's name: an int is `seed` of `raytpnn.sample`; otherwise a seed is "
            "drawn.",
            kind="int, RandomState instance or None",
            panel=LENGTH,
        ),
    ]

    n_jobs: Annotated[
        int | None,
        Option(
            None,
            "Cores that fitting and predicting use; -1 is all of them, -2 all but one.",
            "The draws are the same with any number.",
            usual="all",
            panel=RUNNING,
            saved=False,
        ),
    ]


class RegressorOptions(EstimatorOptions, total=False):
    """Options of the regressor."""

    family: Annotated[
        str,
        Option(
            "gaussian",
            "Distribution of the response: a real number with noise, or a count.",
            panel=COLUMNS,
            choices=regression_families,
        ),
    ]


class SurvivalOptions(EstimatorOptions, total=False):
    """Options of the estimator of times until an event."""

    family: Annotated[
        str,
        Option(
            "survival",
            'Law of the times: "survival" needs no shape, "weibull" is an accelerated failure time law.',
            panel=COLUMNS,
            choices=survival_families,
        ),
    ]


class ResumeOptions(RunOptions, total=False):
    """Options of `raytpnn.resume`; what is None stays as the run has it."""

    chains: Annotated[
        int | None,
        Option(None, "Chains in all, if there should be more than before.", panel=LENGTH, least=1),
    ]
    draws: Annotated[
        int | None,
        Option(
            None, "Draws of each chain in all, if there should be more than before.", panel=LENGTH, least=1
        ),
    ]
    max_sweeps: Annotated[
        int | None,
        Option(
            None,
            "Most sweeps of each chain in all, if there should be more than before.",
            "For a run that was begun without a number of draws.",
            panel=LENGTH,
            least=1,
        ),
    ]
    backend: Annotated[
        str | None,
        Option(None, "Another than before; the draws are the same.", panel=DETAILS, choices=backends),
    ]
    shards: Annotated[
        int | None,
        Option(None, "Another number than before; the draws are the same.", panel=LENGTH, least=1),
    ]


class HeldOutOptions(TypedDict, total=False):
    """How rows are held out."""

    cv: Annotated[
        "str | int | None",
        Option(
            None,
            "Folds, or folds x repeats, as 5x5: fit to parts of the rows, predict the rest.",
            panel=VALIDATION,
            written=str | int,
        ),
    ]
    splits: Annotated[
        int | None,
        Option(
            None,
            "Instead of folds: so many random splits, a fifth of the rows held out.",
            panel=VALIDATION,
            least=1,
        ),
    ]
    permute: Annotated[
        int,
        Option(
            0,
            "Control: do the same so many times with the target permuted, on one round of folds or five "
            "splits.",
            panel=VALIDATION,
            least=0,
        ),
    ]


class PreparationOptions(TypedDict, total=False):
    """Expression data whose preparation is part of what is validated."""

    preparation: Annotated[
        dict[str, Any] | None,
        Option(
            None,
            "Options of `raytpnn.prepare` (log2, min_sd, collapse), applied in every training part.",
            kind="dict, optional",
            panel=EXPRESSION,
            usual="X is taken as it is",
        ),
    ]
    annotation: Annotated[
        "Annotation | None",
        Option(
            None,
            "Gene symbols of the features (`raytpnn.read_annotation`): what is found is then counted by "
            "gene.",
            panel=EXPRESSION,
        ),
    ]


class CrossValidateOptions(
    ValidatedOptions, PlaceOptions, RowOptions, FamilyOption, HeldOutOptions, PreparationOptions, total=False
):
    """Options of `raytpnn.cross_validate`."""

    test_share: Annotated[float, Option(0.2, "Share of the rows held out by `splits`.", panel=VALIDATION)]
    out: Annotated[
        str | os.PathLike[str] | None,
        Option(
            None,
            "Folder; finished fits are kept in `out/cv` and not done again, the summary is written there. "
            "One process at a time works on it.",
            kind="path or URI, optional",
        ),
    ]


def criteria() -> Sequence[str]:
    """What a search can go by."""
    return ("cv", "evidence")


class WaitOption(TypedDict, total=False):
    """On a cluster that grows."""

    wait: Annotated[
        bool,
        Option(
            False,
            "Wait for nodes that can hold a worker, on a cluster that has none yet but can grow.",
            panel=RUNNING,
        ),
    ]


class SearchOptions(WaitOption, total=False):
    """What `raytpnn.tune` and the command `raytpnn tune` have alone."""

    trials: Annotated[
        int | None,
        Option(
            None,
            "Of a larger space, sample so many settings by the seed; the base is tried in addition.",
            usual="24 of the preset default, all of others",
            panel=SEARCH,
            least=1,
        ),
    ]
    criterion: Annotated[
        str,
        Option(
            "cv",
            "cv: the score of rows held out; evidence: the log evidence of all rows, by tempering.",
            "The evidence is found by ensembles of replicas from the prior to the posterior. Of two priors "
            "for the same rows and response, evidences can be compared.",
            panel=SEARCH,
            choices=criteria,
        ),
    ]
    metric: Annotated[
        str | None,
        Option(
            None,
            "Of cv: nll, rmse, crps, auroc, ece, error, deviance or concordance, as the family has it.",
            '"nll" is minus the log predictive density of a row. "rmse" and "crps" are for gaussian; '
            '"auroc", "ece" and "error" for bernoulli; "deviance" and "crps" for poisson.',
            usual="nll",
            panel=SEARCH,
        ),
    ]
    folds: Annotated[int, Option(5, "Folds of cv.", panel=SEARCH, least=2)]
    keep: Annotated[
        float,
        Option(
            0.5,
            "Share of the settings that goes on after each fold; 1 stops none early.",
            panel=SEARCH,
            above=0.0,
        ),
    ]
    replicas: Annotated[
        int | None,
        Option(
            None,
            "By evidence: replicas of an ensemble.",
            usual="as many as the barrier wants",
            panel=SEARCH,
            least=2,
        ),
    ]


class TuneOptions(
    ChainOptions, ClusterOptions, RowOptions, FamilyOption, SearchOptions, PreparationOptions, total=False
):
    """Options of `raytpnn.tune`."""

    space: Annotated[
        str | Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]],
        Option(
            "default",
            'A preset ("default", "scales", "paper", "paper-full"); values by field of `Prior` or `Moves`, '
            'all combined, as {"C0": [0.001, 0.01], "K_max": [50, 100]}; or settings one by one.',
            kind="str, mapping or list of mappings",
            panel=SEARCH,
        ),
    ]
    out: Annotated[
        str | os.PathLike[str] | None,
        Option(
            None,
            "Folder; finished steps are kept there and not done again.",
            "Of a search that is repeated with another metric, preset, `trials` or `keep`, what is known is "
            "taken over. One process at a time works on it.",
            kind="path or URI, optional",
        ),
    ]
    time_limit: Annotated[
        float | None, Option(None, "Seconds after which no fit begins.", panel=STOPPING, above=0.0)
    ]


# A cross-validation has too many fits to run each until it converges, and fits of a search are shorter still.
SAMPLE = OptionSet(SampleOptions, PANELS[1:])
RESUME = OptionSet(ResumeOptions, PANELS[1:])
CLASSIFIER = OptionSet(EstimatorOptions, PANELS[1:])
REGRESSOR = OptionSet(RegressorOptions, PANELS[1:])
SURVIVAL = OptionSet(SurvivalOptions, PANELS[1:])
CROSS_VALIDATE = OptionSet(CrossValidateOptions, PANELS[1:], draws=1000)
SHORTER = {"chains": 2, "warmup": 500, "draws": 500}
TUNE = OptionSet(TuneOptions, PANELS[1:], **SHORTER)
# What fits of a cross-validation and of a search are given by the same names.
OF_VALIDATION = tuple(OptionSet(ValidatedOptions).options)
OF_SEARCH = tuple(name for name in OptionSet(ChainOptions).options if name not in ("prior", "moves"))
