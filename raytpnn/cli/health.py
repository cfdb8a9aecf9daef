"""How the chains of a run fare: read from checkpoints, whatever became of it, or a saved posterior."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.chains.conduct import journal_of
from raytpnn.chains.monitor import LEAST_ESS_A_CHAIN, Convergence, Monitor
from raytpnn.chains.run import Run
from raytpnn.posterior.advice import Evidence, Judgement, convergence_of, judge
from raytpnn.posterior.subset_words import subsets_in_words
from raytpnn.storage.checkpoint import draws_name
from raytpnn.storage.manifest import read_manifest
from raytpnn.storage.place import Place

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.chains.watch import Watched

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
    subsets : str
        What it did with subsets of the rows; empty if nothing.
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
    subsets: str = ""

    @property
    def converged(self) -> bool:
        """Whether the targets are met; without targets, whether the usual limits are."""
        return self.judgement.state == "yes"


def examine(run: str, target_rhat: float | None = None, target_ess: float | None = None) -> Health:
    """Look at a run: finished, stopped, under way or killed.

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
    table = convergence_of(evidence)
    reached = None
    if target_rhat is not None or target_ess is not None:
        names = table["quantity"].tolist()
        rhat, bulk, tail = (
            dict(zip(names, table[column].tolist(), strict=True))
            for column in ("rhat", "ess_bulk", "ess_tail")
        )
        convergence = Convergence(evidence.draws, rhat, bulk, tail)
        reached = convergence.reached(target_rhat, target_ess, len(evidence.chains))
    return Health(
        state=manifest.get("state", "saved"),
        blocks=blocks,
        planned=planned,
        judgement=judge(
            evidence, table, reached, target_rhat, target_ess, LEAST_ESS_A_CHAIN * len(evidence.chains)
        ),
        table=table,
        chains=chains,
        draws=evidence.draws,
        target_rhat=target_rhat,
        target_ess=target_ess,
        problems=problems,
        subsets=subsets_in_words(evidence.config),
    )


Looked = tuple[Evidence, list[ChainSummary], list[str], tuple[int, int]]


def of_run(place: Place, manifest: dict[str, Any], run: str) -> Looked:
    """Look at checkpoints. What is compared is what the coordinator compares while chains run."""
    from raytpnn.posterior.norms import evenly_spaced
    from raytpnn.posterior.posterior import PROBE_ROWS
    from raytpnn.posterior.storage import read_encoder

    opened = Run(place, manifest)
    journal, problems = journal_of(opened)
    ended = manifest["state"] != "running"
    watched: list[list[Watched]] = []
    summaries = []
    for chain, reports in enumerate(journal.reports):
        parts = [
            report.watched
            for block, report in sorted(reports.items())
            # Of a run that a target ended, later blocks do not count.
            if report.watched is not None and (not ended or draws_name(chain, block) in manifest["files"])
        ]
        watched.append(parts)
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
    rounds = min((len(watched[chain]) for chain in active), default=0)
    rows = evenly_spaced(manifest["n_rows"], PROBE_ROWS)
    monitor = Monitor(len(active), read_encoder(place, manifest["files"]).labels, rows)
    per_chain = [watched[chain][:rounds] for chain in active]
    planned = len(opened.length.blocks()) * opened.length.chains
    blocks = sum(len(reports) for reports in journal.reports)
    last_reports = [journal.reports[chain][max(journal.reports[chain])] for chain in active]
    evidence = Evidence(
        quantities=monitor.quantities(per_chain) if per_chain else {},
        chains=tuple(active),
        acceptance=tuple(report.acceptance for report in last_reports),
        run=shlex.quote(str(place) if "://" in run else run),
        unfinished=blocks < planned and manifest["config"].get("stopped") != "target",
        config=manifest["config"],
    )
    return evidence, summaries, problems, (blocks, planned)


def of_posterior(run: str) -> Looked:
    """Look at a posterior that was saved without its chains' states."""
    from raytpnn.posterior.diagnostics import by_chain, feature_importance, scalar_quantities
    from raytpnn.posterior.norms import evenly_spaced
    from raytpnn.posterior.posterior import LEADING_FEATURES, PROBE_ROWS
    from raytpnn.posterior.storage import load

    post = load(run)
    rows = evenly_spaced(post.bins.n_rows, PROBE_ROWS)
    f = post.predictor.latent(
        np.array(post.bins.codes[post.ensemble.used[:, None], rows]), np.zeros(len(rows))
    )
    flat = scalar_quantities(post.draws, post.family)
    flat |= {f"f[{row}]": f[:, i] for i, row in enumerate(rows)}
    flat |= feature_importance(post.ensemble, post.norms, post.names, LEADING_FEATURES)
    quantities = {name: by_chain(post.draws, values) for name, values in flat.items()}
    numbers, lengths = np.unique(post.draws.chain, return_counts=True)
    acceptance = tuple(post.config.get("acceptance", []))
    evidence = Evidence(
        quantities=quantities,
        chains=tuple(int(number) for number in numbers),
        acceptance=acceptance,
        resumable=False,
        config=post.config,
    )
    summaries = []
    for i, (number, length) in enumerate(zip(numbers, lengths, strict=True)):
        mine = post.draws.chain == number
        summaries.append(
            ChainSummary(
                int(number),
                int(post.config.get("warmup", 0) + length * post.config.get("thin", 1)),
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
    part = f", {health.blocks} of {health.planned} blocks of sweeps done" if health.planned else ""
    return f"{words}{part}; {len(health.chains)} chains, {health.draws} draws of each compared"
