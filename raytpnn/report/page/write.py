"""One self-contained HTML page about a posterior."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import raytpnn
from raytpnn.families.outputs import OneOutput
from raytpnn.posterior.compared import comparison_of
from raytpnn.posterior.selection.select import FEWEST_ROWS
from raytpnn.posterior.survival.posterior import SurvivalPosterior
from raytpnn.report import html
from raytpnn.report.page.sections.answer import Answer, answers
from raytpnn.report.page.sections.convergence import convergence_section
from raytpnn.report.page.sections.effects import effects_section
from raytpnn.report.page.sections.fit import fit_section, one_line
from raytpnn.report.page.sections.importance import importance_section
from raytpnn.report.page.sections.outputs import (
    answers_of_outputs,
    classes_section,
    output_sections,
)
from raytpnn.report.page.sections.quality import quality_section
from raytpnn.report.page.sections.selected import SELECTED, selected_section
from raytpnn.report.page.sections.selection import selection_table
from raytpnn.report.page.sections.single_rows import rows_section
from raytpnn.report.page.sections.survival import assess_survival, survival_answers, survival_section
from raytpnn.report.page.sections.validation import validation_section
from raytpnn.report.quality import assess
from raytpnn.report.rows import choose_rows, pick
from raytpnn.report.verdict import verdict_of

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.posterior.posterior import Posterior
    from raytpnn.validation.summary import CrossValidation

__all__ = ["report_html", "write_report"]

# Draws behind drawings, scores and rows, evenly spaced; the tables of effects and the diagnostics are of all.
MOST_DRAWS = 1000


def write_report(
    post: Posterior,
    path: str | os.PathLike[str],
    rows: Sequence[int] | None = None,
    X: Any = None,
    y: Any = None,
    title: str | None = None,
    offset: Any = None,
    validation: CrossValidation | None = None,
    target: str | None = None,
    data: str | None = None,
    selected: pd.DataFrame | None = None,
    fdr: float | None = 0.1,
) -> Path:
    """Write one HTML page: what was fitted, did it converge, how good is it, what matters, how effects look.

    The page needs no network and no other file. Its script, which it holds itself, sorts and searches tables,
    shows values of drawings and takes rows apart.

    Parameters
    ----------
    post : Posterior
    path : path
        File to write; it is replaced if it is there.
    rows : sequence of int, optional
        Rows to explain, numbered from 0: of X if it is given, else of the training data. By default those
        with the lowest, the middle and the highest prediction; an empty list leaves the section out.
    X : table, optional
        Rows not used for fitting. With y, the scores are those on X; else they are on the training rows, each
        predicted leaving it out.
    y : (n,), optional
        Responses to X.
    title : str, optional
    offset : (n,), optional
        Of X.
    validation : CrossValidation, optional
        Results of `raytpnn.cross_validate`, for a section of their own.
    target, data : str, optional
        Names of the response and of the data; those that the fit knows if not given.
    selected : DataFrame, optional
        Effects that were selected otherwise, for the section on real effects: its columns are shown as they
        are, and `fdr` is not used.
    fdr : float, optional
        False discovery rate at which effects are selected, by `post.select_genes`; None selects none.

    Returns
    -------
    Path
        Where the page is.

    Raises
    ------
    ImportError
        If Jinja is not installed: pip install 'raytpnn[report]'.
    ValueError
        If a row does not exist, or y does not fit X.
    """
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{file} is a folder; give the name of a file, such as {file / 'report.html'}")
    text = report_html(post, rows, X, y, title, offset, validation, target, data, selected, fdr)
    beside = file.with_name(file.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)
    return file


def report_html(
    post: Posterior,
    rows: Sequence[int] | None = None,
    X: Any = None,
    y: Any = None,
    title: str | None = None,
    offset: Any = None,
    validation: CrossValidation | None = None,
    target: str | None = None,
    data: str | None = None,
    selected: pd.DataFrame | None = None,
    fdr: float | None = 0.1,
) -> str:
    """Give the page as text; parameters as in `write_report`."""
    page_template()
    # Of very many draws some are enough for drawings, scores and rows.
    few = post.thin(MOST_DRAWS) if post.draws.n_draws > MOST_DRAWS else post
    looked_at = choose_rows(few, X, y, offset)
    times = isinstance(few, SurvivalPosterior)
    if rows is not None:
        pick(looked_at, rows)
    target = target or post.config.get("target_name") or "the response"
    data = data or post.config.get("data_name")
    classes = post.family.labelled and not post.family.binary
    verdict = verdict_of(comparison_of(post), post.diagnostics())
    result = None
    if not classes and not times:
        result = assess(few, looked_at if looked_at.y is not None else choose_rows(few))
    if post.outputs is not None:
        sections = [
            *output_sections(post, few),
            classes_section(few) if result is None else quality_section(few, result),
            *([] if validation is None else [validation_section(validation)]),
            convergence_section(post, verdict),
            fit_section(post),
        ]
        return page(
            answers_of_outputs(post, result, verdict, target),
            sections,
            title,
            one_line(post, target, data),
            target,
        )
    enough = int((post.weight > 0.0).sum()) >= FEWEST_ROWS
    # The rate of false discoveries was not measured for times, or for one output of several.
    enough = enough and not times and not isinstance(post.family, OneOutput)
    effects = post.select_genes(fdr) if enough and fdr and selected is None else None
    if isinstance(few, SurvivalPosterior):
        seen = assess_survival(few, X, y, offset)
        told, quality = survival_answers(few, seen, verdict, target), survival_section(seen)
    else:
        assert result is not None
        told = answers(post, result, verdict, target, validation, effects)
        quality = quality_section(few, result)
    sections = [
        effects_section(post, few),
        *([] if selected is None else [selected_section(selected)]),
        *([] if effects is None else [html.section("selected", SELECTED, [selection_table(post, effects)])]),
        importance_section(post),
        *([rows_section(few, looked_at, rows)] if not times and (rows is None or len(rows)) else []),
        quality,
        *([] if validation is None else [validation_section(validation)]),
        convergence_section(post, verdict),
        fit_section(post),
    ]
    return page(told, sections, title, one_line(post, target, data), target)


def page(found: list[Answer], sections: list[str], title: str | None, summary: str, target: str) -> str:
    """Put answers and sections into the template."""
    template = page_template()
    folder = files("raytpnn.report.page")
    script = (folder / "page.js").read_text(encoding="utf-8")
    return template.render(
        title=title or (f"What predicts {target}" if target != "the response" else "Report of a fit"),
        style=html_safe((folder / "page.css").read_text(encoding="utf-8")),
        script=html_safe(script),
        script_hash=html_safe(
            f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
        ),
        summary=summary,
        answers=found,
        links=[link(section) for section in sections],
        sections=html_safe("\n".join(sections)),
        footer=f"Written by raytpnn {raytpnn.__version__}.",
        live=False,
    )


def page_template() -> Any:
    """Template of the page, which escapes whatever is not marked as HTML."""
    try:
        from jinja2 import Environment
    except ImportError:
        raise ImportError("the report needs Jinja; install it with: pip install 'raytpnn[report]'") from None
    environment = Environment(autoescape=True, keep_trailing_newline=True)
    environment.filters["prose"] = lambda text: html_safe(html.prose(text))
    folder = files("raytpnn.report.page")
    return environment.from_string((folder / "page.html").read_text(encoding="utf-8"))


def html_safe(text: str) -> Any:
    """Mark text as HTML that is escaped where it must be."""
    from markupsafe import Markup

    return Markup(text)


def link(section: str) -> tuple[str, str]:
    """Entry of the contents, from a section's id and heading."""
    found = re.match(r'<section id="([a-z]+)".*?<h2[^>]*>(.*?)</h2>', section, re.DOTALL)
    assert found is not None
    return found[1], html_safe(found[2])
