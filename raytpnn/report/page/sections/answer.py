"""The first screen: what was found, how good it is, whether to trust it, what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.posterior.evaluate import scores
from raytpnn.report.names import TIMES, latent_unit, number, percent, shorten

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior
    from raytpnn.report.quality import Assessment
    from raytpnn.report.verdict import Verdict
    from raytpnn.validation.summary import CrossValidation

__all__ = ["Answer", "answers"]

# Inclusion from which an effect counts as found, and how many are named.
FOUND, NAMED = 0.5, 5


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
) -> list[Answer]:
    """Answer the questions that a reader has first."""
    good, state = how_good(post, result, target)
    return [
        Answer("What was found?", found(post, target)),
        Answer("How good is it?", good, state),
        Answer("Can I trust it?", trust(result, verdict), verdict.state),
        Answer("What to do next?", next_steps(post, result, verdict, validation)),
    ]


def found(post: Posterior, target: str) -> list[str]:
    """Name what matters, and what the first of it does."""
    table = post.components(by="column")
    sure = table[table["inclusion"] >= FOUND] if len(table) else table
    columns = len(post.encoder.input_names)
    if not len(sure):
        return [
            f"No effect stands out: none of the {columns:,} columns is more likely than not to say "
            f"anything of {target}."
        ]
    single = [names[0] for names in sure["component"] if len(names) == 1]
    together = [
        TIMES.join(shorten(name, 30) for name in names) for names in sure["component"] if len(names) > 1
    ]
    named = {name for names in sure["component"] for name in names}
    verb = "matters" if len(named) == 1 else "matter"
    lines = [f"{len(named):,} of {columns:,} columns {verb} for {target} (probability above one half)."]
    if single:
        more = f" and {len(single) - NAMED} more" if len(single) > NAMED else ""
        lines.append(f"On their own: {', '.join(shorten(name, 40) for name in single[:NAMED])}{more}.")
    if together:
        more = f" and {len(together) - NAMED} more" if len(together) > NAMED else ""
        lines.append(f"Together: {', '.join(together[:NAMED])}{more}.")
    first = sure.iloc[0]
    name = TIMES.join(shorten(part, 40) for part in first["component"])
    lines.append(
        f"The largest effect, of {name}, moves {subject(post, target)} by {number(first['importance'])} "
        f"{latent_unit(post)} on a typical row (90%: {number(first['importance_low'])} to "
        f"{number(first['importance_high'])})."
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
