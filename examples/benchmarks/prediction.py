"""Speed and memory of prediction against plain NumPy, in one run.

    python examples/benchmarks/prediction.py                        100,000 rows, 4,000 draws of 40 terms
    python examples/benchmarks/prediction.py --rows 2000 --draws 40     a quick look

Draws are made up, as a sampler leaves them: neighbours in a chain share most of their sets. Our figures are
`Posterior.predict` on a table of floats, encoding included, warm, on all cores that this process may use. The
NumPy reference (`raytpnn.forward.forward_numpy`: tables over bins, a lookup a factor, a draw at a time)
runs on one core, over all rows but only some draws spread over all chains, and its time is scaled to all
draws; blocks of rows are as large as suits it best, found in the same run. Both run in turns, and the best
time of each counts. "Ratio" is of wall times; "ratio a core" is of processor times, which other work on the
machine disturbs less.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from raytpnn.data.encoding.encoder import Encoder
from raytpnn.draws.draws import Draws
from raytpnn.families import FAMILIES
from raytpnn.forward.forward_numpy import latent
from raytpnn.parallel.threads import usable_cores
from raytpnn.posterior.posterior import Posterior

CHAINS = 4
# Probability that a term of one draw has another set in the next.
CHANGE = 0.1
# Orders of terms, as seen in fits of tables with a dozen columns.
ORDERS, SHARES = (1, 2, 3, 4), (0.5, 0.3, 0.15, 0.05)
BLOCKS = (2_000, 10_000, 50_000)


def make_draws(rng, p, n_draws, n_terms):
    """Chains of states of `n_terms` terms each."""
    features, order = [], []
    for i in range(n_draws):
        if i % max(n_draws // CHAINS, 1) == 0:
            sets = [None] * n_terms
        sets = [s if s is not None and rng.random() > CHANGE else random_set(rng, p) for s in sets]
        order.extend(len(s) for s in sets)
        features.extend(feature for s in sets for feature in s)
    chain = np.minimum(np.arange(n_draws) // max(n_draws // CHAINS, 1), CHAINS - 1)
    _, first, index = np.unique(chain, return_index=True, return_inverse=True)
    variables = len(features)
    return Draws(
        chain=chain.astype(np.int32),
        draw=(np.arange(n_draws) - first[index]).astype(np.int32),
        loglik=np.zeros(n_draws),
        intercept=rng.normal(scale=0.1, size=n_draws),
        nuisance=rng.gamma(50.0, 0.02, n_draws),
        b_gamma=np.full(n_draws, 0.1),
        sigma_beta2=np.full(n_draws, 0.05),
        term_start=np.arange(n_draws + 1, dtype=np.int64) * n_terms,
        beta=rng.normal(scale=0.1, size=n_draws * n_terms),
        variable_start=np.concatenate([[0], np.cumsum(order)]).astype(np.int64),
        feature=np.array(features, np.int32),
        b=rng.random(variables),
        gamma=rng.gamma(1.0, 0.1, variables) + 1e-3,
    )


def random_set(rng, p):
    """Features of a term."""
    return rng.choice(p, min(rng.choice(ORDERS, p=SHARES), p), replace=False).tolist()


def memory(field):
    """Megabytes of this process by the kernel's count: VmRSS now, VmHWM at most; NaN where there is none."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def forget_peak():
    """Let the kernel count the peak from now on."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("the kernel does not forget the peak of memory: what is shown counts from the start of Python")


def seconds(function):
    """Wall and processor time of a call, (2,)."""
    begin = np.array([time.perf_counter(), time.process_time()])
    function()
    return np.array([time.perf_counter(), time.process_time()]) - begin


def reference(post, family, codes, block, some):
    """Mean response of some draws by plain NumPy."""
    mean = np.empty(codes.shape[1])
    for start in range(0, codes.shape[1], block):
        rows = slice(start, start + block)
        mean[rows] = family.mean(latent(some, post.bins, codes[:, rows])).mean(axis=0)
    return mean


def compare(name, draws, X, table, repeat, n_reference):
    """One line of the table: a family's rows per second, ratio to NumPy and memory."""
    family = FAMILIES[name]
    encoder, bins = Encoder.fit(X)
    post = Posterior(draws, encoder, bins, family, np.zeros(len(X)))
    some = draws.evenly_spaced(n_reference)
    codes = encoder.transform(table)
    post.predict(table[:100])
    start = memory("VmRSS")
    forget_peak()
    mine = [seconds(lambda: post.predict(table))]
    peak = memory("VmHWM") - start
    block = min(BLOCKS, key=lambda size: seconds(lambda: reference(post, family, codes, size, some))[1])
    theirs = []
    for _ in range(repeat):
        theirs.append(seconds(lambda: reference(post, family, codes, block, some)))
        mine.append(seconds(lambda: post.predict(table)))
    check = Posterior(some, encoder, bins, family, np.zeros(len(X))).predict(table[:200])
    np.testing.assert_allclose(
        check, reference(post, family, codes[:, :200], block, some), rtol=1e-4, atol=1e-5
    )
    ours = np.min(mine, axis=0)
    numpy = np.min(theirs, axis=0) * draws.n_draws / some.n_draws
    cells = [name, f"{ours[0]:.2f}", f"{len(table) / ours[0]:,.0f}", f"{numpy[0]:.0f}"]
    cells += [f"{numpy[0] / ours[0]:.0f}", f"{numpy[1] / ours[1]:.0f}", f"{peak:.0f}"]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--draws", type=int, default=4_000)
    parser.add_argument("--terms", type=int, default=40)
    parser.add_argument("--features", type=int, default=13)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--reference-draws", type=int, default=8, help="draws that NumPy evaluates")
    parser.add_argument(
        "--families", nargs="+", choices=FAMILIES, default=["gaussian", "bernoulli", "poisson"]
    )
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(options.features)]
    X = pd.DataFrame(rng.normal(size=(5_000, options.features)), columns=names)
    table = pd.DataFrame(rng.normal(size=(options.rows, options.features)), columns=names)
    table = table.mask(rng.random(table.shape) < 0.02)
    draws = make_draws(rng, options.features, options.draws, options.terms)
    print(
        f"{options.rows:,} rows x {options.features}, {options.draws:,} draws of {options.terms} terms, "
        f"{usable_cores()} core(s); NumPy on one core, {options.reference_draws} draws, scaled\n"
    )
    print(
        "| family | seconds | rows per second | NumPy, seconds | ratio | ratio a core | peak over start, MB |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in options.families:
        compare(name, draws, X, table, options.repeat, options.reference_draws)


if __name__ == "__main__":
    main()
