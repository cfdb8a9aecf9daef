"""Random bins and draws, made without an encoder or a sampler."""

from __future__ import annotations

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.draws.draws import Draws


def random_bins(rng, n=300, p=6, n_bins=(2, 5, 40, 255), missing=0.1, dtype=np.uint8, names=None):
    """Features with different numbers of bins, some cells missing, every bin in use."""
    codes = np.empty((p, n), dtype)
    values, weights, first = [], [], [0]
    top = np.iinfo(dtype).max
    for j in range(p):
        size = min(n_bins[j % len(n_bins)], n)
        cells = np.concatenate([np.arange(size), rng.integers(0, size, n - size)])
        counts = np.bincount(cells, minlength=size)
        codes[j] = rng.permutation(cells)
        values.append(np.array([0.0, 1.0]) if size == 2 else (np.cumsum(counts) - counts / 2) / n)
        weights.append(counts / n)
        first.append(first[-1] + size)
    codes[rng.random((p, n)) < missing] = top
    return Bins(
        codes,
        tuple(names or (f"x{j}" for j in range(p))),
        np.arange(p, dtype=np.int32),
        np.array(first, np.int64),
        np.concatenate(values),
        np.concatenate(weights),
    )


def random_draws(rng, p, chains=3, length=11, terms=8, max_order=4, scale=1.0, drift=True):
    """Chains of states; with `drift`, neighbours share most of their sets, as those of a sampler do."""
    chain, draw, counts, orders, features = [], [], [], [], []
    for c in range(chains):
        sets = [random_set(rng, p, max_order) for _ in range(terms)]
        for d in range(length):
            if drift:
                sets = [s if rng.random() < 0.9 else random_set(rng, p, max_order) for s in sets]
                held = sets[: rng.integers(max(terms - 3, 0), terms + 1)]
            else:
                held = [random_set(rng, p, max_order) for _ in range(rng.integers(0, terms + 1))]
            chain.append(c)
            draw.append(d)
            counts.append(len(held))
            orders.extend(len(s) for s in held)
            features.extend(f for s in held for f in s)
    n, t, v = len(chain), len(orders), len(features)
    return Draws(
        chain=np.array(chain, np.int32),
        draw=np.array(draw, np.int32),
        loglik=rng.normal(size=n),
        intercept=scale * rng.normal(size=n),
        nuisance=scale**2 * rng.gamma(5.0, 0.1, n),
        b_gamma=rng.gamma(2.0, 0.05, n),
        sigma_beta2=rng.gamma(2.0, 0.05, n),
        term_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        beta=scale * rng.normal(size=t) / np.sqrt(max(terms, 1)),
        variable_start=np.concatenate([[0], np.cumsum(orders)]).astype(np.int64),
        feature=np.array(features, np.int32),
        b=rng.random(v),
        gamma=rng.gamma(1.0, 0.1, v) + 1e-3,
    )


def random_set(rng, p, max_order):
    """A set in random order, small orders more likely."""
    order = min(int(rng.geometric(0.55)), max_order, p)
    return tuple(rng.choice(p, order, replace=False).tolist())


def random_frame(rng, n=200, missing=0.1):
    """A table with numbers, few distinct numbers, two values, text, and missing cells in all of them."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n),
            "income": rng.lognormal(10.0, 1.0, n),
            "rooms": rng.integers(1, 6, n).astype(float),
            "owner": rng.integers(0, 2, n).astype(float),
            "city": rng.choice(["Bonn", "Ulm", "Kiel"], n),
        }
    )
    return frame.mask(rng.random(frame.shape) < missing)


def random_posterior(rng, family="gaussian", n=200, chains=3, length=11, terms=8, scale=1.0, classes=None):
    """A posterior over random draws, and the table it was "fitted" to."""
    from raytpnn.data.encoding.encoder import Encoder
    from raytpnn.families import get_family
    from raytpnn.forward.forward_numpy import latent
    from raytpnn.posterior.posterior import Posterior

    X = random_frame(rng, n)
    encoder, bins = Encoder.fit(X)
    draws = random_draws(rng, bins.n_features, chains, length, terms, scale=scale)
    member = get_family(family)
    f = latent(draws, bins, bins.codes)[0]
    y = member.sample(rng, np.clip(f, -scale * 3, scale * 3), draws.nuisance[0])
    config = {"seed": 1, "prior": {"K_max": 100}, "acceptance": {"birth": 0.25}}
    return Posterior(draws, encoder, bins, member, y, classes=classes, config=config), X
