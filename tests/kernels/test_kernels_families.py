"""Kernels give the draws of the compiled sampler for every family that has one function a row."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from support.chain_cases import cut_short
from support.cuda_cases import HostDevice
from support.cuda_host.build import COMPILER

import raytpnn
from raytpnn.engine.gpu import device as devices
from raytpnn.families import FAMILIES

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")
NEW = ("student", "negative_binomial", "weibull", "survival")


def fit(family, **options):
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(60, 4))
    member = FAMILIES[family]
    y = cut_short(member, member.sample(rng, np.sin(5.0 * X[:, 0]), 0.5))
    prior = raytpnn.Prior(K_max=8, max_order=3)
    short = {"chains": 2, "warmup": 60, "draws": 40, "seed": 5, "executor": "threads"}
    return raytpnn.sample(X, y, family=family, prior=prior, offset=0.3, **short | options)


@pytest.mark.parametrize("family", NEW)
@pytest.mark.parametrize("options", [{}, {"shards": 2}, {"minibatch": 30}], ids=["sweep", "grid", "subset"])
def test_kernels_give_the_draws_of_numba(family, options):
    made = [HostDevice("lazy", order="random") for _ in range(2)]
    with devices.use(*made):
        left = fit(family, backend="cuda", **options)
    assert any(device.launches for device in made)
    right = fit(family, backend="numba", **options)
    for field in dataclasses.fields(left.draws):
        assert np.array_equal(getattr(left.draws, field.name), getattr(right.draws, field.name)), field.name
