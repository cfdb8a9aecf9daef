"""The prior and its sampler."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import stats

from raytpnn.engine.records import STATE
from raytpnn.model.limits import MOST_TERMS, MOST_VARIABLES
from raytpnn.model.prior import Prior, sample


def test_order_weights_follow_the_paper_and_stop_at_p():
    prior = Prior()
    adding = [0.95 * (1 + d) ** -2.0 for d in range(1, 4)]
    raw = np.array([1 - adding[0], adding[0] * (1 - adding[1]), adding[0] * adding[1] * (1 - adding[2])])
    np.testing.assert_allclose(prior.order_weights(3), raw / raw.sum())
    assert len(prior.order_weights(100)) == 8
    assert prior.order_weights(1).tolist() == [1.0]


def test_set_prior_sums_to_one():
    prior = Prior(max_order=4)
    log_prior = prior.log_set_prior(6)
    total = sum(np.exp(log_prior[d]) * stats.binom(6, 0.5).pmf(d) * 2**6 for d in range(1, 5))
    assert total == pytest.approx(1.0)
    assert log_prior[0] == -np.inf


def test_noise_prior_has_the_asked_quantile():
    prior = Prior(v=3.0, q_lambda=0.9)
    scale = prior.noise_scale(2.0)
    assert stats.invgamma(1.5, scale=1.5 * scale).cdf(2.0) == pytest.approx(0.9)


def test_sampler_draws_from_the_prior():
    """Each test at level 1e-5."""
    prior = Prior(
        K_max=5,
        C0=0.1,
        a_gamma=1.5,
        sharing=0.0,
        b_gamma_shape=2.0,
        sigma_beta2_shape=2.0,
        sigma_beta2_scale=0.05,
    )
    rng = np.random.default_rng(0)
    draws = [sample(prior, rng, 50, 6, "gaussian", noise_scale=0.5, intercept_mean=1.0) for _ in range(4000)]
    counts = np.bincount([len(draw.terms) for draw in draws], minlength=6)
    assert stats.chisquare(counts, 4000 * prior.count_weights(50)).pvalue > 1e-5
    terms = [(draw, term) for draw in draws for term in draw.terms]
    orders = np.bincount([len(term.features) for _, term in terms], minlength=7)[1:]
    assert stats.chisquare(orders, len(terms) * prior.order_weights(6)).pvalue > 1e-5
    gamma = np.concatenate([term.gamma / draw.b_gamma for draw, term in terms])
    beta = np.array([term.beta / np.sqrt(draw.sigma_beta2) for draw, term in terms])
    checks = {
        "gamma": (gamma, stats.gamma(1.5)),
        "beta": (beta, stats.norm()),
        "b": (np.concatenate([term.b for _, term in terms]), stats.uniform()),
        "b_gamma": ([draw.b_gamma for draw in draws], stats.invgamma(2, scale=0.12)),
        "sigma_beta2": (
            [draw.sigma_beta2 for draw in draws],
            stats.invgamma(2, scale=0.05),
        ),
        "nuisance": ([draw.nuisance for draw in draws], stats.invgamma(1.5, scale=0.75)),
        "intercept": ([draw.intercept for draw in draws], stats.norm(1.0, 10.0)),
    }
    for name, (values, law) in checks.items():
        assert stats.kstest(values, law.cdf).pvalue > 1e-5, name
    assert all(len(set(term.features)) == len(term.features) for _, term in terms)


def test_fixed_scales_stay_fixed():
    draw = sample(Prior(b_gamma=0.2, sigma_beta2=0.7), np.random.default_rng(0), 50, 6, "bernoulli")
    assert (draw.b_gamma, draw.sigma_beta2, draw.nuisance) == (0.2, 0.7, 1.0)


def test_numbers_left_open_follow_rows_and_features():
    square = Prior().resolved(500, 500, "bernoulli")
    assert (square.a_gamma, square.b_gamma, square.sigma_beta2) == (1.0, 0.12, 0.1)
    wide = Prior().resolved(22, 54_675, "bernoulli")
    assert (wide.a_gamma, wide.b_gamma) == pytest.approx((5.0, 0.4))
    assert wide.sigma_beta2 == pytest.approx(3.0)
    assert Prior(sigma_beta2_shape=11.0).resolved(500, 5, "bernoulli").sigma_beta2_scale == pytest.approx(1.0)
    assert Prior().resolved(5_000, 54_675, "gaussian").a_gamma == pytest.approx(1.0)
    assert wide.resolved(500, 3, "gaussian") == wide
    own = Prior(a_gamma=2.0, b_gamma=0.1, sigma_beta2=1.0, sharing=0.5)
    assert own.resolved(22, 54_675, "bernoulli") == own


def test_the_rule_has_no_jumps():
    """From n = p on, and along n, neighbours differ by little."""
    for sizes in ([(100, p) for p in range(90, 1100)], [(n, 10_000) for n in range(40, 2000)]):
        priors = [Prior().resolved(*size, "gaussian") for size in sizes]
        means = np.array([prior.a_gamma * prior.b_gamma for prior in priors])
        assert np.max(np.abs(np.diff(means))) < 0.1


def test_sampler_of_a_wide_prior_is_smooth():
    """The mean of gamma / b_gamma is the rule's shape, here 5; within 5 standard errors."""
    rng = np.random.default_rng(1)
    draws = [sample(Prior(), rng, 20, 10_000, "bernoulli") for _ in range(30)]
    gamma = np.concatenate([term.gamma / draw.b_gamma for draw in draws for term in draw.terms])
    assert abs(gamma.mean() - 5.0) < 5 * gamma.std() / np.sqrt(len(gamma))


