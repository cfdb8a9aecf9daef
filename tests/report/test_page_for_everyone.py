"""The page for everyone: contrast, headings, alternative texts, names of controls, phones, no complaints."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest

pytest.importorskip("jinja2", reason="the page needs Jinja: pip install 'raytpnn[report]'")

from support.chromium import BINARY, Browser
from support.report_cases import classes, mixed

from raytpnn.report import write_report

pytestmark = pytest.mark.skipif(BINARY is None, reason="no Chromium here (Debian: apt-get install chromium)")

# Ratio of luminances of every visible text and what is behind it, by WCAG; the words of those that are low.
CONTRAST = """(() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !node.getClientRects().length) continue;
    if (["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(node.tagName)) continue;
    const style = getComputedStyle(node);
    const front = parse(node instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(front), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
    count += 1;
    if (ratio < (size >= 24 ? 3 : 4.5)) low.push([walk.currentNode.textContent.trim().slice(0, 40), ratio]);
  }
  return [count, low];
})()"""
HEADINGS = "[...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1]))"
NAMELESS = """[...document.querySelectorAll('svg, input, select, button, a, [role=region]')].filter(node => {
  const own = node.getAttribute('aria-label') || node.textContent.trim()
    || (node.labels && node.labels.length ? node.labels[0].textContent : '');
  return !own;
}).map(node => node.outerHTML.slice(0, 80))"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module", params=["numbers", "classes"])
def page(request, tmp_path_factory):
    post = mixed()[0] if request.param == "numbers" else classes()[0]
    selected = pd.DataFrame({"component": [("age",), ("age", "income")], "q_value": [0.01, 0.04]})
    path = tmp_path_factory.mktemp("page") / "p.html"
    return write_report(post, path, target="price", selected=selected)


def scheme(browser, name):
    browser.call(
        "Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": name}]
    )


@pytest.mark.parametrize("name", ["light", "dark"])
def test_text_stands_out(browser, page, name):
    scheme(browser, name)
    browser.open(page.as_uri(), 1280)
    count, low = browser.ask(CONTRAST)
    assert count > 200
    assert low == []
    browser.ask("document.querySelector('h1').style.color = getComputedStyle(document.body).backgroundColor")
    background = "rgb(21, 24, 28)" if name == "dark" else "rgb(255, 255, 255)"
    browser.ask(f"document.querySelector('h1').style.color = '{background}'")
    assert [words for words, _ in browser.ask(CONTRAST)[1]] == ["What predicts price"], "the check sees it"
    scheme(browser, "light")


def test_headings_do_not_skip(browser, page):
    browser.open(page.as_uri(), 1280)
    levels = browser.ask(HEADINGS)
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_all_has_a_name(browser, page):
    browser.open(page.as_uri(), 1280)
    assert browser.ask(NAMELESS) == []
    titles = browser.ask(
        "[...document.querySelectorAll('svg')].map(s => s.getAttribute('aria-label') || "
        "(s.querySelector('title') || {}).textContent)"
    )
    assert all(titles)
    assert len(set(titles)) == len(titles), "no two drawings are called alike"


def test_a_phone_shows_it_without_scrolling_sideways(browser, page):
    browser.open(page.as_uri(), 390, 844, phone=True)
    assert browser.ask(WIDE) == 0
    clipped = browser.ask(
        "[...document.querySelectorAll('caption span')]"
        ".filter(s => s.getBoundingClientRect().right > 391).length"
    )
    assert clipped == 0, "captions are read without scrolling their table"


def test_nothing_is_complained_of_and_nothing_is_fetched(browser, page):
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(page.as_uri(), 1280)
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
    assert page.stat().st_size < 3_000_000


def test_effects_are_filtered_by_their_order(browser, page):
    browser.open(page.as_uri(), 1280)
    first = "[...document.querySelector('#importance table tbody').rows].map(r => r.cells[0].textContent)"
    choose = (
        "(() => { const s = document.querySelector('#importance select'); s.value = '2';"
        " s.dispatchEvent(new Event('change')); })()"
    )
    browser.ask(choose)
    names = browser.ask(first)
    assert names
    assert all(name.count(" × ") == 1 for name in names)
