"""Does the selection of effects hold its false discovery rate, and what does it find?

    python examples/benchmarks/real_effects.py --setting additive-200x10 --sets 100
    python examples/benchmarks/real_effects.py --setting all --sets 20 --methods select bayes lasso
    python examples/benchmarks/real_effects.py --setting permuted --sets 25      # needs RAYTPNN_DATA
    python examples/benchmarks/real_effects.py --setting leading --sets 5        # 20 leading genes of halves

Settings: additive data of `examples/inclusion.py` (120 x 3, 200 x 10); 200 rows of 50 features with
neighbours correlated at 0, .5 or .9 (four main effects and a pure interaction); the paper's f1 to f3 with
1,000 rows; 100 rows of 2,000 or 54,675 features in blocks of five,
correlated at .5, .7 or .9 within (three main effects and a pair);
pure noise; and four expression sets with permuted labels.

Methods, all at a nominal 10%:

select    `Posterior.select`
bayes     Bayesian rate on P(size > delta) of the same draws
decoys    a permuted copy of every feature in the same fit, counts of decoys plus one over counts of targets
permute   thresholds from fits to ten permuted responses, as bartMachine's: the largest feature of each
lasso     stability selection: 50 halves of the rows, bound of 0.5 false features in the mean (scikit-learn)
boruta    XGBoost with shadow features, 20 rounds, Shapley values (extra `xgboost`)

Rates and powers are of effects (select, bayes) and of features (all): a feature is true if some true effect
holds it. A group counts as true if a member is. Errors are Monte Carlo standard errors. With --json the
outcome of every data set is appended to a file, and data sets that it holds are not done again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import raytpnn
from raytpnn.data.synthetic import make

Effect = tuple[int, ...]
RATE = 0.1


@dataclass(frozen=True)
class Case:
    """One data set: rows, response, true effects, family."""

    X: np.ndarray
    y: np.ndarray
    truth: frozenset[Effect]
    family: str = "gaussian"

    @property
    def features(self) -> set[int]:
        return {j for own in self.truth for j in own}


def additive(n: int, p: int) -> Callable[[int], Case]:
    """Data of examples/inclusion.py."""

    def case(number: int) -> Case:
        rng = np.random.default_rng([n, p, number])
        X = rng.random((n, p))
        f = np.sin(2.0 * np.pi * X[:, 0]) + 2.0 * (X[:, 1] - 0.5)
        if p > 3:
            f += 1.5 * (X[:, 2] > 0.5)
        true = range(2 if p <= 3 else 3)
        return Case(X, f + 0.5 * rng.normal(size=n), frozenset((j,) for j in true))

    return case


def of_family(n: int, p: int, family: str) -> Callable[[int], Case]:
    """Classes or counts with three main effects on the scale of the link."""

    def case(number: int) -> Case:
        rng = np.random.default_rng([n, p, number, 7])
        X = rng.random((n, p))
        f = np.sin(2.0 * np.pi * X[:, 0]) + 2.0 * (X[:, 1] - 0.5) + 1.5 * (X[:, 2] > 0.5) - 0.75
        classes = family == "bernoulli"
        y = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * f)) if classes else rng.poisson(np.exp(0.6 * f + 0.7))
        return Case(X, y.astype(float), frozenset([(0,), (1,), (2,)]), family)

    return case


def correlated(n: int, p: int, rho: float) -> Callable[[int], Case]:
    """Neighbours correlated at rho, four main effects and a pure interaction at random places."""
    from scipy.stats import norm

    def case(number: int) -> Case:
        rng = np.random.default_rng([n, p, int(100 * rho), number])
        Z = rng.normal(size=(n, p))
        for j in range(1, p):
            Z[:, j] = rho * Z[:, j - 1] + np.sqrt(1.0 - rho**2) * Z[:, j]
        X = norm.cdf(Z)
        a, b, c, d, e, f = (int(j) for j in rng.permutation(p)[:6])
        y = np.sin(2.0 * np.pi * X[:, a]) + 2.0 * (X[:, b] - 0.5) + 1.5 * (X[:, c] > 0.5)
        y += 2.0 * (X[:, d] - 0.5) + 6.0 * (X[:, e] - 0.5) * (X[:, f] - 0.5) + 0.5 * rng.normal(size=n)
        return Case(X, y, frozenset([(a,), (b,), (c,), (d,), tuple(sorted((e, f)))]))

    return case


def paper(name: str, n: int) -> Callable[[int], Case]:
    """The paper's functions."""

    def case(number: int) -> Case:
        data = make(name, n, number)
        place = {label: j for j, label in enumerate(data.X.columns)}
        truth = frozenset(tuple(sorted(place[label] for label in own)) for own in data.components)
        return Case(data.X.to_numpy(), data.y, truth)

    return case


