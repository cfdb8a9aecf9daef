"""Families of several outputs: what matters for each of them, and how it looks; scores of classes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.posterior.evaluate.loo import psis_loo
from raytpnn.posterior.evaluate.scores import class_scores
from raytpnn.report import html
from raytpnn.report.names import number, percent, shorten
from raytpnn.report.page.sections.answer import Answer, next_steps, trust
from raytpnn.report.page.sections.effects import effects_section
from raytpnn.report.page.sections.importance import importance_section

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior
    from raytpnn.report.quality import Assessment
    from raytpnn.report.verdict import Verdict

__all__ = ["answers_of_outputs", "classes_section", "output_sections"]

# Outputs that are shown; the tables of the posterior have all.
MOST = 12


def output_sections(post: Posterior, few: Posterior) -> list[str]:
    """Importance and effects of every output, in sections of their own."""
    sections = []
    for c, name in enumerate((post.outputs or ())[:MOST]):
        view, few_view = post.output(name), few.output(name)
        for section in (importance_section(view), effects_section(view, few_view)):
            sections.append(renamed(section, chr(ord("a") + c), f"output {shorten(name, 40)}"))
    return sections


def renamed(section: str, letter: str, name: str) -> str:
    """Give a section an anchor of its own, and the output in its heading."""
    anchor = re.match(r'<section id="([a-z]+)"', section)
    assert anchor is not None
    old = anchor[1]
    section = section.replace(f'"{old}"', f'"{old}{letter}"').replace(
        f'"{old}-title"', f'"{old}{letter}-title"'
    )
    # Tables find their rows by this name: each output has its own.
    section = re.sub(r'"([a-z-]+)-data"', rf'"\1-{letter}-data"', section)
    return section.replace("</h2>", f": {html.escape(name)}</h2>", 1)


def classes_section(post: Posterior) -> str:
    """Scores of the probabilities of classes, beside those of the classes' shares."""
    rows = class_rows(post)
    loo = psis_loo(post, 1000)
    text = (
        "Wrong classes and calibration are on the rows that the model was fitted to: worse on new "
        "rows. The negative log probability is of rows predicted as if they had been left out (PSIS-LOO)."
    )
    share = np.bincount(post.y.astype(np.int64), minlength=len(post.outputs or ())) / len(post.y)
    held = share[share > 0.0]
    table = [
        *rows,
        (
            "Negative log probability per row (NLL), lower is better",
            number(-float(np.mean(loo.elpd_rows))),
            number(-float(np.sum(held * np.log(held)))),
        ),
    ]
    head = ["Score", "This model", "No features"]
    return html.section(
        "quality",
        "How good is it?",
        [html.paragraph(text), html.table(head, table, "Scores, beside a model that always says the same")],
    )


def class_rows(post: Posterior) -> list[tuple[str, str, str]]:
    """Share of wrong classes and calibration error at the training rows."""
    total = np.zeros((len(post.y), len(post.outputs or ())))
    for rows, f in post.training_blocks():
        total[rows] = post.family.mean(f).mean(axis=0)
    found = class_scores(post.y, total)
    commonest = float(np.mean(post.y != np.bincount(post.y.astype(np.int64)).argmax()))
    return [
        ("Wrong classes", percent(found["error"]), percent(commonest)),
        ("Calibration error of the likeliest class (ECE)", number(found["ece"]), "–"),
    ]


def answers_of_outputs(
    post: Posterior, result: Assessment | None, verdict: Verdict, target: str
) -> list[Answer]:
    """Answer the questions that a reader has first, output by output."""
    found = []
    for name in (post.outputs or ())[:MOST]:
        table = post.output(name).components(by="column")
        first = [" × ".join(shorten(part, 30) for part in names) for names in table["component"][:3]]
        found.append(f"Output {shorten(name, 40)} of {target}: {', '.join(first) or 'no effect'}.")
    answers = [Answer("What was found?", found)]
    if result is not None:
        answers.append(Answer("Can I trust it?", trust(result, verdict), verdict.state))
        answers.append(Answer("What to do next?", next_steps(post, result, verdict, None)))
    else:
        answers.append(Answer("Can I trust it?", [verdict.headline], verdict.state))
        answers.append(Answer("What to do next?", list(verdict.advice[:2]), ""))
    return answers
