"""How often is pure noise taken for an effect?

    python examples/inclusion.py                     # 40 data sets of each size
    python examples/inclusion.py --sets 10 --errors 0 2 4

Data are additive, y = sin(2 pi x0) + 2 (x1 - 1/2) [+ 1.5 (x2 > 1/2) with ten features] + noise of standard
deviation 1/2; the other features are noise, and there are no interactions. The inclusion of a component is
the posterior probability that it is larger than so many standard errors (0: that a draw holds it at all; 4 is
what `components()` tells). The table gives the share of data sets in which the inclusion of some noise
feature, and of some interaction, is above one half; and the smallest inclusion of a true effect.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import raytpnn

SIZES = ((120, 3), (200, 10), (1000, 10))


def make_data(n: int, p: int, number: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows, response and how many features are true."""
    rng = np.random.default_rng([n, p, number])
    X = rng.random((n, p))
    f = np.sin(2.0 * np.pi * X[:, 0]) + 2.0 * (X[:, 1] - 0.5)
    if p > 3:
        f += 1.5 * (X[:, 2] > 0.5)
    return X, f + 0.5 * rng.normal(size=n), 2 if p <= 3 else 3


def inclusions(post: raytpnn.Posterior, errors: float, true: int) -> tuple[float, float, float]:
    """Largest inclusion of a noise feature alone and of an interaction, smallest of a true effect."""
    sets, norms = post.ensemble.components, post.norms
    size = errors * post.negligible / 4.0
    found = np.bincount(norms.component, norms.norm > size, minlength=len(sets)) / norms.n_draws
    by_set = dict(zip(sets, found, strict=True))
    noise = max((share for own, share in by_set.items() if len(own) == 1 and own[0] >= true), default=0.0)
    pairs = max((share for own, share in by_set.items() if len(own) > 1), default=0.0)
    return noise, pairs, min(by_set.get((feature,), 0.0) for feature in range(true))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--errors", type=float, nargs="+", default=[0.0, 2.0, 4.0])
    parser.add_argument("--sweeps", type=int, default=1000, help="of warm-up, and as many draws")
    options = parser.parse_args()
    print("| n | p | standard errors | noise feature | false interaction | least of a true effect |")
    print("|" + " --- |" * 6)
    for n, p in SIZES:
        rows = []
        for number in range(options.sets):
            X, y, true = make_data(n, p, number)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", raytpnn.ConvergenceWarning)
                post = raytpnn.sample(X, y, warmup=options.sweeps, draws=options.sweeps, seed=number)
            rows.append([inclusions(post, errors, true) for errors in options.errors])
        by_errors = np.array(rows).transpose(1, 0, 2)
        for errors, found in zip(options.errors, by_errors, strict=True):
            noise, pairs = (found[:, :2] > 0.5).mean(axis=0)
            print(
                f"| {n} | {p} | {errors:g} | {noise:.0%} | {pairs:.0%} | {found[:, 2].min():.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
