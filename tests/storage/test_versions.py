"""Unfinished runs of other releases: resumed if their chain format is ours, refused in words if it is not."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from support.run_cases import manifest_of
from support.version_cases import CASES, NEW_BLOCKS, layout_digest, told_of

import raytpnn
from raytpnn.engine.older_records import EARLIER_STATES, state_of_today
from raytpnn.engine.records import MOVE_NAMES, STATE
from raytpnn.storage.formats.chain_format import CHAIN_FORMAT, READABLE
from raytpnn.storage.formats.checkpoint import Checkpoint
from raytpnn.storage.places.place import Place

FIXTURES = Path(__file__).parents[1] / "fixtures"
KEPT = sorted(path for path in FIXTURES.glob("unfinished-*") if path.is_dir())
OURS = [path for path in KEPT if path.name.startswith(f"unfinished-{CHAIN_FORMAT}-")]
READ = [path for path in KEPT if int(path.name.split("-")[1]) in READABLE]
ADVICE = (
    "raise CHAIN_FORMAT in raytpnn/storage/formats/chain_format.py and run "
    "`python tests/fixtures/make_unfinished.py`"
)


@pytest.fixture
def unfinished(tmp_path):
    """A copy of one of them."""
    return Path(shutil.copytree(OURS[0], tmp_path / "run"))


def change(run, **plan):
    """Change what a run's manifest says of its chains."""
    manifest = manifest_of(run)
    manifest["plan"] |= plan
    manifest["plan"] = {name: value for name, value in manifest["plan"].items() if value is not None}
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_there_is_an_unfinished_run_of_every_kind_in_the_present_format():
    assert {path.name for path in OURS} == {f"unfinished-{CHAIN_FORMAT}-{case}" for case in CASES}, ADVICE
    for path in OURS:
        expected = json.loads((FIXTURES / f"{path.name}-expected.json").read_text())
        assert expected["layout"] == layout_digest(), f"the layout of a chain's state has changed: {ADVICE}"


@pytest.mark.parametrize("kept", READ, ids=lambda path: path.name)
def test_it_ends_with_the_draws_of_the_run_that_was_never_disturbed(kept, tmp_path, monkeypatch):
    """Also by a later release: the version of the package is not that of the format."""
    run = shutil.copytree(kept, tmp_path / "run")
    real = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "99.1.2" if name == "raytpnn" else real(name)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", raytpnn.ConvergenceWarning)
        part = raytpnn.load(run, unfinished=True)
        post = raytpnn.resume(run, executor="threads")
    assert part.draws.n_draws < post.draws.n_draws
    expected = json.loads((FIXTURES / f"{kept.name}-expected.json").read_text())["draws"]
    told = told_of(post)
    for name in ("chain", "K", "feature"):
        assert told[name] == expected[name], f"{name}: {ADVICE}"
    for name in ("loglik", "intercept"):
        np.testing.assert_allclose(told[name], expected[name], rtol=1e-9, err_msg=ADVICE)
    assert all((run / f"checkpoint/chain={c}/block={b}").is_file() for c, b in NEW_BLOCKS)


@pytest.mark.parametrize(
    ("number", "newest"),
    [(1, ("component", "factor", "output")), (2, ("factor", "output")), (3, ("output",))],
)
def test_a_state_of_an_earlier_format_is_that_of_today_without_the_newest_moves(number, newest):
    state = Checkpoint.read(Place(FIXTURES / f"unfinished-{number}-gaussian"), 1, 2).state
    moves = len(MOVE_NAMES) - len(newest)
    old = np.frombuffer(state, EARLIER_STATES[moves])[0]
    new = np.frombuffer(state_of_today(state, None), STATE)[0]
    for name in old.dtype.names:
        if name != "tally":
            assert new[name].tobytes() == old[name].tobytes(), name
    assert old["tally"][:, 0].sum() > 1000
    assert new["tally"][:moves].tolist() == old["tally"].tolist()
    assert MOVE_NAMES[moves:] == newest
    assert not new["tally"][moves:].any()
    assert set(STATE.names) - set(old.dtype.names) == {"output", "intercepts"}
    assert not new["output"].any()
    assert not new["intercepts"].any()
    assert state_of_today(new.tobytes(), None) == new.tobytes()


def test_those_of_older_formats_are_refused_but_what_they_drew_is_loaded(tmp_path):
    for kept in (path for path in KEPT if path not in READ):
        run = shutil.copytree(kept, tmp_path / kept.name)
        with pytest.raises(raytpnn.RunError, match=r"in format \d+, written by raytpnn [\d.]+"):
            raytpnn.resume(run)
        assert raytpnn.load(run, unfinished=True).draws.n_draws


@pytest.mark.parametrize("other", [None, CHAIN_FORMAT + 1])
def test_another_format_is_refused_by_name_and_writer(unfinished, other):
    change(unfinished, chain_format=other)
    readable = " and ".join(str(number) for number in READABLE)
    with pytest.raises(
        raytpnn.RunError,
        match=rf"in format {other or 0}, written by raytpnn {re.escape(raytpnn.__version__)}; this version "
        rf"goes on with formats {readable}. Install raytpnn {re.escape(raytpnn.__version__)}",
    ):
        raytpnn.resume(unfinished)
    # The digest of the plan, by which checkpoints are known, is as it was: what was drawn can be loaded.
    assert raytpnn.load(unfinished, unfinished=True).draws.n_draws
