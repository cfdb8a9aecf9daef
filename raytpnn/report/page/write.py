"""One self-contained HTML page about a posterior."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import raytpnn
from raytpnn.report import html
from raytpnn.report.page.sections.convergence import convergence_section
from raytpnn.report.page.sections.effects import effects_section
from raytpnn.report.page.sections.fit import fit_section, one_line
from raytpnn.report.page.sections.importance import importance_section
from raytpnn.report.page.sections.quality import quality_section
from raytpnn.report.page.sections.single_rows import rows_section
from raytpnn.report.page.sections.validation import validation_section
from raytpnn.report.plots.canvas import matplotlib_module
from raytpnn.report.rows import choose_rows, pick

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior
    from raytpnn.validation.summary import CrossValidation

__all__ = ["report_html", "write_report"]

TITLE = "Report of a fit"


def write_report(
    post: Posterior,
    path: str | os.PathLike[str],
    rows: Sequence[int] | None = None,
    X: Any = None,
    y: Any = None,
    title: str | None = None,
    offset: Any = None,
    validation: CrossValidation | None = None,
) -> Path:
    """Write one HTML page: what was fitted, did it converge, how good is it, what matters, how effects look.

    The page needs no network, no script and no other file.

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

    Returns
    -------
    Path
        Where the page is.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If a row does not exist, or y does not fit X.
    """
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder; give the name of a file, such as {target / 'report.html'}")
    text = report_html(post, rows, X, y, title, offset, validation)
    beside = target.with_name(target.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(target)
    return target


def report_html(
    post: Posterior,
    rows: Sequence[int] | None = None,
    X: Any = None,
    y: Any = None,
    title: str | None = None,
    offset: Any = None,
    validation: CrossValidation | None = None,
) -> str:
    """Give the page as text; parameters as in `write_report`."""
    matplotlib_module()
    looked_at = choose_rows(post, X, y, offset)
    if rows is not None:
        pick(looked_at, rows)
    scored = looked_at if looked_at.y is not None else choose_rows(post)
    sections = [
        fit_section(post),
        convergence_section(post),
        quality_section(post, scored),
        *([] if validation is None else [validation_section(validation)]),
        importance_section(post),
        effects_section(post),
    ]
    if rows is None or len(rows):
        sections.append(rows_section(post, looked_at, rows))
    folder = files("raytpnn.report.page")
    return Template((folder / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(TITLE if title is None else title),
        style=(folder / "page.css").read_text(encoding="utf-8"),
        summary=html.paragraph(one_line(post)),
        links="\n".join(link(section) for section in sections),
        sections="\n".join(sections),
        footer=escape(f"Written by raytpnn {raytpnn.__version__}."),
    )


def link(section: str) -> str:
    """Entry of the contents, from a section's id and heading."""
    found = re.match(r'<section id="([a-z]+)".*?<h2[^>]*>(.*?)</h2>', section, re.DOTALL)
    assert found is not None
    return f'<li><a href="#{found[1]}">{found[2]}</a></li>'
