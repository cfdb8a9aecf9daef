"""Which quantities are assessed, that the numbers are right, and what is refused with a reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.posterior_cases import random_posterior

from raytpnn.convergence.diagnostics import assess, by_chain, convergence_table
from raytpnn.convergence.effects import effects
from raytpnn.draws.draws import Draws
from raytpnn.forward.forward_numpy import latent, term_values
from raytpnn.forward.probe import Sizes, probe_of
from raytpnn.posterior.compared import compared_quantities
from raytpnn.posterior.posterior import Posterior


def table_of(values, chains):
    """Convergence table of one quantity given as (chains, length)."""
    post, _ = random_posterior(np.random.default_rng(1), chains=chains, length=values.size // chains, terms=1)
    return convergence_table(post.draws, {"x": values.ravel()}).iloc[0]


def split_rhat(x):
    """Rank-normalised split R-hat a second time, after Vehtari et al. 2021, equations 1 to 4, 13 and 14."""
    from scipy.stats import norm, rankdata

    def basic(z):
        n = z.shape[1]
        between, within = n * z.mean(axis=1).var(ddof=1), z.var(axis=1, ddof=1).mean()
        return np.sqrt(((n - 1) / n * within + between / n) / within)

    def normal_scores(z):
        return norm.ppf((rankdata(z) - 0.375) / (z.size + 0.25)).reshape(z.shape)

    half = x.shape[1] // 2
    halves = np.vstack([x[:, :half], x[:, -half:]])
    folded = np.abs(halves - np.median(halves))
    return max(basic(normal_scores(halves)), basic(normal_scores(folded)))


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_rhat_agrees_with_a_second_implementation(shift):
    x = np.random.default_rng(31).normal(size=(4, 100)) + shift * np.arange(4)[:, None]
    row = table_of(x, 4)
    assert row["rhat"] == pytest.approx(split_rhat(x), rel=1e-10)
    assert (row["rhat"] > 1.3) == (shift > 0.0)
    assert row["note"] == ""


def test_folded_rhat_sees_a_difference_in_spread():
    x = np.random.default_rng(32).normal(size=(4, 200)) * np.array([1.0, 1.0, 1.0, 5.0])[:, None]
    assert table_of(x, 4)["rhat"] > 1.1


def test_ess_of_independent_and_of_sticky_draws():
    rng = np.random.default_rng(33)
    white = rng.normal(size=(4, 500))
    sticky = np.repeat(rng.normal(size=(4, 50)), 10, axis=1)
    # Independent draws are worth about 2,000; of the sticky ones only every tenth is new.
    assert 1400 < table_of(white, 4)["ess_bulk"] < 2600
    assert 1000 < table_of(white, 4)["ess_tail"] < 2600
    assert table_of(sticky, 4)["ess_bulk"] < 350


def test_tail_ess_sees_extremes_that_come_together():
    # Five percent of draws at either end come in one run a chain: worse for the tails than for the bulk.
    rng = np.random.default_rng(42)
    x = rng.uniform(-0.9, 0.9, size=(4, 400))
    x[:, 100:120] = rng.uniform(0.9, 1.0, size=(4, 20))
    x[:, 300:320] = rng.uniform(-1.0, -0.9, size=(4, 20))
    row = table_of(x, 4)
    assert row["ess_tail"] < 0.6 * row["ess_bulk"]


def test_quantities_of_a_posterior():
    post, _ = random_posterior(np.random.default_rng(34), length=20)
    table = post.diagnostics()
    assert list(table.columns[:4]) == ["quantity", "rhat", "ess_bulk", "ess_tail"]
    names = list(table["quantity"])
    assert names[:7] == ["loglik", "K", "nuisance", "intercept", "mean order", "b_gamma", "sigma_beta2"]
    assert sum(name.startswith("f[") for name in names) == 64
    assert {"f[0]", "f[199]"} <= set(names)
    importance = [name for name in names if name.startswith("importance[")]
    assert 1 <= len(importance) <= post.bins.n_features
    assert 1 <= sum(name.startswith("component[") for name in names) <= 10
    assert table["rhat"].notna().all()
    assert (table["note"] == "").all()


def test_probes_are_f_at_training_rows():
    post, _ = random_posterior(np.random.default_rng(35), length=20)
    table = post.diagnostics().set_index("quantity")
    f = latent(post.draws, post.bins, post.bins.codes)
    expected = [split_rhat(by_chain(post.draws, f[:, row])) for row in (0, 199)]
    # Predictions are rounded to float32, which swaps the ranks of near-equal draws.
    for row, rhat in zip((0, 199), expected, strict=True):
        assert table.loc[f"f[{row}]", "rhat"] == pytest.approx(rhat, abs=2e-3)
    assert abs(expected[0] - expected[1]) > 1e-2, "one row is not taken for another"


def at_probe_rows(post):
    """Components of every draw at the probe rows, by the plain forward pass: {set: (draws, rows)}."""
    probe = probe_of(post.bins)
    values = {}
    for draw in range(post.draws.n_draws):
        for term in range(post.draws.term_start[draw], post.draws.term_start[draw + 1]):
            first, last = post.draws.variable_start[term : term + 2]
            own = tuple(sorted(post.draws.feature[first:last].tolist()))
            part = values.setdefault(own, np.zeros((post.draws.n_draws, probe.n_rows)))
            part[draw] += term_values(post.draws, post.bins, term, probe.codes)
    return values


def test_effects_are_sizes_at_the_probe_rows():
    post, _ = random_posterior(np.random.default_rng(36), length=20)
    found = compared_quantities(post)
    by_set = {own: np.sqrt(np.mean(f**2, axis=1)) for own, f in at_probe_rows(post).items()}
    total = sum(size.mean() for size in by_set.values())
    leading = sorted(by_set, key=lambda own: -by_set[own].mean())
    leading = [own for own in leading[:10] if by_set[own].mean() >= 0.05 * total]
    label = {own: " x ".join(post.names[feature] for feature in own) for own in leading}
    assert [name for name in found if name.startswith("component[")] == [
        f"component[{label[own]}]" for own in leading
    ]
    for own in leading:
        values = found[f"component[{label[own]}]"]
        np.testing.assert_allclose(values.ravel(), by_set[own], rtol=1e-4, atol=1e-6)
    for name, values in found.items():
        if name.startswith("importance["):
            feature = post.names.index(name[len("importance[") : -1])
            squares = sum(size**2 for own, size in by_set.items() if feature in own)
            np.testing.assert_allclose(values.ravel(), np.sqrt(squares), rtol=1e-4, atol=1e-6)


def test_an_effect_that_few_draws_hold_does_not_lead():
    """One in a hundred draws holds the pair: with a rule that goes by presence it would decide."""
    rng = np.random.default_rng(3)
    draws = 500
    size = np.abs(rng.normal(1.0, 0.1, draws)).astype(np.float32)
    rare = np.arange(0, draws, 100, dtype=np.int32)
    chains = [
        Sizes(
            np.concatenate([np.arange(draws, dtype=np.int32), rare]),
            np.concatenate([np.zeros(draws, np.int32), np.ones(len(rare), np.int32)]),
            np.concatenate([size, np.full(len(rare), 2.0, np.float32)]),
            ((0,), (0, 1)),
        )
        for _ in range(4)
    ]
    found = effects(chains, draws, ["a", "b"])
    assert list(found) == ["importance[a]", "component[a]"]
    often = [Sizes(sizes.draw, sizes.component, sizes.size, ((0,), (0, 1))) for sizes in chains]
    held = np.arange(0, draws, 4, dtype=np.int32)
    often[0] = Sizes(
        np.concatenate([np.arange(draws, dtype=np.int32), held]),
        np.concatenate([np.zeros(draws, np.int32), np.ones(len(held), np.int32)]),
        np.concatenate([size, np.full(len(held), 2.0, np.float32)]),
        ((0,), (0, 1)),
    )
    assert "component[a x b]" in effects(often, draws, ["a", "b"]), "held by a quarter of a chain's draws"


@pytest.mark.parametrize(("family", "there"), [("gaussian", True), ("bernoulli", False), ("poisson", False)])
def test_nuisance_only_where_there_is_one(family, there):
    post, _ = random_posterior(np.random.default_rng(37), family)
    assert ("nuisance" in set(post.diagnostics()["quantity"])) == there


def test_one_chain_is_compared_with_itself():
    post, _ = random_posterior(np.random.default_rng(38), chains=1, length=50)
    table = post.diagnostics()
    assert table["rhat"].notna().all()
    assert table["ess_bulk"].notna().all()
    assert table["note"].str.contains("its halves are compared").all()
    rng = np.random.default_rng(1)
    drifting = rng.normal(size=200) + np.linspace(0.0, 4.0, 200)
    assert assess("", drifting[None, :], [])[1] > 1.3
    assert assess("", rng.normal(size=(1, 200)), [])[1] < 1.03


def test_too_few_draws():
    post, _ = random_posterior(np.random.default_rng(39), chains=2, length=3)
    table = post.diagnostics()
    assert table[["rhat", "ess_bulk", "ess_tail"]].isna().all(axis=None)
    assert table["note"].str.contains("3 draws per chain are too few").all()


def test_constant_quantity():
    post, _ = random_posterior(np.random.default_rng(40), length=20)
    draws = replace(post.draws, b_gamma=np.full(post.draws.n_draws, 0.1))
    table = Posterior(draws, post.encoder, post.bins, post.family, post.y).diagnostics().set_index("quantity")
    assert table.loc["b_gamma", ["rhat", "ess_bulk", "ess_tail"]].isna().all()
    assert table.loc["b_gamma", "note"] == "constant"
    assert table.loc["K", "note"] == ""


def test_rare_quantity_gives_a_number_or_a_reason():
    rare = np.zeros((4, 100))
    rare[2, 50] = 1.0
    row = table_of(rare, 4)
    assert np.isfinite(row["rhat"]) or row["note"]


def test_chains_that_stand_still_apart():
    row = table_of(np.repeat(np.arange(4.0)[:, None], 20, axis=1), 4)
    assert row["rhat"] > 10


def test_chains_of_unequal_length():
    rng = np.random.default_rng(41)
    long, _ = random_posterior(rng, chains=1, length=30)
    short, _ = random_posterior(rng, chains=1, length=12)
    draws = Draws.concatenate([long.draws, replace(short.draws, chain=short.draws.chain + 1)])
    table = Posterior(draws, long.encoder, long.bins, long.family, long.y).diagnostics()
    assert table["note"].str.contains("12 to 30 draws: the first 12 of each").all()
    expected = np.stack([draws.loglik[:12], draws.loglik[30:42]])
    np.testing.assert_array_equal(by_chain(draws, draws.loglik), expected)
    assert table["rhat"][0] == pytest.approx(split_rhat(expected))
