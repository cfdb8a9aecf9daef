"""Fit one of scikit-learn's data sets and write the report page.

    python examples/report.py diabetes --out diabetes.html

The page is one file without scripts or network access; open it in any browser.
"""

from __future__ import annotations

import argparse

import numpy as np
import sklearn.datasets
from sklearn.model_selection import train_test_split

import raytpnn
from raytpnn.report import write_report

DATA = {
    "diabetes": ("load_diabetes", "gaussian"),
    "breast_cancer": ("load_breast_cancer", "bernoulli"),
}


def load(name):
    """Table, response (labels for two classes) and family."""
    loader, family = DATA[name]
    # Unscaled features read better on the axes.
    options = {"scaled": False} if name == "diabetes" else {}
    data = getattr(sklearn.datasets, loader)(as_frame=True, **options)
    y = data.target.to_numpy()
    return data.data, data.target_names[y] if family == "bernoulli" else y, family


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", choices=DATA, nargs="?", default="diabetes")
    parser.add_argument("--out", default="report.html", help="file to write")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--thin", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, nargs="*", help="held-out rows to explain, numbered from 0")
    options = parser.parse_args()

    X, y, family = load(options.data)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=options.seed)
    post = raytpnn.sample(
        X_train,
        y_train,
        family=family,
        chains=options.chains,
        warmup=options.warmup,
        draws=options.draws,
        thin=options.thin,
        seed=options.seed,
        progress=True,
    )
    title = f"{options.data}: {len(X_train)} rows to fit, {len(X_test)} kept apart"
    path = write_report(post, options.out, rows=options.rows, X=X_test, y=np.asarray(y_test), title=title)
    print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
