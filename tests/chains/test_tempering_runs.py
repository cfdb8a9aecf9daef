"""Tempered runs: the same draws for any number of workers and after a stop, and a report that is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.run_cases import assert_same_draws, files_of, small_data
from support.tempering_run_cases import SIZE, fit

import raytpnn
from raytpnn import Tempering


@pytest.fixture(scope="module", params=[False, True], ids=["together", "spread"])
def spread(request):
    """Whether replicas swap at the ends of blocks only, so that they can be on several workers."""
    return request.param


@pytest.fixture(scope="module")
def whole(tmp_path_factory, spread):
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run, spread)
    return run


def test_same_draws_for_any_number_of_workers(whole, spread, tmp_path, monkeypatch):
    monkeypatch.setenv("RAYTPNN_THREADS", "1")
    fit(tmp_path / "one", spread)
    assert_same_draws(whole, tmp_path / "one")
    plain = raytpnn.sample(*small_data(60), executor="threads", **SIZE)
    assert not np.array_equal(plain.draws.loglik, raytpnn.load(whole).draws.loglik)


DRIVER = """
import sys
from support.tempering_run_cases import fit
fit(sys.argv[1], sys.argv[2] == "True")
"""


def test_killed_and_resumed(whole, spread, tmp_path):
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    run = tmp_path / "run"
    command = [sys.executable, "-c", DRIVER, str(run), str(spread)]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, start_new_session=True)
    while process.poll() is None and len(list(run.glob("checkpoint/*/block=*"))) < 4:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    raytpnn.resume(run)
    assert_same_draws(whole, run)
    assert files_of(whole, "checkpoint") == files_of(run, "checkpoint")
    left, right = (raytpnn.load(place).tempering() for place in (whole, run))
    assert left.ensembles.equals(right.ensembles)
    assert left.levels.equals(right.levels)


def test_report_is_kept(whole, spread):
    summary = raytpnn.load(whole).tempering()
    assert summary.levels["temperature"].between(0.0, 1.0).all()
    cold = summary.levels.groupby("chain")["temperature"].max()
    assert (cold == 1.0).all()
    rates = summary.levels["swap_rate"].dropna()
    assert len(rates) == 2 * 4
    assert rates.between(0.0, 1.0).all()
    assert rates.mean() > (0.1 if spread else 0.2)
    assert (summary.ensembles["barrier"] > 0).all()
    with pytest.raises(ValueError, match="was not tempered"):
        raytpnn.sample(*small_data(60), executor="threads", chains=1, warmup=5, draws=5).tempering()


def test_log_evidence_prefers_the_feature_that_matters():
    """With y = x + noise, the feature x explains y better than one of noise alone."""
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 60))
    y = x + 0.5 * rng.normal(size=60)
    found = {}
    for name, column in (("x", x), ("other", other)):
        post = raytpnn.sample(
            column[:, None],
            y,
            executor="threads",
            prior=raytpnn.Prior(K_max=3),
            tempering=Tempering(replicas=12, t_min=0.0),
            **SIZE | {"warmup": 600, "draws": 600},
        )
        found[name] = post.tempering().evidence
        assert found[name].note == ""
        assert found[name].error < 3.0
    gap = found["x"].log_evidence - found["other"].log_evidence
    assert gap > 5.0 * (found["x"].error + found["other"].error)


@pytest.mark.parametrize("bad", [3, "yes", {"replicas": 4}])
def test_what_is_no_tempering_is_named(bad):
    with pytest.raises(ValueError, match=r"tempering must be a raytpnn.Tempering"):
        fit(None, tempering=bad)
