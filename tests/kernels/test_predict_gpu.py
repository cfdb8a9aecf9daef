"""Predictions on a device agree with those of the CPU; the device is the CPU host of the kernels."""

from __future__ import annotations

import numpy as np
import pytest
from support.cuda_cases import HostDevice
from support.cuda_host.build import COMPILER

import raytpnn
from raytpnn.engine.gpu.device import DeviceError, use

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH")


def fitted(family):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    f = X[:, 0] + X[:, 1] * X[:, 2]
    y = {
        "gaussian": f + rng.normal(size=60),
        "bernoulli": (f + rng.normal(size=60) > 0).astype(int),
        "poisson": rng.poisson(np.exp(0.5 * f)),
    }[family]
    return X, y, raytpnn.sample(X, y, family=family, chains=1, warmup=30, draws=12, executor="threads")


@needs_compiler
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_predictions_agree_with_those_of_the_cpu(family):
    X, y, post = fitted(family)
    device = HostDevice()
    with use(device):
        there = post.on_gpu()
        for question in ("predict", "predict_draws", "interval"):
            expected, found = (getattr(own, question)(X) for own in (post, there))
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(there.log_density(X, y), post.log_density(X, y), rtol=2e-5, atol=2e-5)
    assert any(kernel == "forward" for kernel, *_ in device.launches)
    before = len(device.launches)
    post.predict_draws(X)
    assert len(device.launches) == before, "the posterior itself stays on the CPU"


def test_without_a_gpu_it_is_said_what_is_missing(monkeypatch):
    _, _, post = fitted("gaussian")
    monkeypatch.delenv("RAYTPNN_DEVICES", raising=False)
    with pytest.raises(DeviceError, match=r"(?i)cupy|gpu"):
        post.on_gpu()
