"""`raytpnn.cross_validate`: how well does it predict, what is found each time, what does chance look like."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.chains.executors.ray_session import ray_is_meant
from raytpnn.chains.observe.progress import Reporter, duration, make_reporter
from raytpnn.chains.run.ownership import kept_work
from raytpnn.data.response import as_offset, as_response, as_weights
from raytpnn.data.tables.tables import as_table
from raytpnn.families import get_family
from raytpnn.storage.places.place import Place
from raytpnn.validation.cases import Cases
from raytpnn.validation.execute import fits_on_ray, fits_on_threads
from raytpnn.validation.results import Results, fingerprint
from raytpnn.validation.splits import Scheme, make_splits
from raytpnn.validation.summary import CrossValidation
from raytpnn.validation.task import Fit, Task, permuted

if TYPE_CHECKING:
    from raytpnn.data.gene_symbols import Annotation

__all__ = ["cross_validate", "validate_cases"]

# Options of `raytpnn.sample` that every fit is given.
PASSED_ON = (
    *("chains", "warmup", "draws", "thin", "prior", "moves", "feature_weights", "max_bins", "backend"),
    *("tempering", "missing_indicators", "minibatch", "delayed_acceptance"),
)
# Draws of each chain if their number is not given: there are too many fits to run each until it converges.
DRAWS = 1000


def cross_validate(
    X: Any,
    y: Any,
    family: str = "gaussian",
    cv: str | int | None = None,
    splits: int | None = None,
    test_share: float = 0.2,
    permute: int = 0,
    seed: int = 0,
    sample_weight: Any = None,
    offset: Any = None,
    preparation: dict[str, Any] | None = None,
    annotation: Annotation | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: str = "auto",
    address: str | None = None,
    progress: bool | Reporter = False,
    **options: Any,
) -> CrossValidation:
    """Fit the model to parts of the rows, again and again, and look at the rows held out.

    Everything that is learned from data, encoding, preparation and feature weights included, is learned from
    the training part of a split. Two classes are split so that every part has its share of both. Where fits
    run does not change them.

    Parameters
    ----------
    X, y, family, sample_weight, offset
        As for `raytpnn.sample`; X may be an Expression.
    cv : str or int, optional
        Folds, and how often to deal them anew: "5x5", or 5. Five folds twice, if neither this nor `splits` is
        given.
    splits : int, optional
        Instead of folds, so many random splits, each with `test_share` of the rows held out.
    test_share : float
    permute : int
        Control: so many times, permute the response and do it all again on one round of folds (or five
        random splits). Shows what chance looks like.
    seed : int
        Of splits, chains and permutations.
    preparation : dict, optional
        Options of `raytpnn.data.preparation.prepare` (log2, min_sd, collapse), for expression data; applied
        in every training part. Without it, X is taken as it is.
    annotation : Annotation, optional
        Gene symbols of the features (`raytpnn.read_annotation`): what is found is then counted by gene.
    out : path or URI, optional
        Folder; finished fits are kept in `out/cv` and not done again, the summary is written there. One
        process at a time works on it.
    executor, address, progress
        As for `raytpnn.sample`; on Ray, a fit is a task.
    **options
        chains, warmup, draws, thin, prior, moves, feature_weights, max_bins, backend, tempering and
        missing_indicators, minibatch and delayed_acceptance of `raytpnn.sample`. Draws are 1,000 of each
        chain if not given: fits of a cross-validation do not go on until they have converged.

    Returns
    -------
    CrossValidation

    Raises
    ------
    ValueError
        If an option or a value cannot be used, or `out` holds another cross-validation.
    RunError
        If somebody else works on `out`; the message says who.
    """
    likelihood = get_family(family)
    table = as_table(X)
    n = table.n_rows
    weights = feature_weights_by_row(options.get("feature_weights"))
    if weights:
        raise ValueError(weights)
    cases = Cases(
        table=table,
        y=as_response(y, likelihood, n),
        family=likelihood.name,
        weight=None if sample_weight is None else as_weights(sample_weight, n),
        offset=None if offset is None else as_offset(offset, n),
        preparation=preparation,
        annotation=annotation or table.annotation,
    )
    scheme = Scheme.of("5x2" if cv is None and splits is None else cv, splits, test_share)
    return validate_cases(
        cases,
        scheme,
        permute,
        seed,
        options,
        None if out is None else Place(out),
        ray_is_meant(executor, address),
        address,
        make_reporter(progress),
    )


def feature_weights_by_row(weights: Any) -> str:
    """What is wrong with feature weights; empty if nothing is."""
    if weights is None or isinstance(weights, (str, dict)) or hasattr(weights, "index"):
        return ""
    return (
        "feature_weights as an array cannot be matched to the features of every training part; give a "
        "mapping from names, or 'marginal', 'adaptive' or 'xgboost', which are learned in every training part"
    )


def validate_cases(
    cases: Cases,
    scheme: Scheme,
    permute: int,
    seed: int,
    options: dict[str, Any],
    place: Place | None,
    on_ray: bool,
    address: str | None,
    reporter: Reporter,
) -> CrossValidation:
    """`cross_validate` of checked data."""
    check(permute, seed, options)
    if options.get("draws") is None:
        options = options | {"draws": DRAWS}
    mark = {
        "fingerprint": fingerprint(cases, scheme, options, seed),
        "scheme": asdict(scheme),
        "seed": seed,
        "family": cases.family,
        "classes": cases.y.classes,
        "rows": cases.table.n_rows,
    }
    tasks = tasks_of(cases, scheme, permute, seed)
    if place is not None:
        # What is no folder of this cross-validation gets no owner.
        Results.check(place, mark)
    with kept_work(place, reporter.say) as lease:
        results = Results(place, mark, lease)
        left = results.read(tasks)
        if len(left) < len(tasks):
            done = len(tasks) - len(left)
            reporter.say(f"cross-validation: {done} of {len(tasks)} fits are there already")
        if left:
            run = fits_on_threads(cases, left, options, seed)
            if on_ray:
                run = fits_on_ray(cases, left, options, seed, address, reporter)
            progress = FitProgress(reporter.say, len(left), cases.family)
            for task, fit in run:
                results.add(task, fit)
                progress(fit)
        fits = [results.fits[task.name] for task in tasks]
        own, control = [fit for fit in fits if not fit.permutation], [fit for fit in fits if fit.permutation]
        found = CrossValidation(own, control, scheme, cases.family, cases.y.classes)
        if place is not None:
            from raytpnn.validation.text import write_tables

            write_tables(found, place)
    return found


def check(permute: Any, seed: Any, options: dict[str, Any]) -> None:
    """Raise for what cannot be used."""
    for name, value in (("permute", permute), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
            raise ValueError(f"{name} must be a whole number, 0 or more, got {value!r}")
    unknown = sorted(set(options) - set(PASSED_ON))
    if unknown:
        raise ValueError(
            f"cross_validate has no option {', '.join(map(repr, unknown))}; for the fits there are "
            f"{', '.join(PASSED_ON)}"
        )


def tasks_of(cases: Cases, scheme: Scheme, permute: int, seed: int) -> list[Task]:
    """All fits, the response itself first."""
    stratify = get_family(cases.family).binary
    tasks = []
    for permutation in range(permute + 1):
        y = permuted(cases.y.values, permutation, seed)
        for split in make_splits(scheme.control if permutation else scheme, y, stratify, seed):
            stream = np.random.SeedSequence([seed, permutation, split.repeat, split.fold])
            tasks.append(Task(permutation, split, int(stream.generate_state(1, np.uint32)[0])))
    return tasks


class FitProgress:
    """Prints how many fits are done, at most every two seconds.

    Parameters
    ----------
    say : callable
    total : int
        Fits to do.
    family : str
    """

    def __init__(self, say: Callable[[str], None], total: int, family: str) -> None:
        self.say, self.total, self.family = say, total, family
        self.begin = self.printed_at = time.monotonic()
        self.fits: list[Fit] = []
        self.done = 0

    def __call__(self, fit: Fit) -> None:
        """Take note of a fit."""
        self.done += 1
        if not fit.permutation:
            self.fits.append(fit)
        now = time.monotonic()
        if now - self.printed_at < 2.0 and self.done < self.total:
            return
        self.printed_at = now
        words = [f"cross-validation: {self.done} of {self.total} fits"]
        if self.fits:
            name, value = next(
                iter(CrossValidation(self.fits, [], Scheme(2, 1), self.family).scores_of(self.fits).items())
            )
            words.append(f"{name} so far {value:.3f}")
        if self.done < self.total:
            words.append(f"{duration((now - self.begin) / self.done * (self.total - self.done))} left")
        self.say(", ".join(words))
