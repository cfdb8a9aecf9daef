"""The account of a run that is kept with it: what it was asked to be, and how it went."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from raytpnn.chains.conduct import Ways
from raytpnn.chains.coordinator import Finish, Journal
from raytpnn.chains.plan import Plan
from raytpnn.chains.tempering import Tempering
from raytpnn.posterior.tempering import TemperingReport

__all__ = ["options_of", "outcome_of"]


def options_of(
    plan: Plan,
    feature_weights: Any,
    max_bins: int,
    minibatch: int | None = None,
    delayed_acceptance: bool = False,
) -> dict[str, Any]:
    """What the run was asked to be."""
    named = feature_weights is None or isinstance(feature_weights, str)
    length = asdict(plan.length)
    return {
        "family": plan.family.name,
        "seed": plan.seed,
        **length,
        "prior": asdict(plan.prior),
        "moves": asdict(plan.moves),
        "feature_weights": feature_weights if named else "array",
        "max_bins": max_bins,
        "backend": plan.backend,
        "shards": plan.shards,
        "minibatch": minibatch,
        "delayed_acceptance": delayed_acceptance,
        "subset_rows": plan.subsets.rows,
    }


def outcome_of(plan: Plan, journal: Journal, finish: Finish, ways: Ways) -> dict[str, Any]:
    """How it went."""
    last = [reports[max(reports)] if reports else None for reports in journal.reports]
    return {
        "executor": "ray" if ways.on_ray else "threads",
        "stopped": finish.stopped,
        "target_rhat": ways.goal.rhat,
        "target_ess": ways.goal.ess,
        "converged": finish.reached,
        "sampling_seconds": finish.seconds,
        "assessing_seconds": finish.assessing,
        "acceptance": [{} if report is None else report.acceptance for report in last],
        "screening": [{} if report is None else report.screening for report in last],
        "tempering": None if plan.tempering is None else _tempered(plan.tempering, journal, finish.rounds),
    }


def _tempered(tempering: Tempering, journal: Journal, rounds: int | None) -> dict[str, Any]:
    """What the ensembles report, of the rounds that count."""
    ladders, levels = [], []
    for reports in journal.reports:
        counted = [reports[block] for block in sorted(reports) if rounds is None or block < rounds]
        if counted:
            drawn = [report.watched.levels for report in counted if report.watched is not None]
            ladders.append(counted[-1].ladder)
            levels.append(np.concatenate([np.zeros((0, tempering.replicas)), *drawn]))
    return asdict(tempering) | TemperingReport(ladders, levels).summary()
