"""What there is to say about the chains of a run, whatever became of it, or of a saved posterior."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.chains.run.status import StatusReader
from raytpnn.convergence.advice import Comparison, Judgement, convergence_of, judge, worst_first
from raytpnn.convergence.tempering import TemperingSummary
from raytpnn.posterior.compared import comparison_of
from raytpnn.posterior.storage import load
from raytpnn.posterior.subset_words import subsets_in_words
from raytpnn.posterior.verdict import kept_table
from raytpnn.storage.errors import RunError
from raytpnn.storage.places.place import Place
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.posterior.posterior import Posterior

__all__ = ["ChainSummary", "Health", "examine", "run_in_words"]


@dataclass(frozen=True)
class ChainSummary:
    """One chain: its sweeps and draws, means over its draws (NaN without any), share accepted by move."""

    chain: int
    sweeps: int
    draws: int
    loglik: float
    terms: float
    accepted: dict[str, float]


@dataclass(frozen=True)
class Health:
    """What there is to say about the chains of a run.

    Attributes
    ----------
    state : str
        See `raytpnn.status`.
    blocks, planned : int
        Blocks of sweeps that are there, and that there should be; 0 for a saved posterior.
    judgement : Judgement
    table : DataFrame
        R-hat and effective numbers of draws, the worst first.
    chains : list of ChainSummary
    draws : int
        Of each chain that were compared.
    target_rhat, target_ess : float or None
        Asked for now, or when the run was made.
    problems : list of str
        Files that cannot be used.
    tempering : list of str
        What replicas did, in sentences; empty without any.
    subsets : str
        What it did with subsets of the rows; empty if nothing.
    until : bool
        Whether the run was to go on until it has converged: fewer blocks than planned are all there are then.
    """

    state: str
    blocks: int
    planned: int
    judgement: Judgement
    table: pd.DataFrame
    chains: list[ChainSummary]
    draws: int
    target_rhat: float | None
    target_ess: float | None
    problems: list[str] = field(default_factory=list)
    tempering: list[str] = field(default_factory=list)
    subsets: str = ""
    until: bool = False

    @property
    def converged(self) -> bool:
        """Whether the targets are met; without targets, whether the usual limits are."""
        return self.judgement.converged


def examine(
    run: str,
    target_rhat: float | None = None,
    target_ess: float | None = None,
    verify_draws: bool = True,
) -> Health:
    """Look at a run: finished, stopped, under way or killed.

    Of one that has ended, the table is that of `Posterior.diagnostics`.

    Parameters
    ----------
    run : str
        Folder or URI.
    target_rhat, target_ess : float, optional
        What is asked for.
    verify_draws : bool
        Read the files of draws too, to name those that are damaged.
    """
    reader = StatusReader(Place(run), every_block=True, verify_draws=verify_draws)
    status = reader.look()
    if status.state in ("preparing", "repairable"):
        raise RunError(status.problems[0] if status.problems else f"{status.owner} prepares a run in {run}")
    if reader.run is None:
        post = load(run)
        comparison, chains, config, n_draws = comparison_of(post), of_posterior(post), post.config, 1
    else:
        comparison, chains = of_run(reader, run)
        config, n_draws = reader.run.manifest["config"], reader.run.manifest["n_draws"]
    table = None
    if status.ended and n_draws:
        table = kept_table(config)
        table = load(run).diagnostics() if table is None else table
    table = convergence_of(comparison) if table is None else worst_first(table)
    return Health(
        state=status.state,
        blocks=status.blocks,
        planned=status.planned,
        judgement=judge(comparison, table, target_rhat, target_ess),
        table=table,
        chains=chains,
        draws=comparison.draws,
        target_rhat=target_rhat,
        target_ess=target_ess,
        problems=status.problems,
        tempering=TemperingSummary.of(comparison.config).sentences()
        if comparison.config.get("tempering")
        else [],
        subsets=subsets_in_words(comparison.config),
        until=config.get("draws", 0) is None,
    )


def of_run(reader: StatusReader, run: str) -> tuple[Comparison, list[ChainSummary]]:
    """Comparison from checkpoints: what is compared is what the scheduler compares while chains run."""
    assert reader.run is not None
    assert reader.monitor is not None
    manifest, length = reader.run.manifest, reader.run.length
    watched = reader.watched()
    summaries = []
    for chain, (reports, parts) in enumerate(zip(reader.reports, watched, strict=True)):
        last = reports[max(reports)] if reports else None
        joined = {
            name: np.concatenate([part.scalars[name] for part in parts] or [np.array([np.nan])])
            for name in ("loglik", "K")
        }
        summaries.append(
            ChainSummary(
                chain,
                last.sweeps if last else 0,
                sum(part.n_draws for part in parts),
                float(np.mean(joined["loglik"])),
                float(np.mean(joined["K"])),
                shares(last.acceptance if last else {}),
            )
        )
    active = [chain for chain, parts in enumerate(watched) if parts]
    common = min((len(watched[chain]) for chain in active), default=0)
    per_chain = [watched[chain][:common] for chain in active]
    blocks = sum(len(reports) for reports in reader.reports)
    last_reports = [reader.reports[chain][max(reader.reports[chain])] for chain in active]
    comparison = Comparison(
        quantities=reader.monitor.quantities(per_chain) if per_chain else {},
        chains=tuple(active),
        acceptance=tuple(report.acceptance for report in last_reports),
        run=shlex.quote(shown(run)),
        unfinished=blocks < len(length.blocks()) * length.chains
        and manifest["config"].get("stopped") != "target",
        # While it runs, a run until convergence counts what it would if it ended now.
        config=manifest["config"]
        | ({"counted": asdict(length.counted(length.sweeps_of(reader.rounds)))} if length.until else {}),
    )
    return comparison, summaries


def of_posterior(post: Posterior) -> list[ChainSummary]:
    """Chains of a posterior that was saved without their states."""
    numbers, lengths = np.unique(post.draws.chain, return_counts=True)
    acceptance = post.config.get("acceptance", [])
    summaries = []
    for i, (number, length) in enumerate(zip(numbers, lengths, strict=True)):
        mine = post.draws.chain == number
        summaries.append(
            ChainSummary(
                int(number),
                int((post.config.get("counted") or {}).get("sweeps", 0))
                or int(post.config.get("warmup", 0) + length * (post.config.get("thin") or 1)),
                int(length),
                float(post.draws.loglik[mine].mean()),
                float(post.draws.K[mine].mean()),
                shares(acceptance[i] if i < len(acceptance) else {}),
            )
        )
    return summaries


def shares(acceptance: dict[str, Any]) -> dict[str, float]:
    """Share of proposals that were accepted, by move; moves never tried are left out."""
    return {move: taken / tried for move, (tried, taken) in acceptance.items() if tried}


def run_in_words(health: Health) -> str:
    """What became of the run."""
    words = {
        "saved": "a saved posterior",
        "finished": "a finished run",
        "stopped": "a run that was stopped",
        "running": "a run that goes on at this moment",
        "silent": "a run that has finished no block for far longer than one takes",
        "dead": "a run that was killed, or ended by an error",
    }[health.state]
    most = "at most " if health.until else ""
    part = f", {health.blocks} of {most}{health.planned} blocks of sweeps done" if health.planned else ""
    return f"{words}{part}; {len(health.chains)} chains, {health.draws} draws of each compared"
