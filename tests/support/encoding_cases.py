"""A table with every kind of column, for tests of the encoding."""

import numpy as np
import pandas as pd


def mixed_frame(seed, n=400):
    """A table with every kind of column."""
    rng = np.random.default_rng(seed)

    def holes(values, share=0.1):
        return pd.Series(values, dtype=object if isinstance(values[0], str) else None).mask(
            rng.random(n) < share
        )

    return pd.DataFrame(
        {
            "normal": rng.normal(size=n),
            "narrow": rng.normal(size=n).astype(np.float32),
            "heavy": rng.standard_cauchy(size=n) * 1e6,
            "holes": holes(rng.normal(size=n)),
            "inflated": np.where(rng.random(n) < 0.4, 0.0, rng.exponential(size=n)),
            "counts": rng.poisson(3, size=n),
            "many counts": rng.poisson(3000, size=n),
            "flag": rng.random(n) < 0.3,
            "two": rng.choice([3, 7], size=n),
            "nullable": pd.array(rng.integers(0, 5, size=n), dtype="Int8"),
            "letters": holes(rng.choice(list("abcd"), size=n)),
            "pair": rng.choice(["no", "yes"], size=n),
            "category": pd.Categorical(rng.choice([10, 2, 33], size=n)),
        }
    )
