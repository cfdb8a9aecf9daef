"""`raytpnn diagnose`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from raytpnn.cli.group import CONVERGED, NOT_CONVERGED, say
from raytpnn.cli.screen.judgement import tell_judgement
from raytpnn.cli.screen.text import figure, new_console, new_table, tell

if TYPE_CHECKING:
    from raytpnn.cli.screen.health import Health

__all__ = ["diagnose"]

WORST = 8
# Names of moves that let the table fit a terminal of 80 columns.
SHORT = {
    "birth": "new",
    "death": "end",
    "adding": "add",
    "deleting": "del",
    "changing": "chg",
    "joining": "set",
    "langevin": "step",
    "joint_beta": "beta",
    "intercept": "icp",
    "component": "cmp",
    "factor": "fac",
    "output": "out",
}
LONG = (
    "(new, end: a term added, removed; add, del, chg: a variable added, deleted, changed; "
    "set: the set of another term taken; "
    "step: Langevin; beta: all coefficients at once; icp: intercept; "
    "cmp: a variable changed in all terms of a component; fac: location and scale of a factor; "
    "out: a term moved to another output)"
)


def diagnose(
    run: Annotated[str, typer.Argument(help="Folder of a run: finished, stopped, killed or still running.")],
    target_rhat: Annotated[
        float | None, typer.Option(min=1.0, help="R-hat to ask for; that of the run if not given.")
    ] = None,
    target_ess: Annotated[
        float | None, typer.Option(min=0.0, help="Effective draws to ask for; those of the run if not given.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether the chains converged, which of them are odd, and what to do about it.

    Exit code 0 if they converged, 3 if not: by the targets; without any, by R-hat at most 1.01 and 400
    effective draws of f, the log-likelihood, the noise and the importances that lead.
    """
    from raytpnn.cli.note import noted_targets
    from raytpnn.storage.places.place import Place

    if target_rhat is None and target_ess is None:
        target_rhat, target_ess = noted_targets(Place(run))
    from raytpnn.cli.screen.health import examine

    health = examine(run, target_rhat, target_ess)
    if json:
        print_json(health)
    else:
        print_health(health)
    raise typer.Exit(CONVERGED if health.converged else NOT_CONVERGED)


def print_health(health: Health) -> None:
    """Tell a person."""
    from raytpnn.cli.screen.health import run_in_words

    console = new_console()
    tell(console, f"This is {run_in_words(health)}.")
    if health.subsets:
        tell(console, health.subsets)
    for problem in health.problems:
        say(f"warning: {problem}; `raytpnn resume` makes the block again")
    tell_judgement(console, health.judgement)
    if health.tempering:
        tell(console, "\nReplicas:")
    for sentence in health.tempering:
        tell(console, f"- {sentence}")
    if len(health.table):
        shown = min(WORST, len(health.table))
        tell(
            console, f"\nThe {shown} worst of {len(health.table)} quantities (f[row]: f at that training row)"
        )
        console.print(worst_table(health))
    tell(console, "\nChains: means over their draws, then the share of proposals accepted by move")
    console.print(chain_table(health))
    tell(console, LONG)


def worst_table(health: Health) -> Any:
    """Table of the quantities that agree least."""
    from rich.text import Text

    from raytpnn.report.names import shorten

    table = new_table("quantity", "R-hat", "ESS bulk", "ESS tail")
    for row in health.table.head(WORST).to_dict("records"):
        figures = figure(row["rhat"], 4), figure(row["ess_bulk"]), figure(row["ess_tail"])
        table.add_row(Text(shorten(row["quantity"], 40)), *figures)
    return table


def chain_table(health: Health) -> Any:
    """Table of the chains; moves that every chain always accepts are left out."""
    from raytpnn.report.names import percent

    odd = {chain.chain: chain.kind for chain in health.judgement.odd}
    rates: dict[str, list[float]] = {}
    for chain in health.chains:
        for move, share in chain.accepted.items():
            rates.setdefault(move, []).append(share)
    moves = [move for move, shares in rates.items() if min(shares) < 1.0]
    table = new_table("chain", "draws", "loglik", "K", *(SHORT.get(move, move) for move in moves))
    table.padding = (0, 1, 0, 0)  # All moves fit into 80 columns.
    for chain in health.chains:
        name = f"{chain.chain} {odd.get(chain.chain, '')}".strip()
        cells = [name, f"{chain.draws:,}", figure(chain.loglik, 5), figure(chain.terms)]
        cells += [percent(chain.accepted[move]) if move in chain.accepted else "-" for move in moves]
        table.add_row(*cells)
    return table


def print_json(health: Health) -> None:
    """Tell a program."""
    from dataclasses import asdict
    from json import dumps

    from raytpnn.storage.formats.manifest import plain

    told = {
        "state": health.state,
        "converged": health.converged,
        "verdict": health.judgement.state,
        "headline": health.judgement.headline,
        "rhat_worst": health.judgement.rhat,
        "quantity": health.judgement.quantity,
        "ess_least": health.judgement.ess,
        "target_rhat": health.target_rhat,
        "target_ess": health.target_ess,
        "blocks": health.blocks,
        "blocks_planned": health.planned,
        "draws_compared": health.draws,
        "odd_chains": [asdict(chain) for chain in health.judgement.odd],
        "advice": health.judgement.advice,
        "tempering": health.tempering,
        "quantities": health.table.to_dict("records"),
        "chains": [asdict(chain) for chain in health.chains],
        "problems": health.problems,
        "subsets": health.subsets,
    }
    print(dumps(plain(told), indent=1, allow_nan=False))
