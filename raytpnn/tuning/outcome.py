"""One step of one setting: a fold fitted and looked at, or an ensemble and its log evidence."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from raytpnn.tuning.settings import Setting
from raytpnn.validation.cases import Cases
from raytpnn.validation.task import Task

__all__ = ["DEFAULT_METRIC", "EVIDENCE", "ORIENTATION", "Outcome", "Problem", "take_step"]

EVIDENCE = "evidence"
DEFAULT_METRIC = "nll"
# Times this, less is better.
ORIENTATION = {"auroc": -1.0, EVIDENCE: -1.0}
# Replicas to begin with, how often more are taken if they are too few, and replicas per unit of the barrier.
FIRST_REPLICAS, GROWTHS, PER_BARRIER = 16, 3, 2.0


@dataclass(frozen=True)
class Outcome:
    """What a step showed.

    Attributes
    ----------
    scores : dict of str to float
        Scores of the rows held out, or the log evidence; NaN where there is none.
    error : float
        Standard error of the log evidence by its own draws; NaN of scores.
    replicas : int
        Of an ensemble; 0 of a fold.
    note : str
        What is wrong with it; empty if nothing is.
    seconds : float
    """

    scores: dict[str, float]
    error: float = math.nan
    replicas: int = 0
    note: str = ""
    seconds: float = field(default=0.0, compare=False)

    def loss(self, metric: str) -> float:
        """Score oriented so that smaller is better."""
        return ORIENTATION.get(metric, 1.0) * self.scores.get(metric, math.nan)

    def to_json(self) -> str:
        """Text that `from_json` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str | bytes) -> Outcome:
        """Read what `to_json` wrote; ValueError if it is something else."""
        try:
            return Outcome(**json.loads(text))
        except (TypeError, UnicodeDecodeError) as problem:
            raise ValueError(str(problem)) from None


@dataclass(frozen=True)
class Problem:
    """All that a step needs, the same for every setting.

    Attributes
    ----------
    cases : Cases
    tasks : list of Task
        One per step: the split of cross-validation; of an ensemble, only its seed is used.
    criterion : {"cv", "evidence"}
    options : dict
        Of `raytpnn.sample`.
    seed : int
    replicas : int or None
        Of ensembles; None lets them grow as the barrier wants.
    """

    cases: Cases
    tasks: list[Task]
    criterion: str
    options: dict[str, Any]
    seed: int
    replicas: int | None = None


def take_step(problem: Problem, setting: Setting, step: int, replicas: int = 0) -> Outcome:
    """Do one fit.

    Parameters
    ----------
    problem : Problem
    setting : Setting
    step : int
    replicas : int
        That the setting's ensemble before this had; 0 if it is the first.
    """
    own = problem.options | {"prior": setting.prior, "moves": setting.moves}
    if problem.criterion == EVIDENCE:
        return ensemble(problem, own, step, replicas)
    from raytpnn.validation.splits import Scheme
    from raytpnn.validation.summary import CrossValidation
    from raytpnn.validation.task import fit_one

    begin = time.monotonic()
    fit = fit_one(problem.cases, problem.tasks[step], own, problem.seed)
    scores = CrossValidation([fit], [], Scheme(2, 1), problem.cases.family).scores_of([fit])
    return Outcome(scores, seconds=time.monotonic() - begin)


def ensemble(problem: Problem, options: dict[str, Any], step: int, replicas: int) -> Outcome:
    """Log evidence by one ensemble on all rows, of enough replicas."""
    from raytpnn.engine.ladder_records import MOST_LEVELS
    from raytpnn.engine.tempering.options import Tempering
    from raytpnn.posterior.verdict import quiet
    from raytpnn.sampling import sample

    begin = time.monotonic()
    cases, fixed = problem.cases, problem.replicas is not None
    count = problem.replicas or replicas or FIRST_REPLICAS
    rows = np.arange(cases.table.n_rows)
    for _ in range(GROWTHS):
        tempering = Tempering(replicas=count, t_min=0.0)
        own = options | {"chains": 1, "tempering": tempering, "seed": problem.tasks[step].seed}
        with quiet():
            post = sample(**cases.training(rows, cases.y.values), executor="threads", **own)
        if post.config["stopped"] == "interrupt":
            raise KeyboardInterrupt
        tempered = post.tempering()
        barrier = float(tempered.ensembles["barrier"].iloc[0])
        enough = min(math.ceil(PER_BARRIER * barrier) + 1, MOST_LEVELS) if math.isfinite(barrier) else count
        if fixed or count >= enough:
            break
        last, count = count, enough
    else:
        count = last
    found = tempered.evidence
    notes = [found.note, *tempered.ensembles["note"]]
    return Outcome(
        {EVIDENCE: found.log_evidence},
        error=found.error,
        replicas=count,
        note="; ".join(note for note in notes if note),
        seconds=time.monotonic() - begin,
    )
