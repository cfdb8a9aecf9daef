"""The account of a run that is kept with it: what it was asked to be, and how it went."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.plan import Length, Plan
from raytpnn.chains.run.ledger import Ledger
from raytpnn.chains.run_chains import RunSetup
from raytpnn.chains.schedule.scheduler import Finish
from raytpnn.convergence.tempering import TemperingReport

__all__ = ["outcome_of", "settings_of"]


def settings_of(plan: Plan) -> dict[str, Any]:
    """Settings of the chains with every rule resolved, which is what later versions go on with."""
    return {
        "family": plan.family.name,
        **asdict(plan.length),
        "prior": asdict(plan.prior),
        "moves": asdict(plan.moves),
        "backend": plan.backend,
        "shards": plan.shards,
        "subset_rows": plan.subsets.rows,
    }


def outcome_of(plan: Plan, ledger: Ledger, finish: Finish, setup: RunSetup) -> dict[str, Any]:
    """How it went."""
    last = [reports[max(reports)] if reports else None for reports in ledger.reports]
    return {
        "executor": setup.executor,
        "stopped": finish.stopped,
        "target_rhat": setup.goal.rhat,
        "target_ess": setup.goal.ess,
        "converged": finish.reached,
        **_verdict(plan.length, finish),
        "sampling_seconds": finish.seconds,
        "assessing_seconds": finish.assessing,
        "acceptance": [{} if report is None else report.acceptance for report in last],
        "screening": [{} if report is None else report.screening for report in last],
        "tempering": None if plan.tempering is None else _tempered(plan, ledger, finish.rounds),
    }


def _verdict(length: Length, finish: Finish) -> dict[str, Any]:
    """What was found when the chains were compared for the last time, and over which sweeps."""
    verdict: dict[str, Any] = {"diagnostics": None, "counted": None}
    if finish.convergence is not None:
        verdict["diagnostics"] = finish.convergence.records()
    if length.until and finish.rounds is not None:
        verdict["counted"] = asdict(length.counted(length.sweeps_of(finish.rounds)))
    return verdict


def _levels(length: Length, report: BlockReport, rounds: int | None) -> np.ndarray:
    """Log-likelihoods of all levels at the draws of a block that count."""
    assert report.watched is not None
    levels = report.watched.levels
    if not length.until or rounds is None:
        return levels
    return levels[length.counted(length.sweeps_of(rounds)).among(length.numbers_of(report.block))]


def _tempered(plan: Plan, ledger: Ledger, rounds: int | None) -> dict[str, Any]:
    """What the ensembles report, of the rounds that count."""
    tempering, length = plan.tempering, plan.length
    assert tempering is not None
    ladders, levels = [], []
    for reports in ledger.reports:
        counted = [reports[block] for block in sorted(reports) if rounds is None or block < rounds]
        if counted:
            drawn = [_levels(length, report, rounds) for report in counted if report.watched is not None]
            ladders.append(counted[-1].ladder)
            levels.append(np.concatenate([np.zeros((0, tempering.replicas)), *drawn]))
    return asdict(tempering) | TemperingReport(ladders, levels).summary()
