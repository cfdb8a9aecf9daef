"""`RUN/log/`: a line a block, and no run ends because its log cannot be written."""

from __future__ import annotations

import json

from support.run_cases import assert_same_draws, files_of, fit

import raytpnn
from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.observe.block_log import BlockLog
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.plan import Length
from raytpnn.storage.places.place import Place

SIZE = {"chains": 2, "warmup": 100, "draws": 150}


def lines_of(run):
    """Lines of every session."""
    return [
        [json.loads(line) for line in data.decode().splitlines()] for data in files_of(run, "log").values()
    ]


def test_every_block_has_its_line_and_a_session_its_file(tmp_path):
    run = tmp_path / "run"
    fit(run, **SIZE)
    raytpnn.resume(run, draws=250, executor="threads")
    first, second = lines_of(run)
    for session, blocks in ((first, {0, 1, 2}), (second, {2, 3})):
        assert [session[0]["event"], session[-1]["event"]] == ["begin", "end"]
        assert session[0]["executor"] == "threads"
        assert session[-1]["error"] is None
        told = [line for line in session if line["event"] == "block"]
        assert {(line["chain"], line["block"]) for line in told} == {(c, b) for c in (0, 1) for b in blocks}
        assert len(told) == 2 * len(blocks)
        for line in told:
            assert line["seconds"] > 0
            assert line["pid"] > 0
            assert line["terms"] >= 0
    assert {line["sweeps"] for line in first if line["event"] == "block"} == {100, 50}
    assert max(len(json.dumps(line)) for line in first) < 400


def test_rhat_that_was_looked_at_is_logged(tmp_path):
    fit(tmp_path / "run", target_ess=1e9, **SIZE)
    (session,) = lines_of(tmp_path / "run")
    last = [line for line in session if line["event"] == "rhat"][-1]
    assert last["draws"] == 150
    assert last["worst"] > 1.0


def test_a_log_that_cannot_be_written_is_told_once_and_ends_nothing(tmp_path, monkeypatch):
    run, said = tmp_path / "run", []

    class Listener(Reporter):
        def say(self, text):
            said.append(text)

    class Hindered(BlockLog):
        def __enter__(self):
            (run / "log").write_text("a file where the folder should be")
            return super().__enter__()

    fit(tmp_path / "whole", **SIZE)
    monkeypatch.setattr("raytpnn.chains.run_chains.BlockLog", Hindered)
    fit(run, progress=Listener(), **SIZE)
    assert len([text for text in said if "log of the run cannot be written" in text]) == 1
    assert_same_draws(tmp_path / "whole", run)


def test_an_object_store_gets_whole_files(tmp_path):
    """It cannot append: every so often what has come together is one file."""

    class Store(Place):
        def __init__(self, folder):
            super().__init__(folder)
            self.folder, self.path = self.path, None

        def write(self, name, data):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            assert not (self.folder / name).exists()
            (self.folder / name).write_bytes(data)

    log = BlockLog(Store(tmp_path), Length(1, 0, 500), Reporter(), "ray")
    report = BlockReport(0, 0, 100, 3, -1.0, {}, None, seconds=0.5, where={"node": "n", "ip": "1", "pid": 7})
    with log:
        log.block(0, report)
        log.tick()
        log.written -= 100
        log.tick()
        log.block(1, report)
    sessions = lines_of(tmp_path)
    assert [[line["event"] for line in part] for part in sessions] == [["begin"], ["block"], ["block", "end"]]
    assert sessions[1][0]["node"] == "n"
