"""The model as estimators: a regressor, a classifier, and one of times until an event."""

from __future__ import annotations

import copy
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from raytpnn.data.response import Response
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.options.definition import (
    CLASSIFIER,
    REGRESSOR,
    SAMPLE,
    SURVIVAL,
    EstimatorOptions,
    RegressorOptions,
    SurvivalOptions,
)
from raytpnn.parallel.threads import at_most, usable_cores
from raytpnn.posterior.verdict import quiet, warn_unless_converged
from raytpnn.sampling import sample
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    import os

    from raytpnn.posterior.posterior import Posterior
    from raytpnn.posterior.survival.posterior import SurvivalPosterior

__all__ = ["BayesianTPNNClassifier", "BayesianTPNNRegressor", "BayesianTPNNSurvival"]


def _prior() -> Any:
    from raytpnn.model.prior import Prior

    return Prior


def _moves() -> Any:
    from raytpnn.engine.moves.options import Moves

    return Moves


# Parameters whose fields are parameters too.
SETTINGS = {"prior": _prior, "moves": _moves}


class BayesianTPNN(BaseEstimator):
    """What the regressor and the classifier share.

    Attributes
    ----------
    posterior_ : Posterior
        The draws, with everything that can be asked of them.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : (n_features_in_,) array of str
        Their names, if X was a table with text names.
    """

    posterior_: Posterior
    out: str | os.PathLike[str] | None
    random_state: Any
    n_jobs: int | None

    def _to_show(self) -> BayesianTPNN:
        """Copy that holds no credentials of the URI it writes to."""
        if not isinstance(self.out, str):
            return self
        told = copy.copy(self)
        told.out = shown(self.out)
        return told

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return super(BayesianTPNN, self._to_show()).__repr__(N_CHAR_MAX)

    def _repr_html_inner(self) -> str:
        return super(BayesianTPNN, self._to_show())._repr_html_inner()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return super(BayesianTPNN, self._to_show())._repr_mimebundle_(**options)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with `deep`, those of the prior and the moves too: "prior__K_max"."""
        params = super().get_params(deep=False)
        if deep:
            for name, kind in SETTINGS.items():
                given = params[name] if params.get(name) is not None else kind()()
                # What is no prior is refused by `fit`, not here.
                if isinstance(given, kind()):
                    params |= {f"{name}__{part.name}": getattr(given, part.name) for part in fields(given)}
        return params

    def set_params(self, **params: Any) -> BayesianTPNN:
        """Set parameters; "prior__K_max" sets a field of the prior, so that a grid can go over it."""
        plain = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**plain)
        for name, value in params.items():
            whole, mark, part = name.partition("__")
            if not mark:
                continue
            if whole not in SETTINGS:
                raise ValueError(f"there is no parameter {name!r}; {', '.join(SETTINGS)} have parts")
            given = getattr(self, whole)
            setattr(self, whole, replace(SETTINGS[whole]()() if given is None else given, **{part: value}))
        return self

    def predict_interval(self, X: Any, level: float = CREDIBLE_LEVEL, offset: Any = None) -> np.ndarray:
        """Predictive interval of a new response with equal tails, (n, 2): lower and upper end.

        For two classes, the credible interval of the probability of the second.
        """
        rows = self._rows(X)
        with self._cores():
            return self.posterior_.interval(rows, level, offset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of every input column in the importance of the components, (n_features_in_,).

        The posterior mean importance of a component (see `Posterior.components`) is shared equally among its
        features, those of one column (levels of a category, an indicator of missing cells) are added up, and
        all is divided by the total. Columns that no draw uses have 0.
        """
        check_is_fitted(self)
        posterior = self.posterior_
        column = posterior.encoder.column
        importance = np.zeros(self.n_features_in_)
        for features, norm in zip(posterior.ensemble.components, posterior.norms.mean, strict=True):
            np.add.at(importance, column[list(features)], norm / len(features))
        total = importance.sum()
        return importance / total if total > 0.0 else importance

    def _fit(self, X: Any, y: np.ndarray | Response, family: str, sample_weight: Any, offset: Any) -> None:
        """Sample the posterior from a table and a response already checked."""
        options = {
            name: value for name, value in self.get_params(deep=False).items() if name in SAMPLE.options
        }
        options |= {"family": family, "seed": self._seed()}
        weight = None if sample_weight is None else np.asarray(sample_weight)
        if weight is not None and weight.size and not np.any(weight):
            raise ValueError(
                "Sample weights must contain at least one non-zero number; with weights of 0 alone, "
                "raytpnn.sample gives the prior"
            )
        with quiet(), self._cores():
            self.posterior_ = sample(X, y, sample_weight=weight, offset=offset, **options)
        # Seen from the line that called `fit`.
        warn_unless_converged(self.posterior_, stacklevel=3)

    def _cores(self) -> AbstractContextManager[None]:
        """Limit of the cores that are used."""
        if self.n_jobs is None:
            return nullcontext()
        if not isinstance(self.n_jobs, Integral) or self.n_jobs == 0:
            raise ValueError(f"n_jobs must be a whole number but 0, or None, got {self.n_jobs!r}")
        jobs = int(self.n_jobs)
        return at_most(jobs if jobs > 0 else max(usable_cores() + 1 + jobs, 1))

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _table(self, X: Any, reset: bool) -> Any:
        """X as `sample` takes it, after scikit-learn's checks of shape and names.

        A DataFrame keeps its dtypes: text and categories are encoded by column.
        """
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(X, pandas.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0:
                check_array(X, dtype=None, ensure_all_finite=False)
            return X
        if hasattr(X, "collect") and hasattr(X, "lazy"):
            raise TypeError("X is a lazy frame, of which nothing is read yet; give X.collect()")
        if hasattr(X, "__arrow_c_stream__"):
            # Arrow tables and Polars frames keep their names and types.
            from raytpnn.data.tables.tables import as_table

            frame = as_table(X)
            names = np.asarray(frame.names, dtype=object)
            if reset:
                self.n_features_in_, self.feature_names_in_ = len(names), names
            elif len(names) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(names)} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_}"
                )
            return frame
        table = validate_data(
            self, X, reset=reset, dtype=None, accept_sparse="csc", ensure_all_finite="allow-nan"
        )
        # Lists with text become an array of text, numbers included: those columns are then categories.
        return table.astype(object) if table.dtype.kind in "US" else table

    def _rows(self, X: Any) -> Any:
        """Check a table to predict."""
        check_is_fitted(self)
        return self._table(X, reset=False)


