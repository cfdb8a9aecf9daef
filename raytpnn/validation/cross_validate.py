"""`raytpnn.cross_validate`: how well does it predict, what is found each time, what does chance look like."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Unpack

import numpy as np

from raytpnn.chains.executors.ray_session import ray_is_meant
from raytpnn.chains.observe.progress import Reporter, duration, make_reporter
from raytpnn.chains.run.ownership import kept_work
from raytpnn.data.response import as_offset, as_response, as_weights
from raytpnn.data.tables.tables import as_table
from raytpnn.families import Family, get_family
from raytpnn.options.definition import CROSS_VALIDATE, OF_VALIDATION, CrossValidateOptions, TuneOptions
from raytpnn.storage.places.place import Place
from raytpnn.validation.cases import Cases
from raytpnn.validation.execute import fits_on_ray, fits_on_threads
from raytpnn.validation.results import Results, fingerprint
from raytpnn.validation.splits import Scheme, make_splits
from raytpnn.validation.summary import CrossValidation
from raytpnn.validation.task import Fit, Task, permuted

__all__ = ["cases_of", "cross_validate", "validate_cases"]


@CROSS_VALIDATE.describe
def cross_validate(X: Any, y: Any, **options: Unpack[CrossValidateOptions]) -> CrossValidation:
    """Fit the model to parts of the rows, again and again, and look at the rows held out.

    Everything that is learned from data, encoding, preparation and feature weights included, is learned from
    the training part of a split. There are five folds twice, if neither `cv` nor `splits` is given. Two
    classes are split so that every part has its share of both. Where fits run does not change them.

    Parameters
    ----------
    X, y
        As for `raytpnn.sample`; X may be an Expression.
    **options
        Those of `raytpnn.options.definition.CrossValidateOptions`.

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
    asked = CROSS_VALIDATE.filled(options, "cross_validate")
    likelihood = get_family(asked["family"])
    cv, splits = asked["cv"], asked["splits"]
    scheme = Scheme.of("5x2" if cv is None and splits is None else cv, splits, asked["test_share"])
    weights = feature_weights_by_row(asked["feature_weights"])
    if weights:
        raise ValueError(weights)
    return validate_cases(
        cases_of(X, y, likelihood, asked),
        scheme,
        asked["permute"],
        asked["seed"],
        {name: value for name, value in options.items() if name in OF_VALIDATION},
        None if asked["out"] is None else Place(asked["out"]),
        ray_is_meant(asked["executor"], asked["address"]),
        asked["address"],
        make_reporter(asked["progress"]),
    )


def cases_of(X: Any, y: Any, likelihood: Family, asked: CrossValidateOptions | TuneOptions) -> Cases:
    """Rows to split, checked."""
    table = as_table(X)
    n, weight, offset = table.n_rows, asked["sample_weight"], asked["offset"]
    return Cases(
        table=table,
        y=as_response(y, likelihood, n),
        family=likelihood.name,
        weight=None if weight is None else as_weights(weight, n),
        offset=None if offset is None else as_offset(offset, n),
        preparation=asked["preparation"],
        annotation=asked["annotation"] or table.annotation,
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
    if options.get("draws") is None:
        # There are too many fits to run each until it converges.
        options = options | {"draws": CROSS_VALIDATE.options["draws"].default}
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


def tasks_of(cases: Cases, scheme: Scheme, permute: int, seed: int) -> list[Task]:
    """All fits, the response itself first."""
    stratify = get_family(cases.family).labelled
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
