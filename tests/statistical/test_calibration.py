"""Simulation-based calibration: among draws of the posterior, the truth has a uniform rank.

States come from the prior, data from the model; a chain of the whole sampler is run from another prior
draw, and the truth is ranked among thinned draws. Nine functionals a family, each by a chi-square test at
level 1e-4: a false alarm about once in 185 runs with new seeds; the seeds are fixed.
"""

from __future__ import annotations

import pytest
from support.calibration_cases import DEFAULT, LEVEL, calibration
from support.twins import TWINS, twin


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_ranks_are_uniform(family):
    p_values = calibration(family, 1000)
    assert p_values.min() > LEVEL, p_values


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_ranks_are_uniform_with_the_default_prior(family):
    p_values = calibration(family, 1000, prior=DEFAULT)
    assert p_values.min() > LEVEL, p_values


@pytest.mark.slow
def test_broken_twin_is_not_calibrated():
    _, replacements = TWINS["log((K+1)/(Kmax-K)) dropped"]
    assert calibration("gaussian", 1000, twin(**replacements)).min() < LEVEL
