"""How the chains of a run fare: read from checkpoints, whatever became of it, or a saved posterior."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.chains.monitoring.monitor import Monitor
from raytpnn.chains.run.run import Run
from raytpnn.chains.run_chains import journal_of
from raytpnn.convergence.advice import Evidence, Judgement, convergence_of, judge, worst_first
from raytpnn.convergence.tempering import TemperingSummary
from raytpnn.forward.probe import probe_rows
from raytpnn.posterior.compared import evidence_of
from raytpnn.posterior.storage import load
from raytpnn.posterior.subset_words import subsets_in_words
from raytpnn.posterior.verdict import kept_table
from raytpnn.storage.formats.checkpoint import draws_name
from raytpnn.storage.formats.manifest import read_manifest
from raytpnn.storage.places.place import Place
from raytpnn.storage.places.uris import shown

if TYPE_CHECKING:
    import pandas as pd

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
    """How a run fares.

    Attributes
    ----------
    state : {"running", "stopped", "finished", "saved"}
        "running" is what a run that was killed says too.
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
        How replicas fared, in sentences; empty without any.
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


def examine(run: str, target_rhat: float | None = None, target_ess: float | None = None) -> Health:
    """Look at a run: finished, stopped, under way or killed.

    Of one that has ended, the table is that of `Posterior.diagnostics`.

    Parameters
    ----------
    run : str
        Folder or URI.
    target_rhat, target_ess : float, optional
        What is asked for.
    """
    place = Place(run)
    manifest = read_manifest(place)
    looked = of_run(place, manifest, run) if "plan" in manifest else of_posterior(run)
    evidence, chains, problems, (blocks, planned) = looked
    table = None
    if manifest.get("state") != "running" and manifest["n_draws"]:
        table = kept_table(manifest["config"])
        table = load(run).diagnostics() if table is None else table
    table = convergence_of(evidence) if table is None else worst_first(table)
    return Health(
        state=manifest.get("state", "saved"),
        blocks=blocks,
        planned=planned,
        judgement=judge(evidence, table, target_rhat, target_ess),
        table=table,
        chains=chains,
        draws=evidence.draws,
        target_rhat=target_rhat,
        target_ess=target_ess,
        problems=problems,
        tempering=TemperingSummary.of(evidence.config).sentences()
        if evidence.config.get("tempering")
        else [],
        subsets=subsets_in_words(evidence.config),
        until=manifest["config"].get("draws", 0) is None,
    )


Looked = tuple[Evidence, list[ChainSummary], list[str], tuple[int, int]]


def of_run(place: Place, manifest: dict[str, Any], run: str) -> Looked:
    """Look at checkpoints. What is compared is what the coordinator compares while chains run."""
    from raytpnn.posterior.storage import read_encoder

    opened = Run(place, manifest)
    journal, problems = journal_of(opened)
    ended = manifest["state"] != "running"
    length = opened.length
    rows = probe_rows(manifest["n_rows"])
    monitor = Monitor(length.chains, read_encoder(place, manifest["files"]).labels, rows, length)
    for chain, reports in enumerate(journal.reports):
        for block, report in reports.items():
            # Of a run that a target ended, later blocks do not count.
            if not ended or draws_name(chain, block) in manifest["files"]:
                monitor.add(chain, block, report.watched)
    rounds = journal.complete_rounds(len(length.blocks()))
    if ended and manifest.get("counted"):
        rounds = -(-manifest["counted"]["sweeps"] // length.block_sweeps)
    watched = monitor.blocks_up_to(rounds - 1 if length.until else len(length.blocks()))
    summaries = []
    for chain, (reports, parts) in enumerate(zip(journal.reports, watched, strict=True)):
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
    planned = len(opened.length.blocks()) * opened.length.chains
    blocks = sum(len(reports) for reports in journal.reports)
    last_reports = [journal.reports[chain][max(journal.reports[chain])] for chain in active]
    evidence = Evidence(
        quantities=monitor.quantities(per_chain) if per_chain else {},
        chains=tuple(active),
        acceptance=tuple(report.acceptance for report in last_reports),
        run=shlex.quote(shown(run)),
        unfinished=blocks < planned and manifest["config"].get("stopped") != "target",
        # While it runs, a run until convergence counts what it would if it ended now.
        config=manifest["config"]
        | ({"counted": asdict(length.counted(length.sweeps_of(rounds)))} if length.until else {}),
    )
    return evidence, summaries, problems, (blocks, planned)


def of_posterior(run: str) -> Looked:
    """Look at a posterior that was saved without its chains' states."""
    post = load(run)
    evidence = evidence_of(post)
    numbers, lengths = np.unique(post.draws.chain, return_counts=True)
    acceptance = evidence.acceptance
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
    return evidence, summaries, [], (0, 0)


def shares(acceptance: dict[str, Any]) -> dict[str, float]:
    """Share of proposals that were accepted, by move; moves never tried are left out."""
    return {move: taken / tried for move, (tried, taken) in acceptance.items() if tried}


def run_in_words(health: Health) -> str:
    """What became of the run."""
    words = {
        "saved": "a saved posterior",
        "finished": "a finished run",
        "stopped": "a run that was stopped",
        "running": "a run that goes on at this moment, or was killed",
    }[health.state]
    most = "at most " if health.until else ""
    part = f", {health.blocks} of {most}{health.planned} blocks of sweeps done" if health.planned else ""
    return f"{words}{part}; {len(health.chains)} chains, {health.draws} draws of each compared"
