"""`raytpnn.sample`: from a table and a response to a posterior."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from raytpnn.chains.plan import Plan
from raytpnn.chains.progress import make_reporter
from raytpnn.chains.threads import ThreadRun, run_in_threads
from raytpnn.data.encoder import Encoder
from raytpnn.data.feature_weights import resolve_feature_weights
from raytpnn.data.response import as_offset, as_response, as_weights
from raytpnn.engine.execution import block_runner
from raytpnn.engine.layout import MOST_TERMS, MOST_VARIABLES
from raytpnn.engine.settings import Moves
from raytpnn.engine.setup import build_problem, build_settings, residual_variance, scale_response
from raytpnn.engine.warm import CompileHelper
from raytpnn.model.families import get_family
from raytpnn.model.prior import Prior
from raytpnn.posterior.draws import Draws
from raytpnn.posterior.posterior import Posterior

__all__ = ["sample"]

EXECUTORS = ("auto", "ray", "threads")
# Contract options of later versions: refused by name, never ignored.
NOT_YET = {
    "address": None,
    "tempering": None,
    "minibatch": None,
    "delayed_acceptance": False,
    "shards": 1,
    "target_rhat": None,
    "target_ess": None,
}


def sample(
    X: Any,
    y: Any,
    family: str = "gaussian",
    chains: int = 4,
    warmup: int = 1000,
    draws: int = 1000,
    thin: int = 1,
    seed: int = 0,
    prior: Prior | None = None,
    moves: Moves | None = None,
    feature_weights: Any = None,
    max_bins: int = 255,
    backend: str = "auto",
    executor: str = "auto",
    address: str | None = None,
    tempering: Any = None,
    minibatch: int | None = None,
    delayed_acceptance: bool = False,
    shards: int = 1,
    sample_weight: Any = None,
    offset: Any = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = False,
    target_rhat: float | None = None,
    target_ess: float | None = None,
    time_limit: float | None = None,
    missing_indicators: bool = False,
) -> Posterior:
    """Sample the posterior of a Bayesian tensor product neural network.

    Parameters
    ----------
    X : DataFrame, array, Arrow table or path
        Rows of features. NaN is allowed; text and categories become one feature a level.
    y : (n,)
        Response: numbers, two classes (bernoulli) or counts (poisson).
    family : {"gaussian", "bernoulli", "poisson"}
    chains, warmup, draws, thin : int
        Independent chains; sweeps thrown away at the start of each; draws kept of each; sweeps a draw.
    seed : int
        The same seed gives the same draws, whatever executes them.
    prior : Prior, optional
    moves : Moves, optional
    feature_weights : None, (p,) array, "xgboost" or "marginal"
        How often a feature is proposed; it does not change the posterior.
    max_bins : int
        Most distinct values kept of a feature, at most 65,535.
    backend : {"auto", "numba", "reference"}
        Compiled, or the slow reference with the same draws.
    executor : {"auto", "threads"}
        Chains run in threads of this process.
    sample_weight, offset : (n,), optional
        Weights of the rows' log-likelihoods; known part of f (log exposure for counts).
    out : path, optional
        Folder to save the run to.
    progress : bool
        Report to standard error while sampling.
    time_limit : float, optional
        Seconds after which sampling stops, keeping what was drawn.
    missing_indicators : bool
        Add a feature "x is missing" for every column with missing values.
    address, tempering, minibatch, delayed_acceptance, shards, target_rhat, target_ess
        Not part of this version: anything but the default is refused.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If an option, a column or a value cannot be used; the message names it.
    KeyboardInterrupt
        If interrupted before the first draw. Later, what was drawn is returned with a warning.
    """
    given = locals()
    for name, default in NOT_YET.items():
        if given[name] != default:
            raise ValueError(f"{name}={given[name]!r} is not part of this version; leave it at {default!r}")
    prior = _instance("prior", prior, Prior)
    moves = _instance("moves", moves, Moves)
    likelihood = get_family(family)
    _check_counts(chains=(chains, 1), warmup=(warmup, 0), draws=(draws, 1), thin=(thin, 1), seed=(seed, 0))
    _check_choices(prior, backend, executor, time_limit)
    if out is not None:
        from raytpnn.posterior.storage import refuse_to_replace

        refuse_to_replace(Path(out), overwrite=False)
    begin = time.monotonic()
    helper = CompileHelper()
    encoder, bins = Encoder.fit(X, max_bins=max_bins, missing_indicators=missing_indicators)
    response = as_response(y, likelihood, bins.n_rows)
    weight = as_weights(sample_weight, bins.n_rows)
    shift = as_offset(offset, bins.n_rows)
    proposal = resolve_feature_weights(
        feature_weights, bins, response.values, likelihood, encoder, sample_weight=weight
    )
    scaling, inner_y, inner_offset = scale_response(likelihood, response.values, shift)
    noise = residual_variance(bins, inner_y - inner_offset) if likelihood.has_nuisance else 1.0
    problem = build_problem(bins, inner_y, weight, inner_offset, proposal)
    settings = build_settings(problem, likelihood, prior, moves, noise)
    plan = Plan(
        problem,
        settings,
        scaling,
        likelihood,
        prior,
        moves,
        noise,
        seed,
        chains,
        warmup,
        draws,
        thin,
        backend,
    )
    encoded = time.monotonic()
    helper.finish()
    run = run_in_threads(plan, make_reporter(progress, plan.sweeps, warmup), time_limit=time_limit)
    posterior = Posterior(
        draws=_pool(run, plan),
        encoder=encoder,
        bins=bins,
        family=likelihood,
        y=response.values,
        weight=weight,
        offset=shift,
        classes=response.classes,
        config=_config(plan, run, feature_weights, max_bins, encoded - begin),
    )
    if out is not None:
        posterior.save(out)
    return posterior


def _instance(name: str, value: Any, kind: type) -> Any:
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a raytpnn.{kind.__name__}, got {type(value).__name__}: {value!r}")
    return value


def _check_counts(**counts: tuple[Any, int]) -> None:
    for name, (value, least) in counts.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")
    if counts["seed"][0] >= 2**64:
        raise ValueError(f"seed must be below 2**64, got {counts['seed'][0]}")


def _check_choices(prior: Prior, backend: str, executor: str, time_limit: float | None) -> None:
    if prior.K_max > MOST_TERMS:
        raise ValueError(f"Prior.K_max can be at most {MOST_TERMS}, got {prior.K_max}")
    if prior.max_order > MOST_VARIABLES:
        raise ValueError(f"Prior.max_order can be at most {MOST_VARIABLES}, got {prior.max_order}")
    block_runner(backend)
    if executor not in EXECUTORS:
        raise ValueError(f"unknown executor {executor!r}; choose one of {', '.join(EXECUTORS)}")
    if executor == "ray":
        raise ValueError("executor 'ray' is not part of this version; use executor='threads'")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds, got {time_limit!r}")


def _pool(run: ThreadRun, plan: Plan) -> Draws:
    """Join the draws of all chains; warn if the run ended early."""
    if not run.draws:
        if run.stopped == "interrupt":
            raise KeyboardInterrupt("interrupted before the first draw: nothing to keep")
        raise ValueError("the time limit ended the run before its first draw; give it more time")
    pooled = Draws.concatenate(run.draws)
    if run.stopped is not None:
        counts = [int(np.sum(pooled.chain == chain)) for chain in range(plan.chains)]
        warnings.warn(
            f"stopped by {run.stopped}: kept {counts} draws of {plan.draws} for each chain", stacklevel=3
        )
    return pooled


def _config(
    plan: Plan, run: ThreadRun, feature_weights: Any, max_bins: int, encode_seconds: float
) -> dict[str, Any]:
    named = feature_weights is None or isinstance(feature_weights, str)
    return {
        "family": plan.family.name,
        "chains": plan.chains,
        "warmup": plan.warmup,
        "draws": plan.draws,
        "thin": plan.thin,
        "seed": plan.seed,
        "block_sweeps": plan.block_sweeps,
        "prior": asdict(plan.prior),
        "moves": asdict(plan.moves),
        "feature_weights": feature_weights if named else "array",
        "max_bins": max_bins,
        "backend": plan.backend,
        "executor": "threads",
        "stopped": run.stopped,
        "encode_seconds": encode_seconds,
        "sampling_seconds": run.seconds,
        "acceptance": run.acceptance,
    }
