"""Several classes: family multinomial beside logistic regression and XGBoost, same splits, in Markdown.

    python examples/classes.py                             iris, wine, digits, pbmc68k; --splits 3
    python examples/classes.py --sets iris wine --splits 5 --warmup 300 --draws 300

Iris, wine and digits come with scikit-learn; pbmc68k_reduced.h5ad (700 cells, 765 genes, 10 cell types)
lies in the folder named by RAYTPNN_DATA, or --data-dir. Every split keeps a quarter of the rows apart, by
classes. Logistic regression standardises its features and picks its penalty by cross-validation within the
training part; XGBoost has 300 trees of depth 4 at learning rate 0.1; the model has its defaults but for the
number of sweeps. A line is printed as soon as a fit is done.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import raytpnn

SETS = ("iris", "wine", "digits", "pbmc68k")
MODELS = ("raytpnn", "logistic", "xgboost")


def read(name, folder):
    """Features (n, p) and numbers of classes (n,)."""
    if name != "pbmc68k":
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = anndata.read_h5ad(Path(folder) / "pbmc68k_reduced.h5ad")
    matrix = cells.X.toarray() if hasattr(cells.X, "toarray") else np.asarray(cells.X)
    return matrix, cells.obs["bulk_labels"].cat.codes.to_numpy()


def probabilities(model, X, y, rows, seed, options):
    """Probabilities of the classes at new rows, (m, classes)."""
    if model == "raytpnn":
        post = raytpnn.sample(
            X,
            y,
            family="multinomial",
            chains=options.chains,
            warmup=options.warmup,
            draws=options.draws,
            seed=seed,
            progress=False,
        )
        return post.predict(rows)
    if model == "logistic":
        found = make_pipeline(
            StandardScaler(), LogisticRegressionCV(Cs=8, cv=4, scoring="neg_log_loss", max_iter=500)
        )
    else:
        from xgboost import XGBClassifier

        found = XGBClassifier(n_estimators=300, max_depth=4, learning_rate=0.1, random_state=seed, n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return found.fit(X, y).predict_proba(rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", default=os.environ.get("RAYTPNN_DATA"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=400)
    parser.add_argument("--draws", type=int, default=400)
    options = parser.parse_args()
    table = ["| set | rows | features | classes | model | accuracy | log loss |", "|" + "---|" * 7]
    for name in options.sets:
        X, y = read(name, options.data_dir)
        split = StratifiedShuffleSplit(options.splits, test_size=0.25, random_state=0)
        for model in options.models:
            accuracy, loss = [], []
            for seed, (train, test) in enumerate(split.split(X, y)):
                begin = time.monotonic()
                p = probabilities(model, X[train], y[train], X[test], seed, options)
                accuracy.append(accuracy_score(y[test], p.argmax(axis=1)))
                loss.append(log_loss(y[test], p, labels=np.unique(y)))
                seconds = time.monotonic() - begin
                told = f"accuracy {accuracy[-1]:.3f}, log loss {loss[-1]:.3f}, {seconds:.0f} s"
                print(f"{name}, split {seed}, {model}: {told}", flush=True)
            size = f"{len(y):,} | {X.shape[1]:,} | {len(np.unique(y))}"
            table.append(f"| {name} | {size} | {model} | {np.mean(accuracy):.3f} | {np.mean(loss):.3f} |")
    print("\n" + "\n".join(table))


if __name__ == "__main__":
    main()
