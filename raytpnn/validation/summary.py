"""What all fits of a cross-validation show together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.families import get_family
from raytpnn.posterior.evaluate import scores
from raytpnn.validation.splits import Scheme
from raytpnn.validation.task import CONFIDENT, Fit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CrossValidation"]

# Leading features whose overlap between fits is taken.
LEADING = 20
SIMULATIONS = 200


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """Results of `raytpnn.cross_validate`.

    Attributes
    ----------
    fits : list of Fit
        Of the response as it is, by repeat and fold.
    control : list of Fit
        Of permuted responses.
    scheme : Scheme
    family : str
    classes : tuple of two values, or None
        What 0 and 1 stand for.
    """

    fits: list[Fit]
    control: list[Fit]
    scheme: Scheme
    family: str
    classes: tuple | None = None

    def __str__(self) -> str:
        from raytpnn.validation.text import to_markdown

        return to_markdown(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        from raytpnn.validation.text import SCORE_COLUMNS, score_rows, sentences

        head = "".join(f"<th>{escape(str(name))}</th>" for name in SCORE_COLUMNS)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in score_rows(self)
        )
        told = "".join(f"<li>{escape(line)}</li>" for line in sentences(self))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><ul>{told}</ul>"

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return get_family(self.family).binary

    @property
    def leading_score(self) -> str:
        """Score that matters most for the family."""
        return get_family(self.family).scores[0]

    def predictions(self) -> pd.DataFrame:
        """Row by row: repeat, fold, row, y, mean, log_density (and crps, but for classes).

        For several classes the mean is the list of their probabilities.
        """
        import pandas as pd

        parts = []
        for fit in self.fits:
            part = {"repeat": fit.repeat, "fold": fit.fold, "row": fit.rows, "y": fit.y, "mean": fit.mean}
            part["log_density"] = fit.log_density
            if fit.crps:
                part["crps"] = fit.crps
            parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)

    def splits(self) -> pd.DataFrame:
        """Fit by fit: repeat, fold, rows held out, their scores, K, confident components, seconds."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"repeat": fit.repeat, "fold": fit.fold, "rows": len(fit.rows)}
                | self.scores_of([fit])
                | {"K": fit.terms, "confident": fit.confident, "seconds": fit.seconds}
                for fit in self.fits
            ]
        )

    def scores(self) -> pd.DataFrame:
        """Score by score: over all rows held out, pooled, and over splits.

        Returns
        -------
        DataFrame
            Index: the score. pooled; mean, sd, low and high (5% and 95% quantiles) over splits; by_chance,
            what it would be without knowledge: the mean over the permutations of the control, if there was
            one; for ece its expectation if the probabilities were right.
        """
        import pandas as pd

        pooled = self.scores_of(self.fits)
        single = pd.DataFrame([self.scores_of([fit]) for fit in self.fits])
        table = pd.DataFrame(
            {
                "pooled": pd.Series(pooled),
                "mean": single.mean(),
                "sd": single.std(ddof=1) if len(single) > 1 else np.nan,
                "low": single.quantile(0.05),
                "high": single.quantile(0.95),
            }
        )
        by_chance = pd.Series(np.nan, index=table.index)
        if self.control:
            by_chance = self.permutations().mean().reindex(table.index)
        if "ece" in table.index:
            by_chance["ece"] = self.expected_ece()
        return table.assign(by_chance=by_chance)

    def scores_of(self, fits: list[Fit]) -> dict[str, float]:
        """Scores over all rows held out by some fits."""
        y = np.concatenate([fit.y for fit in fits])
        mean = np.concatenate([fit.mean for fit in fits])
        found = {"nll": scores.nll(np.concatenate([fit.log_density for fit in fits]))}
        if self.binary:
            return (
                {"auroc": scores.auroc(y, mean)}
                | found
                | {
                    "ece": scores.ece(y, mean),
                    "error": float(np.mean((mean > 0.5) != (y == 1.0))),
                }
            )
        if get_family(self.family).censored:
            from raytpnn.posterior.evaluate.survival_scores import harrell

            return {"concordance": harrell(y, -mean)} | found
        if get_family(self.family).labelled:
            return found | scores.class_scores(y, mean)
        crps = float(np.mean(np.concatenate([fit.crps for fit in fits])))
        point = get_family(self.family).point_score(y, mean)
        return {self.leading_score: point} | found | {"crps": crps}

    def expected_ece(self) -> float:
        """Calibration error that so few rows would show if every probability were right."""
        mean = np.concatenate([fit.mean for fit in self.fits])
        mean = mean if mean.ndim == 1 else mean.max(axis=1)
        rng = np.random.default_rng(0)
        return float(np.mean([scores.ece(rng.random(len(mean)) < mean, mean) for _ in range(SIMULATIONS)]))

    def features(self) -> pd.DataFrame:
        """Features (genes, where known) by how steadily they are found.

        Returns
        -------
        DataFrame
            feature; share_of_draws (in which it is not negligible, mean over fits), share_of_draws_low and
            share_of_draws_high (least and most of any fit); confident (share of fits with more than 0.5);
            leading (share of fits in which it is among the 20 first); by_chance (mean over fits of permuted
            responses, if there are any).
        """
        import pandas as pd

        names = list(dict.fromkeys(name for fit in self.fits for name in fit.features))
        share = np.array([[fit.features.get(name, 0.0) for name in names] for fit in self.fits])
        share = share.reshape(len(self.fits), len(names))
        first = [set(list(fit.features)[:LEADING]) for fit in self.fits]
        table = pd.DataFrame(
            {
                "feature": pd.Series(names, dtype=object),
                "share_of_draws": share.mean(axis=0),
                "share_of_draws_low": share.min(axis=0, initial=1.0),
                "share_of_draws_high": share.max(axis=0, initial=0.0),
                "confident": (share > CONFIDENT).mean(axis=0),
                "leading": [np.mean([name in leaders for leaders in first]) for name in names],
            }
        )
        if self.control:
            table["by_chance"] = [
                float(np.mean([fit.features.get(name, 0.0) for fit in self.control])) for name in names
            ]
        return table.sort_values("share_of_draws", ascending=False, kind="stable", ignore_index=True)

    def overlap(self) -> float:
        """Mean over pairs of fits of the share that their 20 leading features have in common."""
        first = [set(list(fit.features)[:LEADING]) for fit in self.fits]
        pairs = [len(a & b) / max(min(len(a), len(b)), 1) for a, b in combinations(first, 2)]
        return float(np.mean(pairs)) if pairs else float("nan")

    def permutations(self) -> pd.DataFrame:
        """Permutation by permutation: pooled scores, fits, and fits with a confident component."""
        import pandas as pd

        rows = {}
        for number in sorted({fit.permutation for fit in self.control}):
            fits = [fit for fit in self.control if fit.permutation == number]
            rows[number] = self.scores_of(fits) | {
                "fits": len(fits),
                "confident_fits": sum(fit.confident > 0 for fit in fits),
            }
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index.name = "permutation"
        return table

    def p_value(self) -> float:
        """Share of permutations that score as well as the response itself, it among them; NaN without any.

        Permutations are scored on one round of folds, the response on all of them.
        """
        if not self.control:
            return float("nan")
        sign = 1.0 if self.leading_score in ("auroc", "concordance") else -1.0
        own = sign * self.scores_of(self.fits)[self.leading_score]
        others = sign * self.permutations()[self.leading_score].to_numpy()
        return float((1 + np.sum(others >= own)) / (1 + len(others)))

    def false_discovery_rate(self) -> float:
        """Share of fits to permuted responses that are sure of some component: all of these are false."""
        return float(np.mean([fit.confident > 0 for fit in self.control])) if self.control else float("nan")
