"""Prediction against the NumPy reference, and against itself cut up differently."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.posterior_cases import random_bins, random_draws, random_frame, random_posterior

from raytpnn.families import Gaussian, get_family
from raytpnn.forward import forward_numpy, prediction
from raytpnn.forward.ensemble import Ensemble
from raytpnn.forward.packs import TABLE_ENTRIES, pack_by_draw
from raytpnn.forward.prediction import Predictor
from raytpnn.posterior.evaluate.mixture import mixture_cdf, mixture_quantiles

FAMILIES = ("gaussian", "bernoulli", "poisson")


def case(seed, dtype=np.uint8, n_bins=(2, 5, 40, 255), n=300, p=6, **draws):
    rng = np.random.default_rng(seed)
    bins = random_bins(rng, n=n, p=p, n_bins=n_bins, dtype=dtype)
    return bins, random_draws(rng, p, **draws)


def reference_latent(post, X):
    return forward_numpy.latent(post.draws, post.bins, post.encoder.transform(X))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"drift": False, "max_order": 6},
        {"n": 2500},  # more than one block of rows
        {"terms": 60, "length": 20},  # more than one slice of tables
        {"dtype": np.uint16, "n_bins": (3, 700), "n": 900},
        {"chains": 1, "length": 1},
        {"terms": 0},
        {"p": 1},
    ],
    ids=str,
)
def test_latent_agrees_with_reference(options):
    bins, draws = case(1, **options)
    ensemble = Ensemble.of(draws, bins)
    offset = np.random.default_rng(2).normal(size=bins.n_rows)
    f = Predictor(ensemble).latent(bins.codes[ensemble.used], offset)
    expected = forward_numpy.latent(draws, bins, bins.codes) + offset
    # Factors are rounded to float32 and reach 1 / weight of a bin: errors are relative to the largest values.
    np.testing.assert_allclose(f, expected, atol=2e-6 * max(1.0, np.abs(expected).max()), rtol=0)


def test_case_with_many_terms_needs_several_slices():
    bins, draws = case(1, terms=60, length=20)
    packs = pack_by_draw(Ensemble.of(draws, bins))
    assert len(packs.slice_start) > 2
    assert packs.buffer_size < 2 * TABLE_ENTRIES


def test_neighbouring_draws_share_packs():
    bins, draws = case(1, terms=20, length=40)
    packs = pack_by_draw(Ensemble.of(draws, bins))
    assert len(packs.term) > 3 * len(packs.component)


def test_reference_factor_has_mean_zero_and_missing_is_zero():
    bins, _ = case(3)
    for feature in range(bins.n_features):
        table = forward_numpy.factor_table(bins, feature, 0.4, 0.07)
        assert abs(np.sum(table[: len(bins.weights_of(feature))] * bins.weights_of(feature))) < 1e-12
        assert table[bins.missing_code] == 0.0


@pytest.mark.parametrize("family", FAMILIES)
def test_mean_agrees_with_reference(family):
    bins, draws = case(4)
    ensemble = Ensemble.of(draws, bins)
    member = get_family(family)
    offset = np.random.default_rng(2).normal(size=bins.n_rows)
    f = forward_numpy.latent(draws, bins, bins.codes) + offset
    mean = Predictor(ensemble).mean(member, bins.codes[ensemble.used], offset)
    np.testing.assert_allclose(mean, member.mean(f).mean(axis=0), rtol=2e-5, atol=1e-9)


def test_mean_of_a_family_without_kernel():
    class Squared(Gaussian):
        """A family that prediction has never heard of."""

        name = "squared"
        identity_mean = False

        def mean(self, f):
            return f**2

    bins, draws = case(4)
    ensemble = Ensemble.of(draws, bins)
    mean = Predictor(ensemble).mean(Squared(), bins.codes[ensemble.used], np.zeros(bins.n_rows))
    f = forward_numpy.latent(draws, bins, bins.codes)
    np.testing.assert_allclose(mean, (f**2).mean(axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_streaming_does_not_change_results(family, monkeypatch):
    post, X = random_posterior(np.random.default_rng(5), family)
    whole = post.predict(X), post.interval(X), post.predict_draws(X)
    monkeypatch.setattr(prediction, "ROWS", 37)
    monkeypatch.setattr(prediction, "LATENT_ENTRIES", 17 * post.draws.n_draws)
    monkeypatch.setattr("raytpnn.parallel.threads.usable_cores", lambda: 3)
    parts = post.predict(X), post.interval(X), post.predict_draws(X)
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_results_do_not_depend_on_the_number_of_cores(monkeypatch):
    post, X = random_posterior(np.random.default_rng(5), "bernoulli")
    monkeypatch.setattr("raytpnn.parallel.threads.usable_cores", lambda: 1)
    alone = post.predict(X)
    monkeypatch.setattr("raytpnn.parallel.threads.usable_cores", lambda: 4)
    np.testing.assert_array_equal(alone, post.predict(X))


@pytest.mark.parametrize("family", FAMILIES)
def test_posterior_predicts_new_rows(family):
    rng = np.random.default_rng(6)
    post, _ = random_posterior(rng, family)
    new = random_frame(rng, 50)
    expected = post.family.mean(reference_latent(post, new))
    np.testing.assert_allclose(post.predict_draws(new), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(post.predict(new), expected.mean(axis=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(post.predict(new), post.predict_draws(new).mean(axis=0), rtol=1e-5, atol=1e-6)


def test_large_responses_keep_their_precision():
    rng = np.random.default_rng(7)
    post, X = random_posterior(rng, scale=1e6)
    expected = reference_latent(post, X).mean(axis=0)
    np.testing.assert_allclose(post.predict(X), expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    # Adding up is exact at any scale.
    total = post.contributions(X).sum(axis=1) + post.intercept_mean
    np.testing.assert_allclose(total, post.predict(X), rtol=0, atol=1e-8)


def test_only_used_columns_are_needed():
    post, X = random_posterior(np.random.default_rng(8))
    used = {post.encoder.source(int(j)) for j in post.draws.used_features()}
    narrow = X[sorted(used)]
    np.testing.assert_array_equal(post.predict(X), post.predict(narrow))
    np.testing.assert_array_equal(post.predict(X), post.predict(X.assign(extra="text")[X.columns[::-1]]))
    with pytest.raises(ValueError, match=sorted(used)[0]):
        post.predict(narrow.drop(columns=sorted(used)[0]))


def test_missing_feature_takes_its_terms_out():
    post, X = random_posterior(np.random.default_rng(9))
    empty = X.assign(age=np.nan, income=np.nan, rooms=np.nan, owner=np.nan, city=pd.NA)
    np.testing.assert_allclose(post.predict(empty), post.intercept_mean)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_offset_is_added_to_f(family):
    post, X = random_posterior(np.random.default_rng(10), family)
    offset = np.linspace(-1.0, 1.0, len(X))
    expected = post.family.mean(reference_latent(post, X) + offset)
    np.testing.assert_allclose(post.predict(X, offset), expected.mean(axis=0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(post.predict_draws(X, offset=offset), expected, rtol=1e-4, atol=1e-5)
    if family == "gaussian":
        shift = post.interval(X, offset=offset) - post.interval(X)
        np.testing.assert_allclose(shift, np.stack([offset, offset], axis=1), atol=1e-6)


@pytest.mark.parametrize("q", [0.001, 0.05, 0.5, 0.95, 0.999])
def test_gaussian_quantiles_solve_the_mixture(q):
    post, X = random_posterior(np.random.default_rng(11))
    y = post.quantile(X, q)
    f = reference_latent(post, X)
    np.testing.assert_allclose(mixture_cdf(post.family, y, f, post.draws.nuisance), q, atol=1e-5)


def test_gaussian_quantiles_of_far_apart_parts():
    # Two spikes with nothing between: Newton's steps lead nowhere, the bracket must.
    f = np.array([[-100.0], [100.0]])
    nuisance = np.array([1e-6, 1e-6])
    q = np.array([0.25, 0.499, 0.501, 0.75])
    y = mixture_quantiles(get_family("gaussian"), q, f, nuisance)
    np.testing.assert_allclose(mixture_cdf(get_family("gaussian"), y[0], f, nuisance), q, atol=1e-6)


def test_quantiles_agree_with_sampling():
    rng = np.random.default_rng(12)
    post, X = random_posterior(rng)
    f = reference_latent(post, X.iloc[:5])
    samples = post.family.sample(rng, np.tile(f, (4000, 1)), np.tile(post.draws.nuisance, 4000)[:, None])
    # 132,000 samples: the share below a true quantile has a standard error of at most 0.0014; 15 comparisons
    # at 5 standard errors raise a false alarm once in 100,000 runs.
    for q in (0.1, 0.5, 0.9):
        below = np.mean(samples <= post.quantile(X.iloc[:5], q), axis=0)
        np.testing.assert_allclose(below, q, atol=5 * np.sqrt(q * (1 - q) / len(samples)))


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_discrete_quantiles_are_the_smallest_that_suffice(family):
    post, X = random_posterior(np.random.default_rng(13), family)
    f = reference_latent(post, X)
    for q in (0.05, 0.5, 0.95):
        y = post.quantile(X, q)
        assert np.all(y == np.round(y))
        assert np.all(mixture_cdf(post.family, y, f, post.draws.nuisance) >= q - 1e-6)
        assert np.all(mixture_cdf(post.family, y - 1, f, post.draws.nuisance) < q + 1e-6)


def test_interval_is_two_quantiles():
    post, X = random_posterior(np.random.default_rng(14))
    interval = post.interval(X, level=0.8)
    assert interval.shape == (len(X), 2)
    np.testing.assert_allclose(interval, post.quantile(X, [0.1, 0.9]))
    assert np.all(interval[:, 0] < interval[:, 1])


def test_interval_of_two_classes_is_that_of_the_probability():
    post, X = random_posterior(np.random.default_rng(14), "bernoulli")
    interval = post.interval(X, level=0.8)
    np.testing.assert_allclose(interval.T, np.quantile(post.predict_draws(X), [0.1, 0.9], axis=0), rtol=1e-6)
    wide = post.interval(X, level=0.95)
    assert np.all((wide[:, 0] <= interval[:, 0]) & (interval[:, 1] <= wide[:, 1]))
    assert np.all(interval[:, 0] < interval[:, 1])


@pytest.mark.parametrize("family", FAMILIES)
def test_log_density_is_that_of_the_mixture(family):
    post, X = random_posterior(np.random.default_rng(15), family)
    f = reference_latent(post, X)
    density = np.exp(post.family.log_density(post.y, f, post.draws.nuisance[:, None])).mean(axis=0)
    np.testing.assert_allclose(post.log_density(X, post.y), np.log(density), rtol=1e-4, atol=1e-4)


def test_log_density_far_out_is_finite():
    post, X = random_posterior(np.random.default_rng(15))
    assert np.all(np.isfinite(post.log_density(X, np.full(len(X), 1e4))))


def test_log_density_takes_class_labels():
    post, X = random_posterior(np.random.default_rng(16), "bernoulli", classes=("no", "yes"))
    labels = np.where(post.y == 1.0, "yes", "no")
    expected = np.log(np.where(post.y == 1.0, post.predict(X), 1.0 - post.predict(X)))
    np.testing.assert_allclose(post.log_density(X, labels), expected, rtol=1e-4)
    with pytest.raises(ValueError, match=r"'maybe' in row 3; the classes are 'no' and 'yes'"):
        post.log_density(X, np.where(np.arange(len(X)) == 3, "maybe", labels))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda post, X: post.predict(X, np.zeros(3)), r"offset has shape \(3,\), but X has 200 rows"),
        (lambda post, X: post.predict(X, np.full(200, np.inf)), "offset is inf in row 0"),
        (lambda post, X: post.predict(X.iloc[:0]), "X has no rows"),
        (lambda post, X: post.quantile(X, 1.0), "q must be .* not 1.0"),
        (lambda post, X: post.quantile(X, [0.1, np.nan]), "q must be"),
        (lambda post, X: post.interval(X, level=90), "level must lie between 0 and 1, not 90"),
        (lambda post, X: post.log_density(X, np.zeros(3)), "y has 3 values but X has 200 rows"),
        (lambda post, X: post.log_density(X, np.full(200, np.nan)), "y is nan in row 0"),
        (lambda post, X: post.log_density(X, np.zeros((200, 1))), "one dimension"),
        (lambda post, X: post.log_density(X, ["a"] * 200), "y must hold numbers: .*'a'"),
    ],
)
def test_bad_input(call, message):
    post, X = random_posterior(np.random.default_rng(17))
    with pytest.raises(ValueError, match=message):
        call(post, X)


def test_bad_counts():
    post, X = random_posterior(np.random.default_rng(17), "poisson")
    with pytest.raises(ValueError, match="poisson family: row 0 is -1"):
        post.log_density(X, np.full(len(X), -1.0))


def test_no_draws():
    bins, draws = case(1, chains=0)
    with pytest.raises(ValueError, match="no draws"):
        type(random_posterior(np.random.default_rng(1))[0])(
            draws, None, bins, get_family("gaussian"), np.zeros(3)
        )


def test_compiled_prediction_is_much_faster_than_numpy():
    # Seen: 20 to 40 times on two free cores. Far fewer would mean that vectors or threads are lost.
    from time import perf_counter

    rng = np.random.default_rng(18)
    bins = random_bins(rng, n=20_000, p=8, n_bins=(255,), missing=0.02)
    draws = random_draws(rng, 8, chains=1, length=64, terms=40)
    ensemble = Ensemble.of(draws, bins)
    codes, offset = bins.codes[ensemble.used], np.zeros(bins.n_rows)

    def seconds(function):
        started = perf_counter()
        function()
        return perf_counter() - started

    few_terms = range(0, draws.term_start[-1], 16)
    by_numpy = min(
        seconds(lambda: [forward_numpy.term_values(draws, bins, t, bins.codes) for t in few_terms])
        for _ in range(2)
    )
    predictor, family = Predictor(ensemble), get_family("bernoulli")
    predictor.mean(family, codes[:, :10], offset[:10])
    compiled = min(seconds(lambda: predictor.mean(family, codes, offset)) for _ in range(3))
    assert 16 * by_numpy > 4 * compiled
