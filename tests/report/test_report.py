"""The page: what it says, that it is sound HTML, and how Chromium shows it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("jinja2", reason="the page needs Jinja: pip install 'raytpnn[report]'")

from support.chromium import BINARY, Browser
from support.report_cases import CASES, EVIL, classes, counts, mixed

import raytpnn
from raytpnn.posterior.compared import comparison_of
from raytpnn.report import html, names, write_report
from raytpnn.report.page import write as page
from raytpnn.report.page.sections.effects import leading_effects
from raytpnn.report.page.sections.outputs import renamed
from raytpnn.report.plots.shapley import shapley_by_column
from raytpnn.report.quality import assess
from raytpnn.report.rows import choose_rows, pick
from raytpnn.report.verdict import verdict_of

VOID = {"meta", "link", "img", "br", "hr"}


class Outline(HTMLParser):
    """Tags in balance, headings, pictures, addresses, ids and text of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.headings, self.images, self.addresses, self.ids = [], [], [], [], [], []
        self.scripts = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append([int(tag[1]), ""])
        if tag == "svg":
            self.images.append({"alt": values.get("aria-label", ""), "role": values.get("role")})
        if tag == "script":
            self.scripts.append(values.get("type", "code"))
        self.ids += [values["id"]] if "id" in values else []
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action", "data")]
        assert not any(name.startswith("on") for name in values), f"a script in an attribute: {values}"

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            self.headings[-1][1] += data
        if "style" not in self.open and "script" not in self.open:
            self.text += data + " "


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of all cases, written once."""
    folder = tmp_path_factory.mktemp("pages")
    written = {}
    for name, case in CASES.items():
        post, X, y = case()
        more = {"rows": [0, 5], "X": X, "y": y} if name == "classes" else {}
        written[name] = write_report(post, folder / f"{name}.html", title=f"Fit <{name}> & more", **more)
    return written


def outline(path):
    return Outline(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_page_is_sound_and_self_contained(pages, name):
    text = pages[name].read_text(encoding="utf-8")
    found = Outline(text)
    assert text.startswith("<!DOCTYPE html>")
    assert found.scripts.count("code") == 1
    assert set(found.scripts) <= {"code", "application/json"}
    assert len(set(found.ids)) == len(found.ids)
    anchors = [address for address in found.addresses if address.startswith("#")]
    assert {anchor[1:] for anchor in anchors} <= set(found.ids)
    assert all(address.startswith(("data:", "#")) for address in found.addresses)
    assert not re.search(r"url\(|@import", text)
    assert len(text.encode()) < 3_000_000
    levels = [level for level, _ in found.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(title.strip() for _, title in found.headings)
    assert found.images
    assert all(image["role"] == "img" for image in found.images)
    assert "`" not in found.text
    assert "class 0" not in found.text
    alts = [image["alt"] for image in found.images]
    assert all(alts)
    assert len(set(alts)) == len(alts)
    assert f"Fit <{name}> & more" in found.text


@pytest.mark.parametrize("name", CASES)
def test_page_answers_the_questions(pages, name):
    found = outline(pages[name])
    second = [title for level, title in found.headings if level == 2]
    assert second == [
        "What was found?",
        "How good is it?",
        "Can I trust it?",
        "What to do next?",
        "How each effect looks",
        "Which effects are real?",
        "What matters?",
        "Single rows",
        "How good is it?",
        "Did the chains agree?",
        "What was fitted",
    ]
    post, _, _ = CASES[name]()
    assert f"{post.bins.n_rows:,} rows" in found.text
    assert post.family.name in found.text
    assert "R-hat compares" in found.text


def test_malicious_names_are_only_text(pages):
    text = pages["mixed"].read_text(encoding="utf-8")
    assert '<script>alert("x")' not in text
    assert "&lt;script&gt;" in text
    found = Outline(text)
    assert '<script>alert("x")</script>' in found.text
    assert found.scripts.count("code") == 1
    assert any("<script>" in image["alt"] for image in found.images)
    post, _, _ = mixed()
    with_label = page.report_html(post, title='"><script>alert(1)</script>', rows=[])
    assert "<script>alert(1)" not in with_label
    assert "Single rows" not in with_label


def test_leading_effects_have_pictures(pages):
    post, _, _ = mixed()
    chosen, _ = leading_effects(post)
    assert "city" in chosen[1]
    assert not any(name.startswith("city=") for name in chosen[1])
    assert not any(all(name.startswith("city=") for name in names) for names in chosen[2] + chosen[3])
    alts = [image["alt"] for image in outline(pages["mixed"]).images]
    assert sum(alt.startswith("Main effect of ") for alt in alts) == len(chosen[1])
    assert sum(alt.startswith("Map of ") for alt in alts) == len(chosen[2]) + 2 * len(chosen[3])
    assert len(chosen[2]) > 0
    assert any(alt.startswith("Main effect of age with 90% bands, lowest −") for alt in alts)


def test_scores_come_from_the_rows_given(pages):
    given = outline(pages["classes"]).text
    post, X, y = classes()
    assert f"On {len(y)} rows given to this report" in given
    error = np.mean((post.predict(X) > 0.5) != (y == "malignant"))
    assert f"{100 * error:.0f}%" in given or error < 0.01
    assert "malignant against benign" in given
    assert "Row 5: probability of malignant" in given
    assert f"It was {y[5]}." in given
    assert "as if it had been left out" in outline(pages["mixed"]).text


def test_crps_stands_beside_that_of_no_features(pages):
    text = outline(pages["counts"]).text
    post, _, _ = counts()
    result = assess(post, choose_rows(post))
    assert result.how == "loo"
    assert "Ranked probability score (CRPS)" in text
    assert names.number(result.crps) in text
    y = post.y
    base = np.mean([np.mean(np.abs(y - v)) for v in y]) / 2
    # Less than half the mean difference, the score of the responses themselves as the prediction.
    assert 0 < result.crps < base
    assert "Ranked probability score" not in outline(pages["classes"]).text


def test_columns_of_text_are_taken_together(pages):
    text = outline(pages["mixed"]).text
    post, _, _ = mixed()
    table = post.components(by="column")
    assert f"{len(table):,} effects that some draw holds" in text
    assert "effects of single levels that some draw holds" in text
    assert text.index("effects that some draw holds") < text.index("effects of single levels")
    assert "single levels" not in outline(pages["classes"]).text


def test_single_rows_have_shapley_values_with_intervals(pages):
    text = outline(pages["classes"]).text
    post, X, _ = classes()
    column, _, low, high = shapley_by_column(post, pick(choose_rows(post, X), [5]), 6, 0.9)[0]
    assert "Row 5: Shapley values" in text
    assert post.encoder.input_names[column] in text
    assert f"{names.number(low)} to {names.number(high)}" in text
    assert "Shapley values, what each" not in outline(pages["nothing"]).text


def test_nothing_found_is_said_plainly(pages):
    text = outline(pages["nothing"]).text
    assert "Nothing: no draw holds any effect" in text
    assert "There is no effect to draw" in text


def fake_table(rhat, ess, inner_rhat=1.0):
    rows = [("loglik", rhat, ess, ess, ""), ("f[0]", rhat, ess, ess, ""), ("K", inner_rhat, ess, ess, "")]
    return pd.DataFrame(rows, columns=["quantity", "rhat", "ess_bulk", "ess_tail", "note"])


@pytest.mark.parametrize(
    ("rhat", "ess", "inner", "state"),
    [
        (1.005, 900.0, 1.0, "yes"),
        (1.005, 900.0, 1.5, "yes"),
        (1.005, 399.0, 1.0, "nearly"),
        (1.03, 900.0, 1.0, "nearly"),
        (1.06, 900.0, 1.0, "no"),
        (1.0, 20.0, 1.0, "no"),
        (np.nan, np.nan, np.nan, "unknown"),
        (np.inf, 2.0, 1.0, "no"),
    ],
)
def test_verdict_follows_the_diagnostics(rhat, ess, inner, state):
    answer = verdict_of(comparison_of(mixed()[0]), fake_table(rhat, ess, inner))
    assert answer.state == state
    assert bool(answer.advice) == (state != "yes" or inner == 1.5)
    starts = {"yes": "Yes", "nearly": "Nearly", "no": "No", "unknown": "Convergence cannot be judged"}
    assert answer.headline.startswith(starts[state])
    if state == "no":
        assert ("have not found the same" in answer.headline) == (rhat > 1.05)
        assert "Do not rely on the figures below." in answer.reasons
    if inner == 1.5:
        assert "do not fully agree" in " ".join(answer.reasons)


def test_one_chain_cannot_be_judged(tmp_path):
    X = np.random.default_rng(9).normal(size=(40, 1))
    post = raytpnn.sample(X, X[:, 0], chains=1, warmup=20, draws=20)
    text = outline(write_report(post, tmp_path / "one.html")).text
    assert "one chain was compared with itself" in text
    assert "--chains 4" in text
    assert "scores are better than they will be on new rows" in text


def test_saved_run_gives_the_same_page(tmp_path, pages):
    post, _, _ = mixed()
    post.save(tmp_path / "run")
    path = write_report(
        raytpnn.load(tmp_path / "run"), tmp_path / "run" / "report.html", title="Fit <mixed> & more"
    )
    assert path.read_text(encoding="utf-8") == pages["mixed"].read_text(encoding="utf-8")
    assert [file.name for file in (tmp_path / "run").glob("report*")] == ["report.html"]


def test_bad_rows_and_paths_are_errors(tmp_path):
    post, _, y = mixed()
    with pytest.raises(ValueError, match="there is no row 999"):
        write_report(post, tmp_path / "a.html", rows=[999])
    with pytest.raises(ValueError, match="is a folder"):
        write_report(post, tmp_path)
    with pytest.raises(ValueError, match="y was given without X"):
        write_report(post, tmp_path / "a.html", y=y)
    assert list(tmp_path.iterdir()) == []


def test_names_in_scripts_of_the_world_do_not_warn(tmp_path):
    rng = np.random.default_rng(10)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["身長", "naïve\tcafé"])
    post = raytpnn.sample(X, X.iloc[:, 0] * 2, chains=2, warmup=40, draws=30)
    assert "身長" in outline(write_report(post, tmp_path / "w.html")).text


# Contrast of all texts by WCAG 2.2: against the first opaque background behind them.
CONTRAST = """
(() => {
  const channels = c => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [x, y, z] = [r, g, b].map(v => linear(v / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = node => {
    for (; node; node = node.parentElement) {
      const c = channels(getComputedStyle(node).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim()) continue;
    const [a, b] = [light(channels(getComputedStyle(parent).color)), light(behind(parent))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), walker.currentNode.textContent.trim()]);
  }
  return found;
})()
"""
SMALLEST = """
Math.min(...[...document.querySelectorAll("p, li, td, th, figcaption, caption, a")]
  .map(e => parseFloat(getComputedStyle(e).fontSize)))
"""
WIDE = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
DRAWN = """
[...document.querySelectorAll("svg")].map(svg => {
  const place = svg.getBoundingClientRect();
  const marks = svg.querySelectorAll("line, rect, polyline, polygon, path, circle, text").length;
  return [svg.getAttribute("aria-label"), place.width, place.height, marks];
})
"""
DARK = [{"name": "prefers-color-scheme", "value": "dark"}]


@pytest.mark.skipif(BINARY is None, reason="no Chromium here (Debian: apt-get install chromium)")
@pytest.mark.parametrize("name", ["mixed", "nothing"])
def test_page_in_chromium(pages, name, tmp_path):
    expected = len(outline(pages[name]).images)
    with Browser(tmp_path / "profile") as browser:
        for width, phone, dark in ((360, True, False), (1280, False, False), (1280, False, True)):
            browser.requests.clear()
            browser.call("Emulation.setEmulatedMedia", media="", features=DARK if dark else [])
            browser.open(pages[name].as_uri(), width, phone=phone)
            content, window = browser.ask(WIDE)
            assert content <= window, f"the page is {content} wide in a window of {window}"
            drawn = browser.ask(DRAWN)
            assert len(drawn) == expected
            assert all(label and marks > 4 for label, _, _, marks in drawn), drawn
            assert all(200 < shown <= width and height > 50 for _, shown, height, _ in drawn), drawn
            ratios = browser.ask(CONTRAST)
            assert len(ratios) > 50
            worst = min(ratios)
            assert worst[0] >= 4.5, f"contrast {worst[0]:.2f} of {worst[1]!r}"
            assert browser.ask(SMALLEST) >= 12
            outside = [url for url in browser.requests if not url.startswith(("data:", "file:"))]
            assert outside == []
        assert browser.complaints == []


@pytest.mark.skipif(BINARY is None, reason="no Chromium here (Debian: apt-get install chromium)")
def test_the_browser_test_sees_faults(tmp_path):
    """The twin of the test above: a page with every fault it looks for."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        '<!DOCTYPE html><title>x</title><p style="color:#aaa;font-size:8px">pale</p>'
        '<div style="width:2000px">wide</div><svg></svg>'
        '<script>console.error("wrong")</script>',
        encoding="utf-8",
    )
    with Browser(tmp_path / "profile") as browser:
        browser.open(bad.as_uri(), 360, phone=False)
        content, window = browser.ask(WIDE)
        assert content > window
        assert min(browser.ask(CONTRAST))[0] == pytest.approx(2.32, abs=0.01)
        assert browser.ask(SMALLEST) == 8
        assert browser.ask(DRAWN)[0][0] is None
        assert browser.ask(DRAWN)[0][3] == 0
        assert any("wrong" in str(complaint) for complaint in browser.complaints)


def test_no_machine_path_in_the_page(pages):
    for path in pages.values():
        text = path.read_text(encoding="utf-8")
        assert str(Path.home()) not in text
        assert str(path.parent) not in text


def test_long_names_are_whole_in_captions(pages):
    assert f"Main effect of {EVIL}." in outline(pages["mixed"]).text


def test_tables_of_outputs_have_rows_of_their_own():
    table = [[f"x{i}", f"{i}"] for i in range(30)]
    section = html.section(
        "importance", "What matters?", [html.long_table("effects", ["Effect", "Size"], table, "")]
    )
    for letter in "ab":
        text = renamed(section, letter, f"output {letter}")
        assert re.findall(r'(?:id|data-source)="([a-z-]+-data)"', text) == [f"effects-{letter}-data"] * 2
