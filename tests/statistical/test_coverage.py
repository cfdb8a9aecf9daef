"""Bands and intervals hold the truth as often as they say, when model and prior are the truth's.

A truth is drawn from the prior, data from the truth, and the posterior is sampled under that very prior. On
average over truths, every credible interval of level q then holds its target with probability q. Coverage is
averaged over points within a truth; the truths are independent, and give the standard error. With a bound of
4 standard errors on each of the 105 comparisons, the false-alarm rate of this file is about 1 in 150 with new
seeds; the seeds are fixed.

A component that a truth does not hold is 0, and so is the end of many a band: bands then hold it more often
than they say. What they say is tested on components that nearly all draws hold: given the data, the component
is there but for a probability of 1 %, and coverage is exact but for that.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.chain_cases import run_plan

from raytpnn.chains.plan import Length, Plan
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.draws.draws import Draws
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import Scaling, build_problem, build_settings
from raytpnn.engine.rows.factor_tables import SMALLEST_HEIGHT, term_heights
from raytpnn.families import get_family
from raytpnn.model.prior import Prior
from raytpnn.model.prior import sample as sample_prior
from raytpnn.posterior.effects.curves import evaluate
from raytpnn.posterior.posterior import Posterior

LEVELS = (0.5, 0.8, 0.95)
TRUTHS = 150
STANDARD_ERRORS = 4.0
# A component in this share of draws is there for certain, but for a probability of 1 %.
CERTAIN = 0.99
ROWS, NEW_ROWS, FEATURES = 120, 60, 3
NOISE = 0.2
# Signals of the size of the noise; the default prior, with fewer terms for the sake of time; larger signals.
#
# Bands cover if chains get around. Where terms are unbounded (K_max 8, sigma_beta2_scale 1, learned scales),
# some poisson truths have means beyond e^6, up to e^30, and a chain that starts without terms is slow: 95 %
# bands of 14 truths with a largest f of 6 to 13 held 70 % (SE 8 %) after 2,500 sweeps, 83 % (SE 7 %) after
# 25,000, 88 % (SE 7 %) after 100,000; of chains that start at the truth, 96 % (SE 2 %) after 100,000. Bands
# of all 150 truths held 88 % (SE 2 %) after 2,500, of the 105 with a largest f below 3, 94 %. It is no error
# of the sampler: test_strong_counts starts chains at the truth, where they must stay; they do.
PRIORS = {
    "mild": Prior(K_max=5, max_order=2, intercept_sd=1.0, sigma_beta2_shape=4.0, sigma_beta2_scale=0.2),
    "default": Prior(K_max=12, intercept_sd=1.0),
    "large": Prior(K_max=8, max_order=2, intercept_sd=1.0, sigma_beta2_shape=4.0, sigma_beta2_scale=1.0),
}


def truth_as_draws(truth):
    """A draw of the prior as draws with one state, known by its heights if terms are bounded."""
    order = [len(term.features) for term in truth.terms]

    def joined(name, dtype):
        return np.concatenate([np.empty(0), *(getattr(term, name) for term in truth.terms)]).astype(dtype)

    scalars = ("intercept", "nuisance", "b_gamma", "sigma_beta2")
    return Draws(
        chain=np.zeros(1, np.int32),
        draw=np.zeros(1, np.int32),
        loglik=np.zeros(1),
        **{name: np.array([getattr(truth, name)]) for name in scalars},
        term_start=np.array([0, len(order)]),
        beta=np.array([term.beta for term in truth.terms], np.float64),
        variable_start=np.concatenate([[0], np.cumsum(order)]).astype(np.int64),
        feature=joined("features", np.int32),
        b=joined("b", np.float64),
        gamma=joined("gamma", np.float64),
    )


def draw_truth(prior, rng, bins, family):
    """A draw of the prior whose terms all have mass; and as draws, known by its coefficients."""
    problem = build_problem(bins, *np.ones((2, ROWS)), np.zeros(ROWS), np.ones(FEATURES))
    while True:
        draw = sample_prior(prior, rng, ROWS, FEATURES, family, prior.noise_scale(NOISE))
        known = truth_as_draws(draw)
        heights = np.empty_like(known.beta)
        term_heights(problem.record, known.variable_start, known.feature, known.b, known.gamma, heights)
        if np.all(heights >= SMALLEST_HEIGHT):
            return draw, replace(known, beta=known.beta / heights) if prior.bounded else known


def simulate(seed, family, wrong, prior):
    """A truth from the prior, new rows with their responses, and the posterior given data of the truth.

    The posterior counts every row `wrong` times: with 1 it is right.
    """
    rng = np.random.default_rng([4711, seed])
    member = get_family(family)
    X = rng.random((ROWS + NEW_ROWS, FEATURES))
    encoder, bins = Encoder.fit(X[:ROWS])
    prior = prior.resolved(ROWS, FEATURES, family)
    draw, known = draw_truth(prior, rng, bins, family)
    truth = Posterior(known, encoder, bins, member, np.zeros(ROWS))
    f = next(truth.latent_blocks(X))[1][0]
    y = np.asarray(member.sample(rng, f, draw.nuisance), np.float64)
    ones, zeros = np.ones(ROWS), np.zeros(ROWS)
    problem = build_problem(bins, y[:ROWS], ones * wrong, zeros, np.ones(FEATURES))
    settings = build_settings(problem, member, prior, Moves(), NOISE)
    # The prior of the intercept is centred by the data in a fit; here it is where the truth's was.
    settings.intercept_mean = 0.0
    length = Length(chains=1, warmup=500, draws=400, thin=5)
    plan = Plan(problem, settings, Scaling(), member, prior, Moves(), NOISE, 0.0, seed, length, "auto")
    fitted = Posterior(Draws.concatenate(run_plan(plan)), encoder, bins, member, y[:ROWS])
    return rng, truth, fitted, X[ROWS:], y[ROWS:]


def position(rng, draws, truth):
    """Share of draws below the truth, (m,); draws equal to it, as f_S = 0 often is, at random."""
    below, equal = np.mean(draws < truth, axis=0), np.mean(draws == truth, axis=0)
    # One random number for all points: they are 0 together.
    return below + rng.random() * equal


def inside(place, level):
    """Share of positions within the central interval."""
    return np.mean(np.abs(place - 0.5) <= level / 2.0)


def one_truth(seed, family, wrong, prior):
    """Coverage of everything at every level for one truth, by name: a list, of "certain" ones maybe empty."""
    rng, truth, fitted, X, y = simulate(seed, family, wrong, prior)
    covered = {}
    place = position(rng, next(fitted.latent_blocks(X))[1], next(truth.latent_blocks(X))[1][0])
    table = fitted.components()
    inclusion = dict(zip(table["component"], table["share_of_draws"], strict=True))
    main, bands, certain = [], {level: [] for level in LEVELS}, {level: [] for level in LEVELS}
    for j in range(FEATURES):
        points = {j: np.linspace(0.02, 0.98, 25)}
        real = evaluate(truth.predictor, truth.encoder, truth.bins, [j], points)[0]
        main.append(position(rng, evaluate(fitted.predictor, fitted.encoder, fitted.bins, [j], points), real))
        for level in LEVELS:
            band = fitted.component(j, points[j], level)
            held = float(np.mean((band["low"] <= real) & (real <= band["high"])))
            bands[level].append(held)
            if inclusion.get((fitted.bins.names[j],), 0.0) >= CERTAIN:
                certain[level].append(held)
    for level in LEVELS:
        low, high = fitted.interval(X, level).T
        covered["f", level] = [inside(place, level)]
        covered["component", level] = [np.mean([inside(one, level) for one in main])]
        covered["band", level] = [np.mean(bands[level])]
        covered["certain band", level] = [np.mean(certain[level])] if certain[level] else []
        covered["interval", level] = [np.mean((low <= y) & (y <= high))]
    return covered


def coverage(family, truths=TRUTHS, wrong=1.0, prior=PRIORS["mild"]):
    """Mean coverage over truths and its standard error, by what and level."""
    records = [one_truth(seed, family, wrong, prior) for seed in range(truths)]
    rates = {key: np.concatenate([record[key] for record in records]) for key in records[0]}
    # Signals may be too small for any component to be certain.
    seen = {key: rate for key, rate in rates.items() if len(rate) > 1}
    return {key: (rate.mean(), rate.std(ddof=1) / np.sqrt(len(rate))) for key, rate in seen.items()}


def mistakes(rates, claimed=None, discrete=False):
    """What covers otherwise than it says.

    `claimed` maps levels to other ones that are said instead: for tests that must find mistakes.
    """
    found = []
    for (what, level), (rate, error) in rates.items():
        said = (claimed or {}).get(level, level)
        allowed = STANDARD_ERRORS * error + (1.0 - CERTAIN) * (what == "certain band")
        # Ends are included: where a value has mass of its own, there is more than the level.
        at_least = what == "band" or (what == "interval" and discrete)
        if rate < said - allowed or (rate > said + allowed and not at_least):
            found.append((what, said, round(float(rate), 3), round(float(error), 3)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "family"),
    [*product(["mild", "default"], ["gaussian", "bernoulli", "poisson"]), ("large", "poisson")],
)
def test_coverage_is_what_it_says(name, family):
    rates = coverage(family, prior=PRIORS[name])
    for (what, level), (rate, error) in rates.items():
        print(f"{name} {family} {what} at {level:.0%}: {rate:.3f} (SE {error:.3f})")
    assert mistakes(rates, discrete=get_family(family).discrete) == []
    # Bands and intervals of 80 % that are said to be of 95 % are found out, where there are enough of them.
    wrong = mistakes(rates, {0.8: 0.95}, get_family(family).discrete)
    found = {what for what, said, *_ in wrong if said == 0.95}
    enough = {what for (what, level), (_, error) in rates.items() if level == 0.8 and error < 0.03}
    exact = enough - {"band"} - ({"interval"} if get_family(family).discrete else set())
    assert {"f", "component"} <= exact <= found
    assert ("certain band", 0.8) in rates or family == "bernoulli", "no component is certain: nothing tested"


@pytest.mark.slow
def test_a_wrong_posterior_does_not_cover():
    """Every row counted four times: bands are half as wide as they should be, and this test sees it."""
    rates = coverage("gaussian", truths=40, wrong=4.0)
    rate, error = rates["f", 0.8]
    assert rate < 0.8 - STANDARD_ERRORS * error
