"""Do the chains meet? This package, bartz and stochtree: four chains each, one core, one run.

    python examples/benchmarks/meet.py                                  # all sets, split 0
    python examples/benchmarks/meet.py boston servo --splits 3
    python examples/benchmarks/meet.py golub --models ours --seconds 60
    python examples/benchmarks/meet.py boston --models ours-short bartz --times 5

Every model gets the same split (80/20) and four chains. "ours" samples with its defaults until it has
converged, or with --seconds for as many sweeps as fit in that time of a chain, a fifth of them warm-up. It
keeps at most 1,000 draws a chain, however many sweeps it takes, so that effective draws a second are
compared by "ours-short": 1,000 sweeps of warm-up and 1,000 draws, as the two BARTs have. These get what they
recommend: 200 trees, 1,000 sweeps of burn-in and 1,000 draws a chain for bartz, ten starts by the
grow-from-root algorithm and 1,000 draws a chain for stochtree. --times 5 makes these three five times as
long. R-hat (rank-normalised, split) and bulk ESS are those of f at the test rows: medians, and the largest
R-hat. Seconds are processor time of all four chains, warm-up included; the process keeps to one core.
Compilation is not counted: a short run comes first, for bartz one of the same shape. Real data is taken from
the folder that RAYTPNN_DATA names; sets that are not there are left out, and the table says so.
"""

from __future__ import annotations

import os

os.environ.setdefault("RAYTPNN_THREADS", "1")

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from arviz_stats.base import array_stats
from sklearn.metrics import roc_auc_score

import raytpnn

sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.paper.models.encode import to_numbers
from examples.paper.splits import split

CHAINS = 4
SWEEPS = 1000
TREES = 200
TABLES = {
    "boston": ("boston_housing.csv", ""),
    "servo": ("servo.csv", ""),
    "abalone": ("abalone.csv", ""),
    "breast": ("breast_cancer_wdbc.csv", "malignant"),
    "heloc": ("heloc.csv", "Bad"),
}
EXPRESSION = {"golub": ("golub_leukemia", "AML"), "alon": ("alon_colon", "tumour")}


@dataclass(frozen=True)
class Task:
    """Training rows, test rows and the family."""

    X: pd.DataFrame
    y: np.ndarray
    X_new: pd.DataFrame
    y_new: np.ndarray
    family: str


@dataclass(frozen=True)
class Length:
    """How long chains are.

    Attributes
    ----------
    seconds : float or None
        Of a chain of "ours"; None: until converged.
    sweeps : int
        Of all others, before and after the draws begin.
    """

    seconds: float | None = None
    sweeps: int = SWEEPS


@dataclass(frozen=True)
class Sampled:
    """What a model gave at the test rows.

    Attributes
    ----------
    f : (chains, draws, rows) float64
        Latent function.
    mean : (chains * draws, rows) float64
        Response, or the probability of class 1.
    variance : (chains * draws,) float64 or None
        Of the noise.
    seconds : float
    """

    f: np.ndarray
    mean: np.ndarray
    variance: np.ndarray | None
    seconds: float


def read(name: str, folder: Path, number: int) -> Task:
    """A data set and one of its splits."""
    if name in TABLES:
        file, positive = TABLES[name]
        data = pd.read_csv(folder / file)
        X, target = data.iloc[:, :-1], data.iloc[:, -1]
    else:
        stem, positive = EXPRESSION[name]
        X = pd.read_parquet(folder / f"{stem}_expr.parquet").set_index("feature_id").T.reset_index(drop=True)
        X.columns = [str(column) for column in X.columns]
        target = pd.read_csv(folder / f"{stem}_samples.csv")["target"]
    y = (target == positive).to_numpy(float) if positive else target.to_numpy(float)
    train, test = split(len(y), number)
    return Task(X.iloc[train], y[train], X.iloc[test], y[test], "bernoulli" if positive else "gaussian")


