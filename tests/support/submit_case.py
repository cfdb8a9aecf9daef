"""What a user's script on a cluster looks like: it needs nothing but the installed package."""

import sys

import numpy as np
import pandas as pd

import raytpnn


def main(out, address=None):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=500), "b": rng.normal(size=500)})
    y = 2.0 * np.sin(2.0 * X["a"]) + X["b"] + 0.5 * rng.normal(size=500)
    how = {"executor": "threads"} if address is None else {"address": address}
    post = raytpnn.sample(X, y, chains=4, warmup=100, draws=200, seed=5, out=out, **how)
    print(f"{post.draws.n_draws} draws on {post.config['executor']}", raytpnn.__file__)


if __name__ == "__main__":
    main(*sys.argv[1:])