def wide(n: int, p: int, rho: float = 0.5) -> Callable[[int], Case]:
    """Blocks of five features correlated at rho; three main effects and a pair, in different blocks."""
    from scipy.stats import norm

    def case(number: int) -> Case:
        rng = np.random.default_rng([n, p, number])
        shared = np.repeat(rng.normal(size=(n, -(-p // 5))), 5, axis=1)[:, :p]
        Z = np.sqrt(rho) * shared + np.sqrt(1.0 - rho) * rng.normal(size=(n, p))
        a, b, c, d, e = (int(5 * block) for block in rng.permutation(p // 5)[:5])
        u = norm.cdf(Z[:, [a, b, c, d, e]]) - 0.5
        f = 3.0 * u[:, 0] - 3.0 * u[:, 1] + 3.0 * u[:, 2] + 12.0 * u[:, 3] * u[:, 4]
        y = f + 0.5 * rng.normal(size=n)
        return Case(Z, y, frozenset([(a,), (b,), (c,), tuple(sorted((d, e)))]))

    return case


def noise(n: int, p: int) -> Callable[[int], Case]:
    """Nothing at all."""

    def case(number: int) -> Case:
        rng = np.random.default_rng([n, p, number, 1])
        return Case(rng.random((n, p)), rng.normal(size=n), frozenset())

    return case


SETTINGS: dict[str, Callable[[int], Case]] = {
    "additive-120x3": additive(120, 3),
    "additive-200x10": additive(200, 10),
    "additive-100x45": additive(100, 45),
    "classes-300x10": of_family(300, 10, "bernoulli"),
    "counts-300x10": of_family(300, 10, "poisson"),
    "correlated-0": correlated(200, 50, 0.0),
    "correlated-5": correlated(200, 50, 0.5),
    "correlated-9": correlated(200, 50, 0.9),
    "f1": paper("f1", 1000),
    "f2": paper("f2", 1000),
    "f3": paper("f3", 1000),
    "wide-2000": wide(100, 2000),
    "wide-2000-7": wide(100, 2000, 0.7),
    "wide-2000-9": wide(100, 2000, 0.9),
    "wide-54675": wide(100, 54_675),
    "noise-120x3": noise(120, 3),
    "noise-200x50": noise(200, 50),
    "noise-100x2000": noise(100, 2000),
    "noise-100x54675": noise(100, 54_675),
}
EXPRESSION = ("gse4107", "bladderbatch", "golub_leukemia", "alon_colon")


def fit(
    case: Case, number: int, options: argparse.Namespace, X: np.ndarray | None = None
) -> raytpnn.Posterior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", raytpnn.ConvergenceWarning)
        return raytpnn.sample(
            case.X if X is None else X,
            case.y,
            family=case.family,
            chains=options.chains,
            warmup=options.sweeps,
            draws=options.sweeps,
            seed=number,
            executor="threads",
        )


def feature_sizes(post: raytpnn.Posterior, p: int) -> np.ndarray:
    """Mean over draws of the root of the summed squares of all components with a feature, (p,)."""
    from raytpnn.forward.norms import gathered

    sets = post.ensemble.components
    holder = np.repeat(np.arange(len(sets)), [len(own) for own in sets])
    return gathered(post.norms, holder, np.array([j for own in sets for j in own], np.int64), p).mean


def by_select(post: raytpnn.Posterior, case: Case, number: int, options: argparse.Namespace) -> list[Effect]:
    place = {name: j for j, name in enumerate(post.names)}
    table = post.select(RATE, max_order=options.max_order)
    # A group stands for a true effect of its members, if there is one.
    found = []
    for own, order, group in zip(table["component"], table["order"], table["group"], strict=True):
        effect = tuple(place[name] for name in own)
        members = {place[name] for name in group}
        true = [other for other in case.truth if len(other) == order and members.issuperset(other)]
        found.append(effect if effect in true else true[0] if true else effect[:order])
    return list(dict.fromkeys(found))


def by_bayes(post: raytpnn.Posterior, case: Case, number: int, options: argparse.Namespace) -> list[Effect]:
    from raytpnn.posterior.selection.sizes import default_delta

    norms, delta = post.norms, default_delta(post)
    above = np.bincount(norms.component, norms.norm > delta, minlength=norms.n_components) / norms.n_draws
    order = np.argsort(-above)
    rate = np.cumsum(1.0 - above[order]) / np.arange(1, len(order) + 1)
    return [post.ensemble.components[i] for i in order[: int(np.sum(rate <= RATE))]]


def by_decoys(post: raytpnn.Posterior, case: Case, number: int, options: argparse.Namespace) -> list[Effect]:
    rng = np.random.default_rng([number, 2])
    p = case.X.shape[1]
    copies = rng.permuted(case.X, axis=0)
    sizes = feature_sizes(fit(case, number, options, np.hstack([case.X, copies])), 2 * p)
    target, decoy = sizes[:p], sizes[p:]
    best: list[Effect] = []
    for threshold in np.sort(target):
        if threshold <= 0.0:
            continue
        chosen = np.flatnonzero(target >= threshold)
        if (1 + np.sum(decoy >= threshold)) / len(chosen) <= RATE and len(chosen) > len(best):
            best = [(int(j),) for j in chosen]
    return best


def by_permute(post: raytpnn.Posterior, case: Case, number: int, options: argparse.Namespace) -> list[Effect]:
    rng = np.random.default_rng([number, 3])
    p = case.X.shape[1]
    largest = []
    for i in range(10):
        shuffled = Case(case.X, rng.permutation(case.y), case.truth, case.family)
        largest.append(feature_sizes(fit(shuffled, 1000 * number + i, options), p).max())
    return [(int(j),) for j in np.flatnonzero(feature_sizes(post, p) > np.quantile(largest, 1.0 - RATE))]


def by_lasso(post: raytpnn.Posterior, case: Case, number: int, options: argparse.Namespace) -> list[Effect]:
    from sklearn.linear_model import lars_path

    rng = np.random.default_rng([number, 4])
    n, p = case.X.shape
    ranks = case.X.argsort(axis=0).argsort(axis=0) / n
    least, bound = 0.75, 0.5
    entering = max(int(np.sqrt((2.0 * least - 1.0) * p * bound)), 1)
    count = np.zeros(p)
    for _ in range(50):
        rows = rng.permutation(n)[: n // 2]
        X, y = ranks[rows] - ranks[rows].mean(axis=0), case.y[rows] - case.y[rows].mean()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            active = lars_path(X, y, method="lasso", max_iter=entering)[1]
        count[np.asarray(active, np.int64)[:entering]] += 1
    return [(int(j),) for j in np.flatnonzero(count / 50 >= least)]


def by_boruta(post: raytpnn.Posterior, case: Case, number: int, options: argparse.Namespace) -> list[Effect]:
    import xgboost
    from scipy.stats import binom

    rng = np.random.default_rng([number, 5])
    p, rounds = case.X.shape[1], 20
    hits = np.zeros(p)
    for i in range(rounds):
        data = xgboost.DMatrix(np.hstack([case.X, rng.permuted(case.X, axis=0)]), case.y)
        settings = {"max_depth": 4, "eta": 0.1, "subsample": 0.7, "seed": number * rounds + i, "nthread": 1}
        model = xgboost.train(settings, data, 60)
        share = np.abs(model.predict(data, pred_contribs=True)[:, :-1]).mean(axis=0)
        hits += share[:p] > share[p:].max()
    return [(int(j),) for j in np.flatnonzero(binom.sf(hits - 1, rounds, 0.5) * p <= RATE)]


METHODS = {
    "select": by_select,
    "bayes": by_bayes,
    "decoys": by_decoys,
    "permute": by_permute,
    "lasso": by_lasso,
    "boruta": by_boruta,
}
OF_EFFECTS = ("select", "bayes")
NEED_FIT = {"select", "bayes", "permute"}


def outcome(found: list[Effect], case: Case) -> dict[str, float]:
    """False share and power, of effects and of features."""
    features = {j for own in found for j in own}
    false = [own for own in found if own not in case.truth]
    strong = [own for own in case.truth if own in found]
    return {
        "false": len(false) / max(len(found), 1),
        "power": len(strong) / max(len(case.truth), 1),
        "false_features": len(features - case.features) / max(len(features), 1),
        "power_features": len(features & case.features) / max(len(case.features), 1),
        "any": float(bool(found)),
        "number": len(found),
    }


def expression_case(name: str, number: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Expression and permuted labels of a real data set."""
    folder = Path(os.environ["RAYTPNN_DATA"])
    X = pd.read_parquet(folder / f"{name}_expr.parquet").set_index("feature_id").T
    target = pd.read_csv(folder / f"{name}_samples.csv")["target"].to_numpy()
    y = (target == np.unique(target)[1]).astype(float)
    return X, np.random.default_rng([number, 6]).permutation(y)


def permuted_labels(options: argparse.Namespace) -> None:
    """How often effects are selected where there are none; what the file holds is not done again."""
    print("| data | permutations | with a selection |\n| --- | --- | --- |")
    for name in options.data:
        rows = [row for row in outcomes(options.json) if row["setting"] == name]
        done = {row["data_set"] for row in rows}
        for number in set(range(options.first, options.first + options.sets)) - done:
            X, y = expression_case(name, number)
            case = Case(X, y, frozenset(), "bernoulli")
            found = fit(case, number, options).select(RATE, max_order=options.max_order)
            line = {"setting": name, "method": "permuted", "data_set": number, "any": float(len(found) > 0)}
            rows.append(line | {"found": [list(own) for own in found["component"]]})
            if options.json:
                with open(options.json, "a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
        print(f"| {name} | {len(rows)} | {np.mean([row['any'] for row in rows]):.0%} |", flush=True)


def leading(options: argparse.Namespace) -> None:
    """Share of 20 leading genes that two random halves of the samples have in common."""
    from raytpnn.posterior.selection.resamples import fits_of_halves

    print("| data | pairs of halves | by importance | by `unexplained` |\n| --- | --- | --- | --- |")
    for name in options.data:
        X, _ = expression_case(name, 0)
        target = pd.read_csv(Path(os.environ["RAYTPNN_DATA"]) / f"{name}_samples.csv")["target"]
        post = fit(Case(X, target.to_numpy(), frozenset(), "bernoulli"), 0, options)
        found = []
        for half in fits_of_halves(post, 2 * options.sets):
            sizes = feature_sizes(half, half.bins.n_features)
            pooled = half.unexplained(1, top=20)["component"]
            found.append(({half.names[j] for j in np.argsort(-sizes)[:20]}, {own[0] for own in pooled}))
        pairs = [(found[i], found[i + 1]) for i in range(0, len(found), 2)]
        common = np.mean([[len(a & b) / 20 for a, b in zip(x, y, strict=True)] for x, y in pairs], axis=0)
        print(f"| {name} | {len(pairs)} | {common[0]:.2f} | {common[1]:.2f} |", flush=True)


def measure(setting: str, options: argparse.Namespace) -> None:
    """Every data set by every method; what the file holds already is not done again."""
    kept = outcomes(options.json)
    done = {(row["method"], row["data_set"]) for row in kept if row["setting"] == setting}
    rows = [row for row in kept if row["setting"] == setting and row["method"] in options.methods]
    for number in range(options.first, options.first + options.sets):
        missing = [method for method in options.methods if (method, number) not in done]
        if not missing:
            continue
        case = SETTINGS[setting](number)
        post = fit(case, number, options) if NEED_FIT.intersection(missing) else None
        for method in missing:
            begin = time.process_time()
            found = METHODS[method](post, case, number, options)
            seconds = time.process_time() - begin
            line = {"setting": setting, "method": method, "data_set": number, **outcome(found, case)}
            rows.append(line | {"seconds": seconds, "found": [list(own) for own in found]})
            if options.json:
                with open(options.json, "a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    show(rows)


def outcomes(path: str | None) -> list[dict]:
    """Outcomes that a file holds, those of a data set once."""
    if path is None or not os.path.exists(path):
        return []
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return list({(line["setting"], line["method"], line["data_set"]): line for line in lines}.values())


def show(rows: list[dict]) -> None:
    if rows:
        for (setting, method), results in pd.DataFrame(rows).groupby(["setting", "method"], sort=False):
            print(table_line(str(setting), str(method), results), flush=True)


def table_line(setting: str, method: str, results: pd.DataFrame) -> str:
    def cell(name: str) -> str:
        values = results[name]
        return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"

    effects = [cell("false"), f"{results['power'].mean():.2f}"] if method in OF_EFFECTS else ["", ""]
    cells = [setting, method, str(len(results)), *effects, cell("false_features")]
    cells += [f"{results['power_features'].mean():.2f}", f"{results['any'].mean():.0%}"]
    return "| " + " | ".join([*cells, f"{results['seconds'].median():.1f}"]) + " |"


HEADER = (
    "| setting | method | data sets | false effects | power | false features | power | any | s |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--setting", nargs="+", default=["all"], choices=[*SETTINGS, "all", "permuted", "leading", "table"]
    )
    parser.add_argument("--methods", nargs="+", default=["select", "bayes", "lasso"], choices=METHODS)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first data set")
    parser.add_argument("--max-order", type=int, default=3, help="of effects that are tested")
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--sweeps", type=int, default=500, help="of warm-up, and as many draws")
    parser.add_argument(
        "--data", nargs="+", default=EXPRESSION, choices=EXPRESSION, help="of 'permuted', 'leading'"
    )
    parser.add_argument("--json", help="file to which every outcome is appended; 'table' reads it")
    options = parser.parse_args()
    if options.setting == ["permuted"]:
        permuted_labels(options)
        return
    if options.setting == ["leading"]:
        leading(options)
        return
    print(HEADER)
    if options.setting == ["table"]:
        show([row for row in outcomes(options.json) if row["method"] in METHODS])
        return
    for setting in SETTINGS if "all" in options.setting else options.setting:
        measure(setting, options)


if __name__ == "__main__":
    main()
