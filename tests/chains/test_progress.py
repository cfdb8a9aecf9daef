"""What a person who waits gets to see."""

from __future__ import annotations

import html as html_module
import io
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import raytpnn
from raytpnn.chains.monitoring.monitor import Convergence
from raytpnn.chains.observe import progress
from raytpnn.chains.observe.notebook import NotebookReporter
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


def short_run(**options):
    x = np.random.default_rng(0).normal(size=(40, 2))
    return raytpnn.sample(x, x[:, 0], chains=2, warmup=20, draws=20, **options)


def test_the_same_lines_are_logged_whoever_reports(caplog, capsys):
    for wanted in (None, False, True):
        with caplog.at_level("INFO", logger="raytpnn"):
            caplog.clear()
            short_run(progress=wanted)
        said = [record.getMessage() for record in caplog.records if record.name == "raytpnn"]
        assert any(line.startswith("sweeps ") for line in said), wanted
        assert any("agree" in line or "chains" in line for line in said[-1:]), "the verdict comes last"
        printed = capsys.readouterr().err
        assert bool(printed) == (wanted is True)
    caplog.clear()
    short_run()
    assert not caplog.records, "nothing is said to loggers that are not set up"


@pytest.fixture
def cells(monkeypatch):
    """A notebook's kernel, as far as a reporter sees it: the HTML that it was given."""
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html.data)

    class Kernel(SimpleNamespace):
        kernel = None

    def display(html, display_id):
        shown.append(html.data)
        return Handle()

    display_module = SimpleNamespace(HTML=lambda text: SimpleNamespace(data=text), display=display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=Kernel))
    monkeypatch.setitem(sys.modules, "IPython.display", display_module)
    return shown


def test_notebooks_show_a_bar_with_rhat_and_time_left_and_the_verdict_last(cells, monkeypatch, capsys):
    monkeypatch.setattr("raytpnn.chains.observe.notebook.BAR_SECONDS", 0.0)
    post = short_run()
    assert len(cells) >= 2
    bars = [html for html in cells if "<progress" in html]
    assert any("R-hat" in html for html in bars)
    assert post.verdict().headline in html_module.unescape(cells[-1])
    assert "<progress" not in cells[-1]
    assert capsys.readouterr().err == ""
    told = len(cells)
    short_run(progress=False)
    assert len(cells) == told, "progress=False is silent in notebooks too"


def test_the_bar_says_how_long_it_takes_at_most(cells):
    bar = NotebookReporter()
    bar.expect(1000, 100, until=True)
    bar.update([ChainStatus(0, 0, 0)], "1 thread")
    bar.drawn, bar.begin = -math.inf, bar.begin - 10.0
    bar.assessed(CONVERGENCE)
    bar.update([ChainStatus(0, 500, 7)], "1 thread")
    assert 'value="0.5000"' in cells[-1]
    assert "at most 10 s" in cells[-1]
    assert "R-hat 1.234 (f[3])" in cells[-1]
