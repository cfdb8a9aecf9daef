"""Four gene expression data sets: held-out AUROC and calibration beside ridge regression and XGBoost.

    RAYTPNN_DATA=folder python examples/wide_peers.py [--splits 20] [--chains 4] [--warmup 500] [--draws 500]
    RAYTPNN_DATA=folder python examples/wide_peers.py --permute 20 --only gse4107

Every method sees the same stratified 80/20 splits. Everything is fitted to the training part: encoding and
chains of raytpnn (default prior, no feature weights unless given); for ridge, standardised values (logarithms
where all values are positive) and the penalty by five-fold cross-validation of the log-likelihood within the
training part; XGBoost with 200 trees of depth 3, learning rate 0.1. With --permute, the labels are permuted
so many times, raytpnn is fitted to all rows, and components and features with an inclusion above 0.5 are
counted, all of them false.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

import raytpnn
from raytpnn.posterior.evaluate.scores import auroc, ece
from raytpnn.validation.splits import Scheme, make_splits
from raytpnn.validation.task import leading_features

POSITIVE = {"gse4107": "patient", "bladderbatch": "cancer", "golub_leukemia": "AML", "alon_colon": "tumour"}


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Values (n, p) float32 and labels (n,), 1 for the class of interest."""
    expression = raytpnn.read_expression(
        folder / f"{name}_expr.parquet", samples=folder / f"{name}_samples.csv", orientation="features"
    )
    target = expression.samples["target"].astype(str).to_numpy()
    return np.asarray(expression.values), (target == POSITIVE[name]).astype(np.float64)


def ridge(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, positive: bool) -> np.ndarray:
    """Probabilities by ridge logistic regression, solved in the space of the rows."""
    from sklearn.linear_model import LogisticRegressionCV

    X, X_new = X.astype(np.float64), X_new.astype(np.float64)
    if positive:
        X, X_new = np.log2(X), np.log2(X_new)
    mean, sd = X.mean(axis=0), X.std(axis=0)
    used = sd > 0
    X, X_new = (X[:, used] - mean[used]) / sd[used], (X_new[:, used] - mean[used]) / sd[used]
    left, size, right = np.linalg.svd(X, full_matrices=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegressionCV(
            Cs=np.logspace(-8, 1, 19), cv=5, scoring="neg_log_loss", max_iter=2000
        ).fit(left * size, y)
    return model.predict_proba(X_new @ right.T)[:, 1]


def boosted(X: np.ndarray, y: np.ndarray, X_new: np.ndarray) -> np.ndarray:
    """Probabilities by XGBoost."""
    import xgboost

    model = xgboost.XGBClassifier(n_estimators=200, max_depth=3, learning_rate=0.1, n_jobs=1)
    return model.fit(X, y).predict_proba(X_new)[:, 1]


def told(name: str, method: str, truth: list[np.ndarray], found: list[np.ndarray]) -> str:
    """One line of the table."""
    y, p = np.concatenate(truth), np.concatenate(found)
    each = [auroc(a, b) for a, b in zip(truth, found, strict=True)]
    kept = np.clip(p, 1e-6, 1 - 1e-6)
    nll = -np.mean(np.log(np.where(y == 1, kept, 1 - kept)))
    rng = np.random.default_rng(0)
    floor = np.mean([ece(rng.random(len(p)) < p, p) for _ in range(200)])
    return (
        f"| {name} | {method} | {auroc(y, p):.3f} | {np.mean(each):.3f} ({np.std(each, ddof=1):.3f}) "
        f"| {nll:.3f} | {ece(y, p):.3f} ({floor:.3f}) |"
    )


def compare(name: str, X: np.ndarray, y: np.ndarray, options: argparse.Namespace) -> list[str]:
    """All methods on the same splits."""
    splits = make_splits(Scheme(0, options.splits), y, True, options.seed)
    result = raytpnn.cross_validate(
        X,
        y,
        family="bernoulli",
        splits=options.splits,
        seed=options.seed,
        chains=options.chains,
        warmup=options.warmup,
        draws=options.draws,
        feature_weights=options.feature_weights,
        executor="threads",
        progress=True,
    )
    positive = bool(X.min() > 0) and float(np.quantile(X, 0.99)) > 100
    truth = [y[split.test] for split in splits]
    found = {
        "raytpnn": [np.array(fit.mean) for fit in result.fits],
        "ridge": [ridge(X[s.train], y[s.train], X[s.test], positive) for s in splits],
        "XGBoost": [boosted(X[s.train], y[s.train], X[s.test]) for s in splits],
    }
    print(
        f"{name}: K {np.mean([fit.terms for fit in result.fits]):.1f}, the 20 leading features of two splits "
        f"have {result.overlap():.0%} in common, components with inclusion > 0.5 a fit "
        f"{np.mean([fit.confident for fit in result.fits]):.2f}",
        flush=True,
    )
    return [told(name, method, truth, values) for method, values in found.items()]


def control(name: str, X: np.ndarray, y: np.ndarray, options: argparse.Namespace) -> list[str]:
    """Fits to permuted labels."""
    components, features, most = [], [], []
    for number in range(options.permute):
        rng = np.random.default_rng([options.seed, number])
        post = raytpnn.sample(
            X,
            rng.permutation(y),
            family="bernoulli",
            chains=options.chains,
            warmup=options.warmup,
            draws=options.draws,
            feature_weights=options.feature_weights,
            seed=number,
            executor="threads",
        )
        inclusion = post.components()["share_of_draws"]
        share = np.array([0.0, *leading_features(post).values()])
        components.append(int(np.sum(inclusion > 0.5)))
        features.append(int(np.sum(share > 0.5)))
        most.append(float(share.max()))
        print(f"{name} permutation {number}: largest inclusion of a feature {most[-1]:.2f}", flush=True)
    return [
        f"| {name} | {options.permute} | {np.mean(np.array(components) > 0):.0%} | "
        f"{np.mean(np.array(features) > 0):.0%} | {np.median(most):.2f} | {max(most):.2f} |"
    ]


def main() -> None:
    """Run and print a table."""
    parser = argparse.ArgumentParser(description="raytpnn beside ridge and XGBoost on expression data.")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--feature-weights")
    parser.add_argument("--permute", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=list(POSITIVE), default=list(POSITIVE))
    options = parser.parse_args()
    if "RAYTPNN_DATA" not in os.environ:
        parser.error("set RAYTPNN_DATA to the folder with the data sets")
    lines, begin = [], time.monotonic()
    for name in options.only:
        X, y = read(Path(os.environ["RAYTPNN_DATA"]), name)
        lines += (control if options.permute else compare)(name, X, y, options)
        print("\n".join(lines[-3:]), flush=True)
    if options.permute:
        print(
            "| data | permutations | with a component > 0.5 | with a feature > 0.5 | largest: median | most |"
        )
        print("|---|---|---|---|---|---|")
    else:
        print("| data | method | pooled AUROC | mean over splits (sd) | NLL | ECE (if calibrated) |")
        print("|---|---|---|---|---|---|")
    print("\n".join(lines))
    print(f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
