"""`raytpnn demo`."""

from __future__ import annotations

import time
from typing import Any, Unpack

from raytpnn.cli.group import say
from raytpnn.cli.inputs.flags import with_flags
from raytpnn.cli.inputs.options import merge
from raytpnn.options.definition import SAMPLE, SampleOptions

__all__ = ["demo"]

LENGTHS = SAMPLE.only("chains", "warmup", "draws", "max_sweeps", "seed")


@with_flags(LENGTHS)
def demo(**given: Unpack[SampleOptions]) -> None:
    """Fit the diabetes data that ship with scikit-learn, and show what was found."""
    say("loading")
    begin = time.monotonic()
    options: dict[str, Any] = merge(given, LENGTHS)
    import numpy as np
    from sklearn.datasets import load_diabetes

    import raytpnn

    data = load_diabetes(as_frame=True, scaled=False)
    X, y = data.data, data.target
    order = np.random.default_rng(options["seed"]).permutation(len(y))
    cut = int(0.8 * len(y))
    train, test = order[:cut], order[cut:]
    say(f"diabetes: {cut} patients to learn from, {len(test)} held out, {X.shape[1]} features")
    from raytpnn.engine.precompile import is_cached
    from raytpnn.posterior.verdict import quiet

    if not is_cached("joint_beta"):
        say("compiling the sampler: once on a machine, which takes a while")

    with quiet():
        post = raytpnn.sample(X.iloc[train], y.iloc[train], executor="threads", progress=True, **options)
    print_result(post, X.iloc[test], y.iloc[test], float(y.iloc[train].mean()))
    say(f"{time.monotonic() - begin:.1f} seconds in all")


def print_result(post: Any, X: Any, y: Any, mean: float) -> None:
    """Convergence, score on held-out rows and leading components."""
    import numpy as np

    from raytpnn.cli.screen.judgement import tell_judgement
    from raytpnn.cli.screen.summary import components_table, kept_words
    from raytpnn.cli.screen.text import new_console, tell
    from raytpnn.numerics.level import PERCENT

    console = new_console()
    seconds = post.config["sampling_seconds"]
    tell(console, f"\n{post.draws.n_draws} draws in {seconds:.1f} s{kept_words(post)}")
    tell_judgement(console, post.verdict())
    tell(console)
    error = float(np.sqrt(np.mean((post.predict(X) - y) ** 2)))
    plain = float(np.sqrt(np.mean((mean - y) ** 2)))
    low, high = post.interval(X).T
    covered = float(np.mean((low <= y) & (y <= high)))
    tell(console, f"held-out RMSE {error:.2f} (predicting the mean: {plain:.2f})")
    tell(console, f"{PERCENT} predictive intervals hold {covered:.0%} of the held-out responses\n")
    components_table(post, console, most=10)
