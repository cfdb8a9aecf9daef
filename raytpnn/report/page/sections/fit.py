"""What was fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raytpnn.numerics.level import PERCENT, TAILS
from raytpnn.posterior.survival.posterior import SurvivalPosterior
from raytpnn.report import html
from raytpnn.report.names import number, percent, shorten

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["fit_section", "one_line"]

PRIOR_NAMES = {
    "K_max": "most terms (K_max)",
    "max_order": "most features in a term (max_order)",
    "C0": "price of a term (C0)",
}

ENDS = {
    "target": "when the chains agreed",
    "time limit": "at the time limit",
    "interrupt": "when it was interrupted",
}


def one_line(post: Posterior, target: str | None = None, data: str | None = None) -> str:
    """Say what was fitted to what, in a sentence."""
    chains = len(np.unique(post.draws.chain))
    return (
        f"A model of {target or 'the response'} ({post.family.name}), fitted to {post.bins.n_rows:,} rows"
        f"{f' of {data}' if data else ''} and {post.bins.n_features:,} encoded "
        f"feature{'s' if post.bins.n_features > 1 else ''}: {post.draws.n_draws:,} draws of {chains} "
        f"chain{'s' if chains > 1 else ''}."
    )


def fit_section(post: Posterior) -> str:
    """Describe data, model and run."""
    parts = [
        html.paragraph(
            "The model is a sum of effects: of single features, and of several together (interactions). "
            "Each effect averages to zero over the training data, so that the intercept is the level and "
            "each effect is a deviation from it. There is not one fitted model but many, the draws: where "
            "they differ, the data leave it open."
        ),
        html.table(["What", "Value"], [*data_rows(post), *run_rows(post)], "Data, model and run", words=True),
    ]
    if post.encoder.dropped:
        names = ", ".join(shorten(name, 40) for name in post.encoder.dropped[:10])
        more = " and others" if len(post.encoder.dropped) > 10 else ""
        parts.append(html.note(f"Columns left out because they are constant or empty: {names}{more}."))
    return html.section("fit", "What was fitted", parts)


def data_rows(post: Posterior) -> list[tuple[str, str]]:
    """Rows of the table about the data."""
    rows = [("Response", post.family.description)]
    if post.classes is not None:
        labels = [shorten(str(label), 40) for label in post.classes]
        if len(labels) == 2:
            told = f"{labels[1]} against {labels[0]}; {percent(float(np.mean(post.y)))} are {labels[1]}"
        else:
            shares = np.bincount(post.y.astype(np.int64), minlength=len(labels)) / len(post.y)
            told = ", ".join(f"{name} ({percent(p)})" for name, p in zip(labels, shares, strict=True))
        rows.append(("Classes", told))
    elif isinstance(post, SurvivalPosterior):
        events = int(np.sum(post.times > 0.0))
        rows.append(("Persons, and events", f"{len(post.times):,} and {events:,}"))
        if post.intervals is not None:
            cuts = ", ".join(number(start) for start in post.intervals.starts[1:]) or "none"
            rows.append(("Cuts between intervals of time", cuts))
    else:
        low, middle, high = np.quantile(post.y, [0.0, 0.5, 1.0])
        rows.append(("Range of the response", f"{number(low)} to {number(high)}, median {number(middle)}"))
    rows.append(("Training rows", f"{post.bins.n_rows:,}"))
    columns = len(post.encoder.input_names)
    rows.append(("Columns and encoded features", f"{columns:,} and {post.bins.n_features:,}"))
    used = post.ensemble.used
    if len(used) and post.bins.n_rows:
        # A feature at a time: the codes of a streamed table may not fit into memory.
        missing = np.mean([np.mean(post.bins.codes[j] == post.bins.missing_code) for j in used])
        rows.append(("Missing cells (features in use)", percent(float(missing))))
    if np.any(post.weight != 1.0):
        rows.append(("Row weights", f"{number(post.weight.min())} to {number(post.weight.max())}"))
    if np.any(post.offset != 0.0):
        rows.append(("Offset", f"{number(post.offset.min())} to {number(post.offset.max())}"))
    return rows


def run_rows(post: Posterior) -> list[tuple[str, str]]:
    """Rows of the table about the run."""
    config = post.config
    rows = [
        (
            "Terms in a draw",
            f"{number(float(np.mean(post.draws.K)))} on average, at most {post.draws.K.max()}",
        )
    ]
    if post.family.dispersion:
        name, values = post.family.noise(post.draws.nuisance)
        low, high = np.quantile(values, TAILS)
        rows.append((name, f"{number(low)} to {number(high)} ({PERCENT} posterior interval)"))
    counted = config.get("counted") or config
    if "sweeps" in counted:
        rows.append(("Sweeps, until the chains agreed or the limit", f"{counted['sweeps']:,} a chain"))
    if "warmup" in counted:
        rows.append(("Sweeps thrown away (warm-up)", f"{counted['warmup']:,} a chain"))
    if "thin" in counted:
        rows.append(("Sweeps a draw (thin)", f"{counted['thin']:,}"))
    for key, name in PRIOR_NAMES.items():
        if key in config.get("prior", {}):
            rows.append((f"Prior: {name}", f"{config['prior'][key]}"))
    if "seed" in config:
        rows.append(("Seed", f"{config['seed']}"))
    if "sampling_seconds" in config:
        rows.append(("Time to sample", f"{number(config['sampling_seconds'])} seconds"))
    if config.get("stopped"):
        rows.append(("Ended", ENDS.get(str(config["stopped"]), str(config["stopped"]))))
    return rows
