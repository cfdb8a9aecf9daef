"""What a person who waits gets to see."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from rich.console import Console

import raytpnn
from raytpnn.chains.monitoring.monitor import Convergence
from raytpnn.chains.observe import progress
from raytpnn.chains.observe.progress import (
    ChainStatus,
    LineReporter,
    Reporter,
    TableReporter,
    duration,
    make_reporter,
)

CONVERGENCE = Convergence(
    100, {"f[3]": 1.234, "K": 1.1}, {"f[3]": 40.0, "K": 90.0}, {"f[3]": 50.0, "K": 80.0}
)


def drawn(reporter, chains, where="2 threads", height=25):
    """Table as a terminal of 100 columns shows it."""
    reporter.console = Console(file=io.StringIO(), width=100, height=height, force_terminal=False)
    reporter.console.print(reporter.table(chains, where))
    return reporter.console.file.getvalue()


def test_the_table_has_a_row_a_chain_and_what_concerns_all():
    reporter = TableReporter(1000, 400)
    reporter.assessed(CONVERGENCE)
    chains = [
        ChainStatus(0, 100, 7),
        ChainStatus(1, 500, 9, -123.45, 0.5),
        ChainStatus(2, 1000, 8, -99.0, 0.61),
    ]
    shown = drawn(reporter, chains).splitlines()
    assert len(shown) == 5
    assert shown[1].split() == ["0", "warm-up", "100", "of", "1,000", "-", "7", "-", "-"]
    assert shown[2].split() == ["1", "sampling", "500", "of", "1,000", "-", "9", "-123.5", "50%"]
    assert shown[3].split()[1] == "done"
    assert "R-hat 1.234 (f[3]), least ESS 40 after 100 draws per chain · 2 threads" in shown[4]


def test_a_table_of_many_chains_fits_the_terminal_and_keeps_the_slow_ones():
    reporter = TableReporter(1000, 400)
    chains = [ChainStatus(i, 900 - i, 5) for i in range(200)]
    shown = drawn(reporter, chains, height=15).splitlines()
    assert len(shown) < 15
    assert shown[-2].split()[0] == "199", "the one that the end is waiting for"
    assert "190 chains that are further on not shown" in shown[-1]


def test_lines_name_chains_one_by_one_or_their_range(capsys):
    reporter = LineReporter(1000, 400)
    reporter.update([ChainStatus(0, 10, 3), ChainStatus(1, 20, 4)], "2 threads")
    reporter.spoken = -math.inf
    reporter.update([ChainStatus(i, 10 * i, 3) for i in range(50)], "Ray")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "sweeps 10 20 of 1000, terms 3 4 [2 threads]"
    assert second.startswith("sweeps 0 to 490 of 1000, terms 3 to 3")


def test_lines_of_long_runs_come_less_often(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    reporter = LineReporter(1000, 400)
    spoken = []
    for second in range(36_000):
        now[0] = float(second)
        reporter.update([ChainStatus(0, second, 3)], "2 threads")
        if capsys.readouterr().err:
            spoken.append(second)
    assert spoken[1] == 2
    assert np.diff(spoken).max() == 60
    assert len(spoken) < 700, "ten hours do not fill a screen a minute"


def test_names_with_brackets_are_shown_as_they_are(capsys):
    reporter = TableReporter()
    reporter.console = Console(file=io.StringIO(), width=100)
    reporter.say("R-hat of f[3] and importance[bold]x")
    assert reporter.console.file.getvalue() == "R-hat of f[3] and importance[bold]x\n"


def test_rhat_that_is_not_known_is_not_shown():
    reporter = Reporter()
    reporter.assessed(Convergence(5, {"K": math.nan}, {"K": math.nan}, {"K": math.nan}))
    assert reporter.agreement() == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_reporter_of_ones_own_is_told_once_that_the_run_is_there(tmp_path):
    seen = []

    class Mine(Reporter):
        updates = 0

        def update(self, chains, where):
            self.updates += 1

    mine = Mine()
    mine.when_begun = lambda: seen.append((tmp_path / "run" / "manifest.json").is_file())
    mine.say("too early: nothing has begun")
    assert seen == []
    x = np.random.default_rng(0).normal(size=(40, 2))
    raytpnn.sample(x, x[:, 0], chains=2, warmup=20, draws=20, out=tmp_path / "run", progress=mine)
    mine.say("later")
    assert seen == [True]
    assert mine.updates > 0
    assert make_reporter(mine) is mine


def test_who_reports_depends_on_where_standard_error_goes(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert type(make_reporter(False)) is Reporter
    assert type(make_reporter(True)) is LineReporter
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert type(make_reporter(True)) is TableReporter
    monkeypatch.setenv("TERM", "dumb")
    assert type(make_reporter(True)) is LineReporter
