"""`raytpnn watch --open`: the report of a run as it forms, on this machine alone."""

import urllib.error
import urllib.request
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("jinja2")

import raytpnn
from raytpnn.chains.run.status import StatusReader
from raytpnn.cli.screen.live_page import LivePage, PageServer, with_state
from raytpnn.storage.places.place import Place


def read(address, **headers):
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
        return answer.status, answer.read().decode()


def test_only_those_who_know_the_token_see_the_page():
    with PageServer(lambda: "<p>hello</p>") as server:
        assert read(server.address) == (200, "<p>hello</p>")
        parts = urlsplit(server.address)
        assert parts.hostname == "127.0.0.1"
        assert len(parts.path) > 30
        for wrong in (f"http://{parts.netloc}/", f"http://{parts.netloc}/guess/", server.address[:-2] + "/"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                read(wrong)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(server.address, Host="evil.example")
        assert server.server.server_address[0] == "127.0.0.1"


def test_page_of_a_run_that_stopped_and_of_one_that_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    run = tmp_path / "run"
    raytpnn.sample(X, X[:, 0], chains=2, warmup=20, draws=60, out=run)
    look = StatusReader(Place(run)).look
    page = LivePage(str(run), look)
    text = page.html()
    assert "What was found?" in text
    assert 'http-equiv="refresh"' not in text
    assert page.html() is text, "made once for the same blocks"
    going = with_state(text, SimpleNamespace(done=[50, 50], sweeps=100, chains=2))
    assert "The run goes on: 50% of at most 200 sweeps" in going
    assert 'http-equiv="refresh"' in going


def test_page_of_a_run_without_draws(tmp_path):
    status = SimpleNamespace(state="preparing", blocks=0, done=[], sweeps=0, chains=0)
    text = LivePage(str(tmp_path / "none"), lambda: status).html()
    assert "no draws to show yet" in text
    assert "preparing" in text
