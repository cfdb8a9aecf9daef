"""The page of a posterior of several outputs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import raytpnn
from raytpnn.posterior.verdict import quiet
from raytpnn.report.page.write import report_html


@pytest.mark.parametrize("family", ["multinomial", "heteroscedastic"])
def test_every_output_has_its_sections(family):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 2))
    y = X[:, 0] + rng.normal(size=90)
    if family == "multinomial":
        y = np.array(["<a>", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    with quiet():
        size = {"chains": 2, "warmup": 60, "draws": 30}
        post = raytpnn.sample(X, y, family=family, seed=2, progress=False, executor="threads", **size)
    text = report_html(post)
    anchors = re.findall(r'<section id="([a-z]+)"', text)
    assert len(anchors) == len(set(anchors))
    assert {f"importance{letter}" for letter in "abc"[: len(post.outputs)]} <= set(anchors)
    assert {"quality", "convergence", "fit"} <= set(anchors)
    assert "<a>" not in text
    assert "Wrong classes" in text if family == "multinomial" else "CRPS" in text
