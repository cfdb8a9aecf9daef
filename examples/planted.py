"""Is a planted interaction found among 54,675 features of noise?

    python examples/planted.py [--kind third pair triple] [--rows 200 500] [--features 54675] [--seeds 20]

All features are uniform noise but two or three, picked at random. With u = sqrt(12) (x - 1/2), the kinds are

    third    y = s(x_1) s(x_2) s(x_3) + noise,   s(x) = sigmoid((x - 0.45) / 0.05)
    pair     y = 0.37 u_1 u_2 + noise
    triple   y = 0.37 u_1 u_2 u_3 + noise

The first is the way of a class that needs three genes at once: of the variance of the product, 50% lie in
main effects, 40% in pairs and 10% in the third-order component. The others are pure: no feature alone tells
anything, and of the triple no pair does, so that nothing short of the right set (one of 2.7e13 triples) has
any likelihood in its favour. A component counts as found if its inclusion probability is above 0.5 and above
that of every component that is not part of the truth.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import raytpnn

FEATURES = 54_675


def planted(kind: str, n: int, p: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Features (n, p) float32, response (n,) and the features that matter of one data set."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, p), dtype=np.float32)
    chosen = np.sort(rng.choice(p, 3, replace=False))
    x = X[:, chosen].astype(np.float64)
    if kind == "third":
        f = np.prod(1.0 / (1.0 + np.exp(-(x - 0.45) / 0.05)), axis=1)
    else:
        chosen = chosen[: 2 if kind == "pair" else 3]
        f = 0.37 * np.prod(np.sqrt(12.0) * (x[:, : len(chosen)] - 0.5), axis=1)
    return X, f + noise * rng.normal(size=n), chosen.tolist()


def outcome(post: raytpnn.Posterior, chosen: list[int]) -> tuple[float, float, float]:
    """Rank and inclusion of the planted component, and the largest inclusion of a false one."""
    table = post.components()
    truth = {post.encoder.input_names[j] for j in chosen}
    right = np.array([set(component) == truth for component in table["component"]], bool)
    false = np.array([not set(component) <= truth for component in table["component"]], bool)
    largest = float(table["share_of_draws"][false].max()) if false.any() else 0.0
    if not right.any():
        return np.nan, 0.0, largest
    at = int(np.argmax(right))
    return at + 1.0, float(table["share_of_draws"].iloc[at]), largest


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description="Planted interactions in wide noise.")
    parser.add_argument("--kind", nargs="+", choices=["third", "pair", "triple"], default=["third"])
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 500])
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--noise", type=float, default=0.08)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=4000)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--feature-weights", default="auto")
    options = parser.parse_args()
    size = {"chains": options.chains, "warmup": options.warmup, "draws": options.draws}
    lines = []
    for kind in options.kind:
        for n in options.rows:
            found = []
            begin = time.perf_counter()
            for seed in range(options.seeds):
                X, y, chosen = planted(kind, n, options.features, seed, options.noise)
                post = raytpnn.sample(X, y, seed=seed, feature_weights=options.feature_weights, **size)
                found.append(outcome(post, chosen))
                rank, inclusion, false = found[-1]
                told = f"rank {rank:g}, inclusion {inclusion:.2f}, largest false {false:.2f}"
                print(f"{kind} n={n} seed={seed}: {told}", flush=True)
            seconds = (time.perf_counter() - begin) / options.seeds
            rank, inclusion, false = np.array(found).T
            hits = (inclusion > 0.5) & (inclusion > false)
            ranks = f"{np.median(rank[hits]):g}" if hits.any() else "-"
            line = f"| {kind} | {n} | {hits.sum()} of {len(hits)} | {ranks} |"
            lines.append(f"{line} {false.max():.2f} | {seconds:.0f} |")
    print("| kind | n | found | median rank | largest inclusion of a false component | seconds a fit |")
    print("|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