def test_terms_share_their_sets_as_the_urn_says():
    """Two terms have one set as often as the urn says, within 5 standard errors; without sharing not."""
    agree = []
    for sharing in (0.5, 0.0):
        prior = Prior(K_max=2, C0=0.0, sharing=sharing, max_order=2)
        rng = np.random.default_rng(2)
        draws = [sample(prior, rng, 50, 4) for _ in range(12_000)]
        pairs = [draw.terms for draw in draws if len(draw.terms) == 2]
        same = np.array([set(a.features) == set(b.features) for a, b in pairs])
        # Drawn alone, two sets agree with probability sum of P(S)^2.
        alone = sum(comb(4, d) * np.exp(prior.log_set_prior(4)[d]) ** 2 for d in (1, 2))
        expected = (0.5 + alone) / 1.5
        agree.append(abs(same.mean() - expected) < 5 * np.sqrt(expected * (1 - expected) / len(same)))
    assert agree == [True, False]


def test_the_paper_prior_is_unbounded_with_fixed_scales_and_independent_sets():
    paper = Prior.paper().resolved(50, 6, "gaussian")
    assert not paper.bounded
    assert paper.sharing == 0.0
    assert not paper.learns("sigma_beta2")
    assert not paper.learns("b_gamma")
    assert None not in (paper.b_gamma, paper.sigma_beta2)


@pytest.mark.parametrize(("name", "most"), [("K_max", MOST_TERMS), ("max_order", MOST_VARIABLES)])
def test_a_prior_has_no_more_terms_or_features_than_a_state_has_room_for(name, most):
    state = STATE["features"].shape
    assert state == (MOST_TERMS, MOST_VARIABLES)
    assert getattr(Prior(**{name: most}), name) == most
    with pytest.raises(ValueError, match=rf"Prior\.{name} can be at most {most}, got {most + 1}"):
        Prior(**{name: most + 1})


def test_a_scale_without_a_shape_is_refused():
    with pytest.raises(ValueError, match="sigma_beta2_shape"):
        Prior(sigma_beta2_scale=0.3)
    with pytest.raises(ValueError, match=r"Prior\.bounded must be True or False, got 1"):
        Prior(bounded=1)
    with pytest.raises(ValueError, match=r"Prior\.sharing must be positive"):
        Prior(sharing=-1.0)