@REGRESSOR.describe
class BayesianTPNNRegressor(RegressorMixin, BayesianTPNN):
    """Regression by a Bayesian tensor product neural network.

    Parameters
    ----------
    **options
        Those of `raytpnn.options.definition.RegressorOptions`.

    Attributes
    ----------
    posterior_ : Posterior
    n_features_in_ : int
    feature_names_in_ : (n_features_in_,) array of str
        Only if X was a table with text names.
    """

    family: str

    @REGRESSOR.describe
    def __init__(self, **options: Unpack[RegressorOptions]):
        self.__dict__.update(REGRESSOR.given(options, "BayesianTPNNRegressor"))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> BayesianTPNNRegressor:
        """Sample the posterior.

        Parameters
        ----------
        X : (n, p) DataFrame, array or sparse matrix
            NaN is missing; text and categories are encoded by level.
        y : (n,)
            Numbers; counts for family "poisson".
        sample_weight : (n,), optional
            Weights of the rows' log-likelihoods. They do not enter the encoding of X.
        offset : (n,), optional
            Known part of f; for counts, the log of the exposure.
        """
        REGRESSOR.options["family"].check("family", self.family)
        X, y = self._table(X, reset=True), checked_response(y, "BayesianTPNNRegressor")
        self._fit(X, y, self.family, sample_weight, offset)
        return self

    def predict(
        self, X: Any, return_std: bool = False, offset: Any = None
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Posterior mean of the response.

        Parameters
        ----------
        X : (n, p) table
        return_std : bool
            Give also the standard deviation of the predictive distribution of a new response.
        offset : (n,), optional
            Added to f.

        Returns
        -------
        mean : (n,)
        std : (n,), only with return_std
        """
        rows = self._rows(X)
        with self._cores():
            mean = self.posterior_.predict(rows, offset)
            return (mean, self.posterior_.predictive_sd(rows, offset)) if return_std else mean


@CLASSIFIER.describe
class BayesianTPNNClassifier(ClassifierMixin, BayesianTPNN):
    """Classification into two or more classes by a Bayesian tensor product neural network.

    Parameters
    ----------
    **options
        Those of `raytpnn.options.definition.EstimatorOptions`.

    Attributes
    ----------
    classes_ : (k,) array
        Labels in sorted order.
    posterior_ : Posterior
    n_features_in_ : int
    feature_names_in_ : (n_features_in_,) array of str
        Only if X was a table with text names.
    """

    classes_: np.ndarray

    @CLASSIFIER.describe
    def __init__(self, **options: Unpack[EstimatorOptions]):
        self.__dict__.update(CLASSIFIER.given(options, "BayesianTPNNClassifier"))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> BayesianTPNNClassifier:
        """Sample the posterior.

        Parameters
        ----------
        X : (n, p) DataFrame, array or sparse matrix
            NaN is missing; text and categories are encoded by level.
        y : (n,)
            Labels of classes: text, numbers or truth values. Two are family bernoulli, more are multinomial.
        sample_weight : (n,), optional
            Weights of the rows' log-likelihoods. They do not enter the encoding of X.
        offset : (n,), optional
            Known part of the log odds, of two classes.
        """
        X, y = self._table(X, reset=True), checked_labels(y, "BayesianTPNNClassifier")
        classes, number = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y holds 1 class only, {classes[0]!r}; at least two classes are needed")
        # With its classes, so that a run that is kept in `out` knows them too.
        response = Response(number.astype(np.float64), tuple(classes.tolist()))
        family = "bernoulli" if len(classes) == 2 else "multinomial"
        self._fit(X, response, family, sample_weight, offset)
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any, offset: Any = None) -> np.ndarray:
        """Posterior mean of the probability of every class, (n, k), columns as in `classes_`."""
        rows = self._rows(X)
        with self._cores():
            mean = self.posterior_.predict(rows, offset)
        return mean if mean.ndim == 2 else np.column_stack([1.0 - mean, mean])

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """More probable class of every row, (n,)."""
        likeliest = np.argmax(self.predict_proba(X, offset), axis=1)
        return self.classes_[likeliest]


@SURVIVAL.describe
class BayesianTPNNSurvival(BayesianTPNN):
    """Times until an event, right-censored, by a Bayesian tensor product neural network.

    By the conventions of scikit-survival: y is a structured array, `predict` gives a risk, `score` is
    Harrell's concordance. Median times and intervals are at `posterior_.predict` and `predict_interval`.

    Parameters
    ----------
    **options
        Those of `raytpnn.options.definition.SurvivalOptions`.

    Attributes
    ----------
    posterior_ : SurvivalPosterior
    unique_times_ : (m,) array
        Times at which curves are given: those of the training data's events.
    n_features_in_ : int
    feature_names_in_ : (n_features_in_,) array of str
        Only if X was a table with text names.
    """

    family: str
    unique_times_: np.ndarray

    @SURVIVAL.describe
    def __init__(self, **options: Unpack[SurvivalOptions]):
        self.__dict__.update(SURVIVAL.given(options, "BayesianTPNNSurvival"))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> BayesianTPNNSurvival:
        """Sample the posterior.

        Parameters
        ----------
        X : (n, p) DataFrame, array or sparse matrix
            NaN is missing; text and categories are encoded by level.
        y : structured array
            As scikit-survival has it: whether the event was seen, and the time. Or two columns, time and
            event.
        sample_weight : (n,), optional
            Weights of the rows' log-likelihoods. They do not enter the encoding of X.
        offset : (n,), optional
            Known part of f: of the log hazard, for family "weibull" of the log time.
        """
        from raytpnn.data.survival import as_times

        SURVIVAL.options["family"].check("family", self.family)
        X, times = self._table(X, reset=True), as_times(y)
        self._fit(X, times, self.family, sample_weight, offset)
        self.unique_times_ = self.times_posterior.event_times
        return self

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of every input column in the importance of the components; that of time is left out."""
        check_is_fitted(self)
        posterior = self.times_posterior
        shares = np.zeros(len(posterior.encoder.input_names))
        column = posterior.encoder.column
        for features, norm in zip(posterior.ensemble.components, posterior.norms.mean, strict=True):
            np.add.at(shares, column[list(features)], norm / len(features))
        # The column of time comes last.
        shares = shares[: self.n_features_in_]
        return shares / shares.sum() if shares.sum() > 0.0 else shares

    @property
    def times_posterior(self) -> SurvivalPosterior:
        """The posterior, by its kind."""
        from raytpnn.posterior.survival.posterior import SurvivalPosterior

        assert isinstance(self.posterior_, SurvivalPosterior)
        return self.posterior_

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Risk, (n,): persons with a larger one are expected to have the event earlier."""
        rows = self._rows(X)
        with self._cores():
            return self.times_posterior.risk(rows, offset)

    def predict_survival_function(self, X: Any, return_array: bool = False, offset: Any = None) -> np.ndarray:
        """Posterior mean of P(T > t).

        Parameters
        ----------
        X : (n, p) table
        return_array : bool
            Give (n, m) probabilities at `unique_times_`, not functions.
        offset : (n,), optional

        Returns
        -------
        (n,) array of scikit-survival's StepFunction, or (n, m) array
        """
        rows = self._rows(X)
        with self._cores():
            curves = self.times_posterior.survival_curves(rows, self.unique_times_, offset)
        return curves if return_array else step_functions(self.unique_times_, curves)

    def predict_cumulative_hazard_function(
        self, X: Any, return_array: bool = False, offset: Any = None
    ) -> np.ndarray:
        """Cumulative hazard of the mean survival curve; parameters as in `predict_survival_function`."""
        curves = self.predict_survival_function(X, True, offset)
        hazard = -np.log(np.maximum(curves, np.finfo(float).tiny))
        return hazard if return_array else step_functions(self.unique_times_, hazard)

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance of the risk with what was seen."""
        from raytpnn.data.survival import as_times
        from raytpnn.posterior.evaluate.survival_scores import harrell

        return harrell(as_times(y), self.predict(X))


def step_functions(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Rows of values at times as scikit-survival's step functions."""
    try:
        from sksurv.functions import StepFunction
    except ImportError:
        raise ImportError(
            "step functions are scikit-survival's: pip install 'raytpnn[survival]', or give return_array=True"
        ) from None
    functions = np.empty(len(values), dtype=object)
    functions[:] = [StepFunction(times, row, domain=(0.0, times[-1])) for row in values]
    return functions


def checked_response(y: Any, estimator: str) -> np.ndarray:
    """Response as a column; what its values may be, `sample` decides."""
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None")
    column = column_or_1d(y, warn=True)
    assert_all_finite(column, input_name="y")
    return column


def checked_labels(y: Any, estimator: str) -> np.ndarray:
    """Labels as a column."""
    labels = checked_response(y, estimator)
    check_classification_targets(labels)
    return labels
