"""Is a planted third-order interaction found among 54,675 features of noise?

    python examples/planted.py [--rows 200 500] [--seeds 20] [--tempered 10] [--noise 0.08] [--pure]

All features are uniform noise but three, picked at random: the response is high where all three of them are,

    y = s(x_1) s(x_2) s(x_3) + noise,   s(x) = sigmoid((x - 0.45) / 0.05),

the way of a class that needs three genes at once. Of the variance of the product, 50% lie in main effects,
40% in pairs and 10% in the third-order component, which counts as found if its inclusion probability is above
0.5. With --pure, y = 0.37 u_1 u_2 u_3 + noise with u = sqrt(12) (x - 1/2): no feature and no pair tells
anything, so that nothing short of the right triple (one of 2.7e13) has any likelihood in its favour.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import raytpnn

FEATURES = 54_675
WAYS = ("marginal", "adaptive", "adaptive, 3 replicas")


def planted(n: int, seed: int, noise: float, pure: bool) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Features (n, 54,675) float32, response (n,) and the three features of one data set."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, FEATURES), dtype=np.float32)
    chosen = np.sort(rng.choice(FEATURES, 3, replace=False))
    x = X[:, chosen].astype(np.float64)
    if pure:
        f = 0.37 * np.prod(np.sqrt(12.0) * (x - 0.5), axis=1)
    else:
        f = np.prod(1.0 / (1.0 + np.exp(-(x - 0.45) / 0.05)), axis=1)
    return X, f + noise * rng.normal(size=n), chosen.tolist()


def fit(X: np.ndarray, y: np.ndarray, way: str, seed: int) -> raytpnn.Posterior:
    """Four chains of 4,000 + 500 sweeps; with replicas, two."""
    tempered = way.endswith("replicas")
    return raytpnn.sample(
        X,
        y,
        chains=2 if tempered else 4,
        warmup=4000,
        draws=500,
        seed=seed,
        feature_weights=way.split(",")[0],
        tempering=raytpnn.Tempering(replicas=3) if tempered else None,
    )


def outcome(post: raytpnn.Posterior, chosen: list[int]) -> tuple[float, float, int, int]:
    """Rank and inclusion of the third-order component, true and false components with inclusion above 0.5."""
    table = post.components()
    truth = {post.encoder.input_names[j] for j in chosen}
    right = np.array([set(component) == truth for component in table["component"]], bool)
    confident = table["component"][table["inclusion"] > 0.5]
    true = sum(set(component) <= truth for component in confident)
    if not right.any():
        return np.nan, 0.0, true, len(confident) - true
    at = int(np.argmax(right))
    return at + 1.0, float(table["inclusion"].iloc[at]), true, len(confident) - true


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description="Planted third-order interaction in wide noise.")
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 500])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tempered", type=int, default=10, help="seeds that are also run with replicas")
    parser.add_argument("--noise", type=float, default=0.08)
    parser.add_argument("--pure", action="store_true")
    options = parser.parse_args()
    lines = []
    for n in options.rows:
        found: dict[str, list[tuple[float, float, int, int]]] = {way: [] for way in WAYS}
        for seed in range(options.seeds):
            X, y, chosen = planted(n, seed, options.noise, options.pure)
            for way in WAYS if seed < options.tempered else WAYS[:2]:
                begin = time.perf_counter()
                found[way].append(outcome(fit(X, y, way, seed), chosen))
                rank, inclusion, true, false = found[way][-1]
                print(
                    f"n={n} seed={seed} {way}: rank {rank:g}, inclusion {inclusion:.2f}, confident: "
                    f"{true} true, {false} false; {time.perf_counter() - begin:.0f} s",
                    flush=True,
                )
        for way, results in found.items():
            if results:
                rank, inclusion, true, false = np.array(results).T
                hits = inclusion > 0.5
                ranks = f"{np.median(rank[hits]):g}" if hits.any() else "-"
                lines.append(
                    f"| {n} | {way} | {hits.sum()} of {len(hits)} | {ranks} | {true.mean():.1f} of 7 | "
                    f"{false.sum() / max(true.sum() + false.sum(), 1):.1%} |"
                )
    print("| n | weights | found | median rank | components with inclusion > 0.5 | of these false |")
    print("|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
