"""Cross-validation as part of `raytpnn fit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from raytpnn.cli.group import say
from raytpnn.cli.inputs.options import FitFlags
from raytpnn.options.definition import OF_VALIDATION
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    from raytpnn.cli.inputs.source import Source
    from raytpnn.validation.cases import Cases
    from raytpnn.validation.splits import Scheme
    from raytpnn.validation.summary import CrossValidation

__all__ = ["check_validation", "fitted_before", "tell_validation", "validate"]

SHOWN = 10


def check_validation(options: FitFlags) -> Scheme | None:
    """How to split; None if nobody asked. What is wrong with it shows before anything is read."""
    if options["cv"] is None and options["splits"] is None:
        if options["permute"]:
            raise ValueError(
                f"--permute {options['permute']} is a control of a cross-validation: give --cv or --splits"
            )
        return None
    from raytpnn.validation.splits import Scheme

    return Scheme.of(options["cv"], options["splits"])


def fitted_before(options: FitFlags) -> bool:
    """Whether the fit is there and its cross-validation was begun: then only that is left to do."""
    from raytpnn.storage.places.place import Place
    from raytpnn.validation.results import MARK

    assert options["out"] is not None
    return Place(options["out"]).holds(MARK)


def cases_of(options: FitFlags, source: Source) -> Cases:
    """Rows to split, with all that a training part is to fit for itself."""
    from raytpnn.cli.inputs.expression import split_names
    from raytpnn.data.preparation import Prepared
    from raytpnn.validation.cases import Cases

    prepared = isinstance(source.X, Prepared)
    covariates = tuple(split_names(options["covariates"]))
    return Cases(
        table=source.X.parent if isinstance(source.X, Prepared) else source.X,
        y=source.y,
        family=source.family,
        weight=source.weight,
        offset=None if covariates else source.offset,
        preparation={
            "log2": options["log2"],
            "min_sd": options["min_sd"],
            "collapse": options["collapse"],
        }
        if prepared
        else None,
        samples=source.samples if covariates else None,
        covariates=covariates,
        annotation=source.X.annotation,
    )


def validate(options: FitFlags, source: Source, scheme: Scheme) -> CrossValidation:
    """Do the fits; finished ones are kept in the run."""
    from raytpnn.chains.executors.ray_session import ray_is_meant
    from raytpnn.chains.observe.progress import make_reporter
    from raytpnn.engine.moves.options import Moves
    from raytpnn.model.prior import Prior
    from raytpnn.storage.places.place import Place
    from raytpnn.validation.cross_validate import validate_cases

    assert options["out"] is not None
    told: Mapping[str, Any] = options
    given = {name: told[name] for name in OF_VALIDATION}
    given |= {"prior": options["prior"] or Prior(), "moves": options["moves"] or Moves()}
    control = f", and {options['permute']} with the target permuted" if options["permute"] else ""
    say(f"cross-validation: {scheme}{control}")
    return validate_cases(
        cases_of(options, source),
        scheme,
        options["permute"],
        options["seed"],
        given,
        Place(options["out"]),
        ray_is_meant(options["executor"], options["address"]),
        options["address"],
        make_reporter(True),
    )


def tell_validation(result: CrossValidation, run: str) -> None:
    """Print scores and the steadiest features."""
    from rich.text import Text

    from raytpnn.cli.screen.text import new_console, new_table, tell
    from raytpnn.report.names import shorten
    from raytpnn.validation.text import SCORE_COLUMNS, number, score_rows, sentences

    console = new_console()
    tell(console, "\nRows held out")
    table = new_table(*SCORE_COLUMNS)
    for row in score_rows(result):
        table.add_row(*row)
    console.print(table)
    for sentence in sentences(result):
        tell(console, sentence)
    tell(console)
    table = new_table("feature", "in draws, mean of fits", "least", "most", "fits above 0.5")
    for found in result.features().head(SHOWN).to_dict("records"):
        figures = [
            number(found[name]) for name in ("share_of_draws", "share_of_draws_low", "share_of_draws_high")
        ]
        table.add_row(Text(shorten(str(found["feature"]), 40)), *figures, f"{found['confident']:.0%}")
    console.print(table)
    tell(console, f"All tables are in {shown(run)}/cv (summary.md, scores.csv, features.csv, ...).")
