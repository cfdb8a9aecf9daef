"""`raytpnn demo`."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from raytpnn.cli.group import say

__all__ = ["demo"]


def demo(
    chains: Annotated[int, typer.Option(min=1, help="Independent chains.")] = 4,
    warmup: Annotated[int, typer.Option(min=0, help="Sweeps before the first draw.")] = 1000,
    draws: Annotated[
        int | None,
        typer.Option(min=1, help="Draws kept of each chain; if not given, as many as it takes to converge."),
    ] = None,
    max_sweeps: Annotated[
        int | None, typer.Option(min=1, help="Most sweeps of each chain without --draws. Default: 100000.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of the chains.")] = 0,
) -> None:
    """Fit the diabetes data that ship with scikit-learn, and show what was found."""
    say("loading: the first run on a machine compiles the sampler, which takes some seconds")
    begin = time.monotonic()
    import numpy as np
    from sklearn.datasets import load_diabetes

    import raytpnn

    data = load_diabetes(as_frame=True, scaled=False)
    X, y = data.data, data.target
    order = np.random.default_rng(seed).permutation(len(y))
    cut = int(0.8 * len(y))
    train, test = order[:cut], order[cut:]
    say(f"diabetes: {cut} patients to learn from, {len(test)} held out, {X.shape[1]} features")
    from raytpnn.posterior.verdict import quiet

    with quiet():
        post = raytpnn.sample(
            X.iloc[train],
            y.iloc[train],
            chains=chains,
            warmup=warmup,
            draws=draws,
            max_sweeps=max_sweeps,
            seed=seed,
            executor="threads",
            progress=True,
        )
    print_result(post, X.iloc[test], y.iloc[test], float(y.iloc[train].mean()))
    say(f"{time.monotonic() - begin:.1f} seconds in all")


def print_result(post: Any, X: Any, y: Any, mean: float) -> None:
    """Convergence, score on held-out rows and leading components."""
    import numpy as np

    from raytpnn.cli.screen.judgement import tell_judgement
    from raytpnn.cli.screen.summary import components_table, kept_words
    from raytpnn.cli.screen.text import new_console, tell

    console = new_console()
    seconds = post.config["sampling_seconds"]
    tell(console, f"\n{post.draws.n_draws} draws in {seconds:.1f} s{kept_words(post)}")
    tell_judgement(console, post.verdict())
    tell(console)
    error = float(np.sqrt(np.mean((post.predict(X) - y) ** 2)))
    plain = float(np.sqrt(np.mean((mean - y) ** 2)))
    low, high = post.interval(X, level=0.9).T
    covered = float(np.mean((low <= y) & (y <= high)))
    tell(console, f"held-out RMSE {error:.2f} (predicting the mean: {plain:.2f})")
    tell(console, f"90% predictive intervals hold {covered:.0%} of the held-out responses\n")
    components_table(post, console, most=10)
