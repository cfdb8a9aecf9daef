"""Expression data as `fit`, `predict` and `inspect` read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.cli.group import say
from raytpnn.cli.inputs.family import guess_family
from raytpnn.cli.inputs.options import FitFlags
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from raytpnn.cli.inputs.source import Source
    from raytpnn.data.preparation import Prepared
    from raytpnn.data.response import Response
    from raytpnn.expression.expression import Expression

__all__ = ["is_expression", "prepared_by", "read_expression_source", "read_samples", "split_names"]


def is_expression(data: str, samples: str | None) -> bool:
    """Whether DATA are expression data: by the sample sheet, the ending or the content of the file."""
    from raytpnn.data.tables.files import is_expression_file

    path = Path(data)
    return path.is_file() and (samples is not None or is_expression_file(path))


def read_samples(
    data: str, samples: str | None, layer: str | None = None, orientation: str = "auto"
) -> Expression:
    """Read expression data and say what was done on the way."""
    from raytpnn.expression.expression import read_expression

    expression = read_expression(data, samples=samples, layer=layer, orientation=orientation)
    say(f"{expression.n_samples:,} samples, {expression.n_features:,} features")
    for note in expression.notes:
        say(note)
    return expression


def read_expression_source(options: FitFlags) -> Source:
    """Read expression data to fit: features prepared, the target from the sample table."""
    from raytpnn.cli.inputs.source import Source

    assert options["data"] is not None
    assert options["target"] is not None
    expression = read_samples(options["data"], options["samples"], options["layer"], options["orientation"])
    y, usable, text = expression.target(options["target"], options["positive"])
    say(f"target {text}")
    expression = expression.take(usable)
    X = prepared_by(options, expression)
    for line in X.preparation.sentences():
        say(line)
    family, reason = family_of(options, y)
    offset, adjustment = offset_of(options, expression, y, family)
    return Source(
        X=X,
        y=y,
        family=family,
        reason=reason,
        weight=None
        if options["sample_weight"] is None
        else number_column(expression, options["sample_weight"], "--sample-weight"),
        offset=offset,
        adjustment=None if adjustment is None else adjustment.as_json(),
        samples=expression.samples,
    )


def prepared_by(options: FitFlags, expression: Expression) -> Prepared:
    """Features of training samples, prepared as the options say."""
    from raytpnn.data.preparation import prepare
    from raytpnn.expression.annotation import read_annotation

    annotation = None if options["annotation"] is None else read_annotation(options["annotation"])
    if annotation is not None:
        named = sum(name in annotation.symbol for name in expression.feature_ids)
        say(f"annotation {Path(str(options['annotation'])).name}: {named:,} features have a gene symbol")
        if not named and not any(name in annotation.accession for name in expression.feature_ids):
            raise ValueError(
                f"annotation file {options['annotation']} knows none of the features, which are called "
                f"{', '.join(expression.feature_ids[:3])}, ...: it is one of another platform"
            )
    unwanted = set(options["drop"])
    absent = unwanted - set(expression.feature_ids)
    if absent:
        raise ValueError(f"{shown(str(options['data']))} has no feature {min(absent)!r} (--drop)")
    table = expression.as_table()
    if unwanted:
        table = table.select([i for i, name in enumerate(table.names) if name not in unwanted])
    return prepare(
        table,
        log2=options["log2"],
        min_sd=options["min_sd"],
        collapse=options["collapse"],
        annotation=annotation,
    )


def family_of(options: FitFlags, y: Response) -> tuple[str, str]:
    """Family of the target, and why."""
    from raytpnn.families import get_family

    if y.classes is not None:
        if options["family"] is not None and not get_family(options["family"]).binary:
            raise ValueError(
                f"target {options['target']!r} has two classes; family {options['family']} needs numbers"
            )
        return options["family"] or "bernoulli", "" if options["family"] else "it has two classes"
    family, reason = (
        (options["family"], "") if options["family"] else guess_family(y.values, str(options["target"]))
    )
    if get_family(family).binary:
        raise ValueError(
            f"target {options['target']!r} holds numbers; --positive VALUE makes two classes of them"
        )
    problem = get_family(family).problem(y.values)
    if problem:
        raise ValueError(f"target {options['target']!r} does not suit family {family!r}: {problem}")
    return family, reason


def offset_of(options: FitFlags, expression: Expression, y: Response, family: str) -> tuple[Any, Any]:
    """Offset of the samples, and the adjustment that it comes from, if it does."""
    names = split_names(options["covariates"])
    if not names:
        given = options["offset"]
        return None if given is None else number_column(expression, given, "--offset"), None
    from raytpnn.expression.adjustment import Adjustment
    from raytpnn.expression.targets import find_column

    if options["offset"] is not None:
        raise ValueError("give --offset or --covariates, not both: covariates become an offset")
    taken = find_column(expression.samples, str(options["target"]))[0]
    if taken in [find_column(expression.samples, name)[0] for name in names]:
        raise ValueError(f"--covariates: {taken!r} is the target")
    adjustment = Adjustment.fit(expression.samples, names, y.values, family)
    say(adjustment.sentence())
    return adjustment.offset(expression.samples), adjustment


def split_names(names: list[str]) -> list[str]:
    """Names given one by one or with commas between them."""
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


def number_column(expression: Expression, name: str, flag: str) -> np.ndarray:
    """Numbers of a column of the sample table."""
    from raytpnn.data.response import finite_numbers
    from raytpnn.expression.targets import cells_of, find_column

    column = find_column(expression.samples, name)[0]
    return finite_numbers(cells_of(expression.samples[column]), f"{flag} {column}", expression.n_samples)
