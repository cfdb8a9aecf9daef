"""What `raytpnn.sample` gives back: draws, and everything a person asks of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.families.outputs import OneOutput
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.evaluate.mixture import mixture_log_density, mixture_quantiles
from raytpnn.posterior.fitted import Fitted

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.convergence.advice import Judgement
    from raytpnn.convergence.tempering import TemperingSummary
    from raytpnn.data.encoding.encoder import Encoder
    from raytpnn.draws.draws import Draws
    from raytpnn.posterior.evaluate.loo import Loo
    from raytpnn.posterior.summary import Summary

__all__ = ["Posterior"]


class Posterior(Fitted):
    """Pooled draws of all chains, with the data they were fitted to.

    Everything is on the user's scale. Wherever rows are given as `X`, that is a DataFrame, array, Arrow
    table or path with the training columns; only the columns that some draw uses are read. An `offset` is
    added to f (nothing is added when there is none, also if the model was fitted with one).

    Parameters are those of `Fitted`.
    """

    # Prediction

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """Posterior mean of the expected response, (n,).

        For bernoulli this is the probability of a 1, that is, of the larger class; for multinomial the
        probability of every class, (n, classes), in the order of `classes`.
        """
        codes, offset = self.encode_rows(X, offset)
        return self.predictor.mean(self.family, codes, offset)

    def predict_draws(self, X: Any, offset: Any = None) -> np.ndarray:
        """Mean response of every draw, (draws of all chains, n); chains one after the other.

        For multinomial the probability of every class, (draws, n, classes).
        """
        blocks = self.latent_blocks(X, offset)
        return np.concatenate([self.family.mean(f) for _, f in blocks], axis=1)

    def predict_latent(self, X: Any, offset: Any = None) -> np.ndarray:
        """Posterior mean of f, (n,): what the contributions and the intercept add up to.

        Of several outputs, records: the fields are the outputs, by name.
        """
        codes, offset = self.encode_rows(X, offset)
        if self.family.outputs is not None:
            f = self.predictor.latent_mean(codes)
            f[self.family.outputs[0]] += offset
            return f
        return self.predictor.latent_mean(codes) + offset

    def on_gpu(self) -> Posterior:
        """The same posterior, whose predictions over all draws run on a GPU.

        `predict`, `predict_draws`, `interval`, `quantile` and `log_density` then agree with those of the CPU
        to float32 accuracy. Like the CUDA backend, this has not yet been run on a GPU.

        Raises
        ------
        DeviceError
            If there is no GPU, or no CuPy; the message says what is missing.
        """
        from copy import copy

        from raytpnn.engine.gpu.device import find_devices
        from raytpnn.forward.forward_cuda import DevicePredictor

        other = copy(self)
        # In the place of the cached one.
        other.__dict__["predictor"] = DevicePredictor(self.ensemble, find_devices()[0])
        return other

    def predictive_sd(self, X: Any, offset: Any = None) -> np.ndarray:
        """Give the standard deviation of the predictive distribution of a new response, (n,).

        By the law of total variance: the mean over draws of the response's variance, and the variance over
        draws of its mean.
        """
        self.refuse_classes("a standard deviation", "predict_draws")
        parts = []
        for _, f in self.latent_blocks(X, offset):
            noise = self.family.variance(f, self.draws.nuisance[:, None])
            parts.append(np.sqrt(noise.mean(axis=0) + self.family.mean(f).var(axis=0)))
        return np.concatenate(parts)

    def quantile(self, X: Any, q: float | Sequence[float], offset: Any = None) -> np.ndarray:
        """Quantiles of the predictive distribution of a new response.

        They are those of the mixture over draws, solved for, not sampled.

        Parameters
        ----------
        X : table
        q : float or (k,)
            Between 0 and 1, both excluded.
        offset : (n,), optional

        Returns
        -------
        (n,) for one q, (n, k) for several
        """
        self.refuse_classes("quantiles", "interval")
        wanted = np.asarray(q, np.float64)
        if wanted.ndim > 1 or not np.all((wanted > 0.0) & (wanted < 1.0)):
            raise ValueError(f"q must be one or more numbers between 0 and 1, both excluded, not {q!r}")
        parts = [
            mixture_quantiles(self.family, np.atleast_1d(wanted), f, self.draws.nuisance)
            for _, f in self.latent_blocks(X, offset)
        ]
        quantiles = np.concatenate(parts)
        return quantiles[:, 0] if wanted.ndim == 0 else quantiles

    def interval(self, X: Any, level: float = CREDIBLE_LEVEL, offset: Any = None) -> np.ndarray:
        """Predictive interval of a new response with equal tails, (n, 2): lower and upper end.

        For two classes, whose response is one or the other, it is the credible interval of the probability
        of a 1; for multinomial that of every class's probability, (n, classes, 2).
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, not {level!r}")
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        if not self.family.labelled:
            return self.quantile(X, tails, offset)
        ends = [np.quantile(self.family.mean(f), tails, axis=0) for _, f in self.latent_blocks(X, offset)]
        return np.moveaxis(np.concatenate(ends, axis=1), 0, -1)

    def predict_interval(self, X: Any, level: float = CREDIBLE_LEVEL, offset: Any = None) -> np.ndarray:
        """Give the interval that `interval` gives, (n, 2)."""
        return self.interval(X, level, offset)

    def log_density(self, X: Any, y: Any, offset: Any = None) -> np.ndarray:
        """Log predictive density (or probability) of responses y, (n,): of the mixture over draws.

        y holds class labels if the model was fitted to labels.
        """
        return self.log_density_of(X, self.encode_response(y), offset)

    def log_density_of(self, X: Any, y: np.ndarray, offset: Any = None) -> np.ndarray:
        """`log_density` of responses as `encode_response` gives them."""
        codes, offset = self.encode_rows(X, offset)
        if len(y) != codes.shape[1]:
            raise ValueError(f"y has {len(y)} values but X has {codes.shape[1]} rows")
        parts = [
            mixture_log_density(self.family, y[rows], f, self.draws.nuisance)
            for rows, f in self.predictor.latent_blocks(codes, offset)
        ]
        return np.concatenate(parts)

    def predict_table(
        self,
        source: Any,
        target: str | os.PathLike[str],
        level: float | None = CREDIBLE_LEVEL,
        keep: Sequence[str] = (),
        offset: str | None = None,
        batch_rows: int = 65_536,
        executor: str = "auto",
    ) -> int:
        """Predict Parquet files larger than memory, on Ray if connected, and write mean and interval to one.

        See `raytpnn.posterior.tables.predict_table.predict_table`.
        """
        from raytpnn.posterior.tables.predict_table import predict_table

        return predict_table(self, source, target, level, keep, offset, batch_rows, executor)

    def latent_blocks(self, X: Any, offset: Any = None) -> Iterator[tuple[slice, np.ndarray]]:
        """Pairs of rows and the f of every draw there, (draws, rows), of at most 64 MB."""
        return self.predictor.latent_blocks(*self.encode_rows(X, offset))

    def refuse_classes(self, what: str, instead: str) -> None:
        """Raise ValueError if the response is one of several classes, which have no `what`."""
        if self.family.labelled and not self.family.binary:
            raise ValueError(f"classes have no {what}; post.{instead} gives their probabilities")

    def refuse_law(self, what: str) -> None:
        """Raise ValueError where the law of one function is needed."""
        if self.outputs is not None or isinstance(self.family, OneOutput):
            raise ValueError(f"{what} is for families of one output, not for {self.family.name}")

    # Components

    @property
    def outputs(self) -> tuple[str, ...] | None:
        """Names of the functions of a row, for families of several; None if there is one."""
        return self.family.outputs

    def output(self, name: str) -> Posterior:
        """One output as a posterior of its own: its components, curves, contributions and Shapley values.

        Of multinomial without what all outputs have in common: nothing is lost, probabilities do not see it.
        """
        return super().output(name)

    def by_output(self, ask: Any) -> pd.DataFrame:
        """Join what every output says in a table, with the output's name as the first column."""
        from raytpnn.posterior.one_output import joined

        return joined(self, ask)

    @property
    def intercept_mean(self) -> float:
        """Posterior mean of the intercept."""
        self.refuse_outputs("intercept_mean")
        return float(np.mean(self.draws.intercept))

    def components(self, level: float = CREDIBLE_LEVEL, by: str = "feature") -> pd.DataFrame:
        """Components by importance.

        The importance of a component in a draw is the empirical l2 norm of f_S over the training rows,
        sqrt(mean f_S^2); of more than 10,000 rows, 10,000 evenly spaced ones count. In a draw without the
        component it is 0.

        Parameters
        ----------
        level : float
            Posterior probability of the interval of the importance, with equal tails.
        by : {"feature", "column"}
            A component is about encoded features; levels of one column of text are features of their own. By
            column, components over the same input columns are added up before their size is taken.

        Returns
        -------
        DataFrame
            component (tuple of names), order, importance (posterior mean), importance_low, importance_high,
            share_of_draws (share of draws in which the component is larger than `negligible`, four standard
            errors: a draw holds many tiny terms, and that one of them is on a feature is no evidence). It is
            no error rate: `select` says which effects are real. Several outputs: by `output`.
        """
        if self.outputs is not None:
            return self.by_output(lambda post: post.components(level, by))
        from raytpnn.posterior.effects.columns import column_table
        from raytpnn.posterior.effects.components import component_table

        if by == "feature":
            return component_table(self.ensemble.components, self.norms, self.names, level)
        if by != "column":
            raise ValueError(f"components are by 'feature' or by 'column', not by {by!r}")
        return column_table(self.ensemble, self.encoder, self.norm_codes(), level, self.negligible)

    def component(
        self, features: str | int | Sequence[str | int], grid: Any = None, level: float = CREDIBLE_LEVEL
    ) -> pd.DataFrame:
        """One component as a function of its features, with pointwise and simultaneous bands.

        See `raytpnn.posterior.effects.curves.component_curve`.
        """
        if self.outputs is not None:
            return self.by_output(lambda post: post.component(features, grid, level))
        from raytpnn.posterior.effects.curves import component_curve

        return component_curve(self.predictor, self.encoder, self.bins, features, grid, level)

    def contributions(self, X: Any, top: int | None = None) -> pd.DataFrame:
        """Posterior mean of every component at every row, the most important first.

        Rows add up, with `intercept_mean` (and the offset), to `predict_latent`; a component with a missing
        feature is 0. With `top`, all but that many components are added up in a last column "(rest)".
        """
        if self.outputs is not None:
            return self.by_output(lambda post: post.contributions(X, top))
        from raytpnn.posterior.effects.components import contributions

        codes, _ = self.encode_rows(X, None)
        return contributions(self.predictor, self.norms, codes, self.names, top)

    def shapley(
        self, X: Any, used_only: bool = False, level: float | None = None, by: str = "feature"
    ) -> pd.DataFrame:
        """Exact Shapley values of f, a column an encoded feature: the posterior means.

        With `by="column"`, input columns are the players of the game: an effect over levels of two columns is
        shared by these two, however many levels it holds. One column each, without intervals.

        With `used_only`, features that no draw uses, whose value is 0, are left out. With `level`, every
        feature has three columns, (feature, "mean"), (feature, "low") and (feature, "high"): the mean and the
        ends of the credible interval with equal tails.
        """
        if self.outputs is not None:
            return self.by_output(lambda post: post.shapley(X, used_only, level, by))
        from raytpnn.posterior.effects.components import shapley
        from raytpnn.posterior.effects.shapley import shapley_intervals

        codes, _ = self.encode_rows(X, None)
        if by == "column":
            from raytpnn.posterior.effects.columns import column_shapley

            if level is not None:
                raise ValueError("Shapley values by column have no intervals; leave out level, or by")
            return column_shapley(self.predictor, self.encoder, codes, used_only)
        if by != "feature":
            raise ValueError(f"Shapley values are by 'feature' or by 'column', not by {by!r}")
        if level is None:
            return shapley(self.predictor, codes, self.names, used_only)
        return shapley_intervals(self.predictor, codes, self.names, level, used_only)

    def interactions(self, level: float = CREDIBLE_LEVEL) -> pd.DataFrame:
        """Pairs of features by the strength of the components that hold both.

        See `raytpnn.posterior.effects.interactions.interaction_table`.
        """
        if self.outputs is not None:
            return self.by_output(lambda post: post.interactions(level))
        from raytpnn.posterior.effects.interactions import interaction_table

        return interaction_table(self.ensemble, self.norms, self.names, level)

    def unexplained(self, order: int = 2, top: int | None = 50) -> pd.DataFrame:
        """Sets of features by the size of their effect, what the draws leave out included.

        Ranks effects that are too weak for single draws to hold. See
        `raytpnn.posterior.effects.unexplained.unexplained_table`.
        """
        self.refuse_law("unexplained")
        from raytpnn.posterior.effects.unexplained import unexplained_table

        return unexplained_table(self, order, top)

    def select(
        self,
        fdr: float = 0.1,
        delta: float | None = None,
        level: float = CREDIBLE_LEVEL,
        max_order: int = 3,
        near: float = 0.8,
    ) -> pd.DataFrame:
        """Effects that are real, at a false discovery rate, with sizes, directions and q-values.

        See `raytpnn.posterior.selection.select.select_effects`, which says what the rate assumes.
        """
        self.refuse_law("select")
        from raytpnn.posterior.selection.select import select_effects

        return select_effects(self, fdr, delta, level, max_order, near)

    def select_genes(self, fdr: float = 0.1, stability: int = 0, **options: Any) -> pd.DataFrame:
        """Genes and pairs of genes whose effects are real: the table to publish.

        See `raytpnn.posterior.selection.gene_selection.gene_selection`.
        """
        self.refuse_law("select_genes")
        from raytpnn.posterior.selection.gene_selection import gene_selection

        return gene_selection(self, fdr, stability, **options)

    def genes(self, level: float = CREDIBLE_LEVEL) -> pd.DataFrame:
        """Genes and combinations of genes by importance, probes of one gene together.

        Warns (ConvergenceWarning) if the chains are known not to have converged. See
        `raytpnn.posterior.effects.genes.gene_table`.
        """
        if self.outputs is not None:
            return self.by_output(lambda post: post.genes(level))
        from raytpnn.posterior.effects.genes import gene_table
        from raytpnn.posterior.verdict import warn_unless_converged

        warn_unless_converged(self)
        return gene_table(self, level)

    def annotate(self, annotation: Any) -> Posterior:
        """Give the features the gene symbols of an annotation (see `raytpnn.read_annotation`) or its file."""
        from raytpnn.data.gene_symbols import Annotation
        from raytpnn.expression.annotation import read_annotation

        known = annotation if isinstance(annotation, Annotation) else read_annotation(annotation)
        return self._with(encoder=replace(self.encoder, annotation=known.about(self.encoder.input_names)))

    def to_shap(self, X: Any) -> Any:
        """Exact Shapley values by column as a `shap.Explanation`, for shap's own plots (extra `shap`).

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        from raytpnn.posterior.effects.explanations import shap_explanation

        return shap_explanation(self, X)

    def to_interpret(self, X: Any = None, y: Any = None, top: int = 20) -> Any:
        """Explanation object of interpret, for `interpret.show` and its dashboards (extra `interpret`).

        Parameters
        ----------
        X : table, optional
            Rows to explain; without them the model is explained: importances, curves with pointwise bands
            and maps of pairs.
        y : (n,), optional
            Responses to X.
        top : int
            Effects that are shown; those of more than two features only at rows.

        Raises
        ------
        ImportError
            If interpret is not installed.
        """
        from raytpnn.posterior.effects.explanations import interpret_explanation

        return interpret_explanation(self, X, y, top)

    # What people look at

    @property
    def plot(self) -> Any:
        """Plots: `post.plot.effect("bmi")`, `post.plot.importance()`; see `raytpnn.report.plotting.Plots`."""
        from raytpnn.posterior.extensions import extension

        return extension("plot", self)

    def summary(self, top: int = 10) -> Summary:
        """Say in a few lines what was fitted, whether the chains agree, and which effects lead.

        Parameters
        ----------
        top : int
            Effects that are listed.
        """
        from raytpnn.posterior.summary import summary_of

        return summary_of(self, top)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    # The draws themselves

    def diagnostics(self) -> pd.DataFrame:
        """R-hat and effective sample sizes.

        Of the log-likelihood, K, the nuisance parameter, the intercept, the mean order of terms, the learned
        scales, f at up to 64 evenly spaced training rows ("f[row]", without offset), and of up to 10 features
        ("importance[a]") and components ("component[a x b]") that lead: those whose mean
        importance, here over the same rows, is at least a twentieth of the total. The table is made once,
        when a run ends, and kept with it. See `raytpnn.convergence.diagnostics.convergence_table`.
        """
        from raytpnn.posterior.verdict import diagnostics_of

        return diagnostics_of(self)

    def verdict(self) -> Judgement:
        """Say whether the chains have converged, by `diagnostics`, and what to do if not.

        Returns
        -------
        Judgement
            `converged`, `headline`, `advice`; `rhat` (the worst of what decides), `quantity` (what has it),
            `ess` (the least); `odd`, chains unlike the others.
        """
        from raytpnn.posterior.verdict import verdict_of

        return verdict_of(self)

    def tempering(self) -> TemperingSummary:
        """Swaps, travels and log evidence of a fit with `tempering=`."""
        from raytpnn.convergence.tempering import TemperingSummary

        return TemperingSummary.of(self.config)

    def scalars(self) -> pd.DataFrame:
        """Table with one row per draw: chain, draw, K, loglik, intercept, nuisance, b_gamma, sigma_beta2."""
        from raytpnn.draws.frames import scalar_table

        return scalar_table(self.draws, self.outputs)

    def terms(self) -> pd.DataFrame:
        """Table with one row per term: chain, draw, features (tuple of names), b and gamma (lists), beta."""
        from raytpnn.draws.frames import term_table

        return term_table(self.draws, self.names, self.outputs)

    def thin(self, most: int) -> Posterior:
        """Posterior of at most `most` draws (at least one per chain), evenly spaced in every chain."""
        if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
            raise ValueError(f"most must be a number of draws, 1 or more, not {most!r}")
        return self._with(draws=self.draws.evenly_spaced(int(most)))

    def _with(self, draws: Draws | None = None, encoder: Encoder | None = None) -> Posterior:
        """Copy with other draws or another encoder."""
        return type(self)(
            draws or self.draws,
            encoder or self.encoder,
            self.bins,
            self.family,
            self.y,
            self.weight,
            self.offset,
            self.classes,
            # What was found of other draws, or under other names, does not hold for these.
            {name: value for name, value in self.config.items() if name != "diagnostics"},
        )

    def predictive_check(
        self, draws: int = 1000, level: float = CREDIBLE_LEVEL, seed: int = 0
    ) -> pd.DataFrame:
        """Compare the training response with responses simulated from the posterior.

        See `raytpnn.posterior.evaluate.predictive_check.predictive_check`.
        """
        from raytpnn.posterior.evaluate.predictive_check import predictive_check

        return predictive_check(self, draws, level, seed)

    def loo(self, max_rows: int | None = None) -> Loo:
        """Leave-one-out predictive density by Pareto-smoothed importance sampling.

        See `raytpnn.posterior.evaluate.loo.psis_loo`.
        """
        from raytpnn.posterior.evaluate.loo import psis_loo

        return psis_loo(self, max_rows)

    def to_arviz(self, probe_rows: int = 64, max_rows: int = 2000, seed: int = 0) -> Any:
        """Draws for ArviZ: a DataTree (ArviZ 1 and later) or InferenceData (before).

        See `raytpnn.posterior.arviz_groups.to_arviz`.
        """
        from raytpnn.posterior.arviz_groups import to_arviz

        return to_arviz(self, probe_rows, max_rows, seed)

    def save(self, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write everything to a folder; `raytpnn.load` reads it. See `raytpnn.posterior.storage`."""
        from raytpnn.posterior.storage import save

        save(self, folder, overwrite)
