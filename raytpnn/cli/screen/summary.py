"""The end of a run on the screen: did it converge, what matters, what to do next."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from raytpnn.cli.group import CONVERGED, INTERRUPTED, NOT_CONVERGED
from raytpnn.cli.screen.text import figure, new_console, new_table, tell
from raytpnn.numerics.level import PERCENT
from raytpnn.storage.places.uris import shown

__all__ = ["components_table", "conclude"]

LEADING = 6
LONGEST_NAME = 40


def conclude(post: Any, run: str, target_rhat: float | None, target_ess: float | None) -> None:
    """Tell how a run ended, and end the program with the exit code for it."""
    from raytpnn.chains.observe.progress import duration
    from raytpnn.cli.screen.health import examine
    from raytpnn.cli.screen.judgement import tell_judgement

    console = new_console()
    seconds = duration(post.config["sampling_seconds"])
    tell(
        console,
        f"\n{post.draws.n_draws:,} draws of {post.config['chains']} chains in {seconds}{kept_words(post)}",
    )
    health = examine(run, target_rhat, target_ess, verify_draws=False)
    tell_judgement(console, health.judgement)
    tell(console)
    components_table(post, console, LEADING)
    stopped = post.config["stopped"]
    tell(console, f"\nThe run is in {run}. What next:")
    name = shlex.quote(shown(run))
    commands = {
        f"raytpnn report {name}": "one HTML page about all of it",
        f"raytpnn effects {name}": "which effects are real",
        f"raytpnn diagnose {name}": "the chains one by one",
        f"raytpnn predict {name} DATA --out FILE": "predictions with intervals",
    }
    if stopped in ("interrupt", "time limit"):
        commands = {f"raytpnn resume {name}": f"go on after the {stopped}"} | commands
    width = max(len(command) for command in commands)
    for command, what in commands.items():
        tell(console, f"  {command:{width}}  {what}")
    if stopped == "interrupt":
        raise typer.Exit(INTERRUPTED)
    aimed = health.until or target_rhat is not None or target_ess is not None
    raise typer.Exit(NOT_CONVERGED if aimed and not health.converged else CONVERGED)


def kept_words(post: Any) -> str:
    """Which sweeps the draws are, of a run until convergence; empty of others."""
    counted = post.config.get("counted")
    if not counted:
        return ""
    which = "all" if counted["thin"] == 1 else f"one in {counted['thin']}"
    return f": {which} of {counted['sweeps']:,} sweeps per chain after {counted['warmup']:,} of warm-up"


def components_table(post: Any, console: Any, most: int) -> None:
    """Print the leading effects, levels of a column together."""
    from rich.text import Text

    from raytpnn.report.names import latent_unit, percent, shorten

    components = post.components(by="column")
    tell(console, f"Leading effects of {len(components):,}")
    table = new_table("effect", "order", "importance", f"{PERCENT} interval", "in draws")
    for row in components.head(most).itertuples():
        table.add_row(
            Text(shorten(" x ".join(row.component), LONGEST_NAME)),
            str(row.order),
            figure(row.importance),
            f"{figure(row.importance_low)} to {figure(row.importance_high)}",
            percent(row.share_of_draws),
        )
    console.print(table)
    what = "importance: root mean square of the effect over the training rows, in"
    tell(console, f"{what} {latent_unit(post)}")
    tell(
        console,
        f"in draws: share of draws in which it is above {figure(post.negligible)}; which are real: `effects`",
    )
