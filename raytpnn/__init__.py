"""Bayesian tensor product neural networks: interpretable regression, sampled by many chains."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from raytpnn.data.tables.openers import add_converter, add_opener
from raytpnn.posterior.extensions import add_extension

__version__ = "0.1.0"

# Where a public name lives. Resolved when first used: importing the package costs next to nothing.
_HOMES = {
    "sample": "raytpnn.sampling",
    "resume": "raytpnn.sampling",
    "cross_validate": "raytpnn.validation.cross_validate",
    "status": "raytpnn.chains.run.status",
    "RunStatus": "raytpnn.chains.run.status",
    "tune": "raytpnn.tuning.tune",
    "load": "raytpnn.posterior.storage",
    "Posterior": "raytpnn.posterior.posterior",
    "Prior": "raytpnn.model.prior",
    "Moves": "raytpnn.engine.moves.options",
    "Resources": "raytpnn.chains.executors.resources",
    "RunError": "raytpnn.storage.errors",
    "ConvergenceWarning": "raytpnn.posterior.verdict",
    "Tempering": "raytpnn.engine.tempering.options",
    "read_expression": "raytpnn.expression.expression",
    "read_annotation": "raytpnn.expression.annotation",
    "prepare": "raytpnn.data.preparation",
    "write_report": "raytpnn.report.page.write",
    "write_to_anndata": "raytpnn.posterior.selection.anndata_table",
    "BayesianTPNNRegressor": "raytpnn.estimator",
    "BayesianTPNNClassifier": "raytpnn.estimator",
    "BayesianTPNNSurvival": "raytpnn.estimator",
}

__all__ = [
    "BayesianTPNNClassifier",
    "BayesianTPNNRegressor",
    "BayesianTPNNSurvival",
    "ConvergenceWarning",
    "Moves",
    "Posterior",
    "Prior",
    "Resources",
    "RunError",
    "RunStatus",
    "Tempering",
    "__version__",
    "cross_validate",
    "load",
    "prepare",
    "read_annotation",
    "read_expression",
    "resume",
    "sample",
    "status",
    "tune",
    "write_report",
    "write_to_anndata",
]

if TYPE_CHECKING:
    from pathlib import Path

    from raytpnn.chains.executors.resources import Resources
    from raytpnn.chains.run.status import RunStatus, status
    from raytpnn.data.preparation import prepare
    from raytpnn.data.tables.tables import Table
    from raytpnn.engine.moves.options import Moves
    from raytpnn.engine.tempering.options import Tempering
    from raytpnn.estimator import BayesianTPNNClassifier, BayesianTPNNRegressor, BayesianTPNNSurvival
    from raytpnn.expression.annotation import read_annotation
    from raytpnn.expression.expression import read_expression
    from raytpnn.model.prior import Prior
    from raytpnn.posterior.posterior import Posterior
    from raytpnn.posterior.selection.anndata_table import write_to_anndata
    from raytpnn.posterior.storage import load
    from raytpnn.posterior.verdict import ConvergenceWarning
    from raytpnn.report.page.write import write_report
    from raytpnn.sampling import resume, sample
    from raytpnn.storage.errors import RunError
    from raytpnn.tuning.tune import tune
    from raytpnn.validation.cross_validate import cross_validate


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _open_expression(path: Path) -> Table | None:
    """Table of a file of expression data."""
    from raytpnn.data.tables.files import is_expression_file

    if not is_expression_file(path):
        return None
    from raytpnn.expression.expression import read_expression

    return read_expression(path).as_table()


def _from_anndata(X: object) -> object | None:
    """Expression data of an AnnData object; None for anything else."""
    if not any(cls.__module__.split(".")[0] == "anndata" for cls in type(X).__mro__):
        return None
    from raytpnn.expression.anndata_files import from_anndata

    return from_anndata(X)


# A file of expression data is a table too: `data`, which stands below `expression`, learns that here.
add_opener(_open_expression)
add_converter(_from_anndata)


def _plots(post: Posterior) -> Any:
    """Plots of a posterior."""
    from raytpnn.report.plotting import Plots

    return Plots(post)


# `post.plot`: `posterior`, which stands below `report`, learns that here.
add_extension("plot", _plots)


def __dir__() -> list[str]:
    return sorted(__all__)
