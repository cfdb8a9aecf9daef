"""The first screen: what was found, how good it is, whether to trust it, what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.posterior.evaluate import scores
from raytpnn.report.names import latent_unit, number, percent, shorten

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.posterior.posterior import Posterior
    from raytpnn.report.quality import Assessment
    from raytpnn.report.verdict import Verdict
    from raytpnn.validation.summary import CrossValidation

__all__ = ["Answer", "answers"]

# Effects that are named.
NAMED = 5


@dataclass(frozen=True)
class Answer:
    """A question with its answer in plain sentences.

    Attributes
    ----------
    question : str
    sentences : list of str
    state : str
        "yes", "nearly", "no", "unknown", or empty if nothing is judged.
    """

    question: str
    sentences: list[str]
    state: str = ""


def answers(
    post: Posterior,
    result: Assessment,
    verdict: Verdict,
    target: str,
    validation: CrossValidation | None = None,
    effects: pd.DataFrame | None = None,
) -> list[Answer]:
    """Answer the questions that a reader has first; `effects` are those selected as real."""
    good, state = how_good(post, result, target)
    return [
        Answer("What was found?", found(post, target, effects)),
        Answer("How good is it?", good, state),
        Answer("Can I trust it?", trust(result, verdict), verdict.state),
        Answer("What to do next?", next_steps(post, result, verdict, validation)),
    ]


def found(post: Posterior, target: str, effects: pd.DataFrame | None) -> list[str]:
    """Name the effects that are real, and what the largest of them does."""
    if effects is None:
        return ["Effects were not tested."]
    told = effects.attrs
    rate = f"a false discovery rate of {told['fdr']:.0%}"
    if not len(effects):
        return [f"No effect on {target} is real at {rate}, of {told['tested']:,} that were tested."]
    single = [shorten(gene, 40) for gene in effects["gene"][effects["order"] == 1]]
    together = [shorten(gene, 60) for gene in effects["gene"][effects["order"] > 1]]
    verb = "effect is" if len(effects) == 1 else "effects are"
    lines = [f"{len(effects):,} {verb} real at {rate}, of {told['tested']:,} that were tested."]
    for what, names in (("On their own", single), ("Together, beyond that", together)):
        if names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            lines.append(f"{what}: {', '.join(names[:NAMED])}{more}.")
    first = effects.iloc[int(np.argmax(effects["size"].to_numpy()))]
    lines.append(
        f"The largest, of {shorten(first['gene'], 60)}, moves {subject(post, target)} by "
        f"{number(first['size'])} {latent_unit(post)} on a typical row (90%: {number(first['size_low'])} to "
        f"{number(first['size_high'])})."
    )
    return lines


def subject(post: Posterior, target: str) -> str:
    """What effects add up to."""
    if post.family.binary:
        label = "1" if post.classes is None else str(post.classes[1])
        return f"the log odds of {shorten(label, 40)}"
    if post.family.censored:
        return f"the {latent_unit(post)} of {target}"
    return f"the log of the expected {target}" if post.family.discrete else target


def how_good(post: Posterior, result: Assessment, target: str) -> tuple[list[str], str]:
    """Give scores in sentences, beside those of a model without features."""
    whose = {
        "new": "On the rows given to this report",
        "loo": "On rows predicted as if they had been left out",
        "fit": "On the rows that it was fitted to, which flatters it",
    }[result.how]
    if post.family.binary:
        share = float(np.mean(result.y))
        wrong = float(np.mean((result.mean > 0.5) != (result.y == 1.0)))
        area = scores.auroc(result.y, result.mean)
        state = "yes" if area >= 0.75 else "nearly" if area >= 0.6 else "no"
        return [
            f"{whose} it is wrong for {percent(wrong)}; without features one would be wrong for "
            f"{percent(min(share, 1 - share))}.",
            f"Of two rows, one of each class, it ranks the right one higher in {percent(area)} of cases "
            f"(AUROC {number(area)}; 0.5 is chance).",
        ], state
    error, base = scores.rmse(result.y, result.mean), float(np.std(result.y))
    explained = 1.0 - (error / base) ** 2 if base > 0 else float("nan")
    state = "yes" if explained >= 0.3 else "nearly" if explained > 0.05 else "no"
    what = percent(explained) if explained > 0 else "none"
    return [
        f"{whose} it explains {what} of the variance of {target}.",
        f"A prediction is off by {number(error)} (root mean square error); without features by "
        f"{number(base)}.",
    ], state


def trust(result: Assessment, verdict: Verdict) -> list[str]:
    """Say whether chains agree and intervals hold."""
    lines = [verdict.headline]
    if len(np.unique(result.y)) > 2:
        lines.append(f"Its 90% predictive intervals hold {percent(result.coverage(0.9))} of the responses.")
    else:
        lines.append(
            f"Its probabilities are off by {number(scores.ece(result.y, result.mean))} on average (ECE)."
        )
    if result.unreliable > 0.05:
        lines.append(f"For {percent(result.unreliable)} of the rows the scores may be too good.")
    return lines


def next_steps(
    post: Posterior, result: Assessment, verdict: Verdict, validation: CrossValidation | None
) -> list[str]:
    """Give at most three steps, the most needed first."""
    steps = list(verdict.advice[:2]) if verdict.state != "yes" else []
    if validation is None and (result.unreliable > 0.05 or result.how == "fit" or post.bins.n_rows < 200):
        steps.append(
            "Check it on rows held out: `raytpnn fit ... --cv 5x2`, or `raytpnn.cross_validate(X, y)`."
        )
    if verdict.state == "yes":
        steps.append("Look at the effects below, and ask whether their shapes make sense.")
        steps.append(
            "Predict new rows: `raytpnn predict RUN new.csv --out predictions.csv`, or `post.predict(X_new)`."
        )
    return steps[:3]