def ours(task: Task, seed: int, length: Length) -> Sampled:
    """This package with its defaults: until converged, or for some seconds a chain."""
    more: dict[str, int] = {}
    if length.seconds is not None:
        begin = time.process_time()
        raytpnn.sample(task.X, task.y, family=task.family, chains=1, warmup=400, draws=100)
        sweeps = int(500 * length.seconds / (time.process_time() - begin))
        thin = max(1, sweeps * 4 // 5 // SWEEPS)
        more = {"warmup": sweeps // 5, "thin": thin, "draws": sweeps * 4 // 5 // thin}
    return sample_ours(task, seed, **more)


def ours_short(task: Task, seed: int, length: Length) -> Sampled:
    """This package with its defaults, and as many sweeps as the others."""
    return sample_ours(task, seed, warmup=length.sweeps, draws=length.sweeps)


def sample_ours(task: Task, seed: int, **more: int) -> Sampled:
    """Fit with the prior and the moves of the defaults; compiled before the clock starts."""
    raytpnn.sample(task.X, task.y, family=task.family, chains=1, warmup=20, draws=20)
    begin = time.process_time()
    post = raytpnn.sample(task.X, task.y, family=task.family, chains=CHAINS, seed=seed, **more)
    spent = time.process_time() - begin
    return at_new_rows(post, task, CHAINS, spent)


def at_new_rows(post: raytpnn.Posterior, task: Task, chains: int, seconds: float) -> Sampled:
    """What a posterior gives at the test rows."""
    mean = post.predict_draws(task.X_new)
    f, variance = mean, None
    if task.family == "gaussian":
        variance = post.scalars()["nuisance"].to_numpy()
    else:
        # Probabilities that round to 0 or 1 are held at the next number within.
        inside = np.clip(mean, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
        f = np.log(inside) - np.log1p(-inside)
    return Sampled(f.reshape(chains, -1, len(task.y_new)), mean, variance, seconds)


def bartz(task: Task, seed: int, length: Length) -> Sampled:
    """Trees by bartz: all chains in one compiled loop."""
    from bartz.BART import mc_gbart
    from scipy.stats import norm

    X, X_new = (part.astype(np.float32) for part in to_numbers(task.X, task.X_new))
    binary = task.family == "bernoulli"

    def fit(seed: int):
        fitted = mc_gbart(
            X,
            task.y.astype(np.float32),
            x_test=X_new,
            type="pbart" if binary else "wbart",
            ntree=TREES,
            ndpost=CHAINS * length.sweeps,
            nskip=length.sweeps,
            keepevery=1,
            mc_cores=CHAINS,
            printevery=None,
            seed=seed,
        )
        return np.asarray(fitted.yhat_test, np.float64), fitted

    fit(seed + 1)
    begin = time.process_time()
    f, fitted = fit(seed)
    spent = time.process_time() - begin
    variance = None
    if not binary:
        # One column a chain, burn-in first.
        variance = np.asarray(fitted.sigma, np.float64)[-length.sweeps :].T.ravel() ** 2
    return Sampled(f.reshape(CHAINS, length.sweeps, -1), norm.cdf(f) if binary else f, variance, spent)


def stochtree(task: Task, seed: int, length: Length) -> Sampled:
    """Trees by stochtree: warm starts, then draws, a chain at a time."""
    from scipy.stats import norm
    from stochtree import BARTModel, OutcomeModel

    X, X_new = to_numbers(task.X, task.X_new)
    binary = task.family == "bernoulli"
    f, variance = [], []
    begin = time.process_time()
    for chain in range(CHAINS):
        general: dict[str, object] = {"random_seed": CHAINS * seed + chain + 1, "num_threads": 1}
        if binary:
            general["outcome_model"] = OutcomeModel(outcome="binary", link="probit")
        model = BARTModel()
        model.sample(
            X_train=X,
            y_train=task.y,
            num_gfr=10,
            num_burnin=0,
            num_mcmc=length.sweeps,
            general_params=general,
            mean_forest_params={"num_trees": TREES},
        )
        terms = "y_hat"
        scale = {"scale": "linear"} if binary else {}
        f.append(np.asarray(model.predict(X_new, terms=terms, **scale), np.float64).T)
        if not binary:
            variance.append(np.asarray(model.global_var_samples, np.float64))
    spent = time.process_time() - begin
    all_f = np.stack(f)
    flat = all_f.reshape(-1, all_f.shape[2])
    return Sampled(
        all_f, norm.cdf(flat) if binary else flat, None if binary else np.concatenate(variance), spent
    )


MODELS: dict[str, Callable[[Task, int, Length], Sampled]] = {
    "ours": ours,
    "ours-short": ours_short,
    "bartz": bartz,
    "stochtree": stochtree,
}


def scores(task: Task, sampled: Sampled) -> tuple[float, float]:
    """RMSE or AUROC, and the negative log predictive density."""
    mean = sampled.mean.mean(axis=0)
    if sampled.variance is None:
        p = np.clip(mean, 1e-12, 1 - 1e-12)
        nll = -np.mean(task.y_new * np.log(p) + (1 - task.y_new) * np.log1p(-p))
        return float(roc_auc_score(task.y_new, mean)), float(nll)
    variance = sampled.variance[:, None]
    density = -0.5 * np.log(2 * np.pi * variance) - 0.5 * (task.y_new - sampled.mean) ** 2 / variance
    return float(np.sqrt(np.mean((mean - task.y_new) ** 2))), -float(
        np.mean(np.logaddexp.reduce(density, axis=0) - np.log(len(density)))
    )


def latent_rhat(sampled: Sampled) -> np.ndarray:
    """R-hat (rank-normalised, split) of f at every row."""
    rows = range(sampled.f.shape[2])
    return np.array([array_stats.rhat(sampled.f[:, :, i], method="rank") for i in rows])


def measure(name: str, label: str, task: Task, number: int, length: Length) -> str:
    """One row of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampled = MODELS[label](task, number, length)
    rhat = latent_rhat(sampled)
    ess = np.median([array_stats.ess(sampled.f[:, :, i], method="bulk") for i in range(len(rhat))])
    score, nll = scores(task, sampled)
    return (
        f"| {name} | {number} | {label} | {score:.3f} | {nll:.3f} | {np.median(rhat):.3f} | {rhat.max():.3f} "
        f"| {ess:.0f} | {sampled.seconds / CHAINS:.1f} | {ess / sampled.seconds:.2f} |"
    )


def main() -> None:
    names = [*TABLES, *EXPRESSION]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", help=f"some of {', '.join(names)}; all if none is named")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="of a chain of ours, instead of until converged")
    parser.add_argument("--times", type=int, default=1, help="length of the others, in 1,000 + 1,000 sweeps")
    options = parser.parse_args()
    length = Length(options.seconds, options.times * SWEEPS)
    unknown = set(options.sets) - set(names)
    if unknown:
        parser.error(f"no data set {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    folder = Path(os.environ.get("RAYTPNN_DATA", "."))
    print("| data | split | model | RMSE or AUROC | NLL | R-hat of f: median | max ", end="")
    print("| ESS of f | s a chain | ESS a second |")
    print("|" + " --- |" * 10)
    for name in options.sets or names:
        for number in range(options.splits):
            try:
                task = read(name, folder, number)
            except FileNotFoundError as missing:
                print(f"| {name} | left out: {missing.filename} not found, set RAYTPNN_DATA |")
                break
            for label in options.models:
                print(measure(name, label, task, number, length), flush=True)


if __name__ == "__main__":
    main()
