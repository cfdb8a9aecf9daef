"""The page in a real browser, used: sorted, searched, pointed at, with the keyboard; and large pages."""

from __future__ import annotations

import pandas as pd
import pytest

pytest.importorskip("jinja2", reason="the page needs Jinja: pip install 'raytpnn[report]'")

from support.chromium import BINARY, Browser
from support.report_cases import mixed

from raytpnn.report import html, write_report
from raytpnn.report.page.sections.selected import selected_section
from raytpnn.report.page.write import html_safe, page_template

pytestmark = pytest.mark.skipif(BINARY is None, reason="no Chromium here (Debian: apt-get install chromium)")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    post, _, _ = mixed()
    return write_report(post, tmp_path_factory.mktemp("page") / "p.html", target="price", data="homes.csv")


FIRST = "document.querySelector('#effects-list tbody tr, .long tbody tr').cells"
EFFECTS = "document.querySelector('#effects.long')"


def test_first_screen_answers(browser, page):
    browser.open(page.as_uri(), 1280)
    assert browser.ask("document.querySelector('h1').textContent") == "What predicts price"
    assert "homes.csv" in browser.ask("document.querySelector('header').textContent")
    bottom = browser.ask("document.querySelector('.answers').getBoundingClientRect().bottom")
    assert bottom < 800, "the answers stand on the first screen"
    text = browser.ask("document.querySelector('.answers').textContent")
    for words in ("real at a false discovery rate of 10%", "explains", "90% predictive intervals hold", "--"):
        assert words in text


def test_tables_sort_and_search(browser, page):
    browser.open(page.as_uri(), 1280)
    long = "document.querySelector('.long')"
    column = f"[...{long}.querySelectorAll('tbody tr')].map(r => parseFloat(r.cells[1].textContent))"
    heads = f"{long}.querySelectorAll('thead button')"
    browser.ask(f"{heads}[1].click()")
    falling = browser.ask(column)
    assert falling == sorted(falling, reverse=True)
    browser.ask(f"{heads}[1].click()")
    rising = browser.ask(column)
    assert rising == sorted(rising)
    assert rising[0] < falling[-1], "all rows are sorted, not only those shown"
    assert browser.ask(f"{long}.querySelector('[aria-sort]').getAttribute('aria-sort')") == "ascending"
    browser.ask(
        f"(() => {{ const s = {long}.querySelector('input'); s.value = 'INCOME';"
        " s.dispatchEvent(new Event('input')); })()"
    )
    names = browser.ask(f"[...{long}.querySelectorAll('tbody tr')].map(r => r.cells[0].textContent)")
    assert names
    assert all("income" in name for name in names)
    assert browser.complaints == []


def test_values_on_hover_and_by_keys(browser, page):
    browser.open(page.as_uri(), 1280)
    browser.ask("document.querySelector('.drawing svg').scrollIntoView()")
    x, y = browser.ask(
        "(() => { const b = document.querySelector('.drawing svg').getBoundingClientRect();"
        " return [b.left + b.width / 2, b.top + b.height / 2]; })()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    shown = browser.ask("document.querySelector('.drawing output').textContent")
    assert "(90% " in shown
    browser.ask("document.querySelectorAll('.drawing')[1].focus()")
    for _ in range(3):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight")
    assert "(90% " in browser.ask("document.querySelectorAll('.drawing output')[1].textContent")


def test_a_row_is_picked_and_explained(browser, page):
    browser.open(page.as_uri(), 1280)
    browser.ask(
        "(() => { const p = document.getElementById('picked'); p.value = '7';"
        " p.dispatchEvent(new Event('change')); })()"
    )
    text = browser.ask("document.getElementById('picked-row').textContent")
    number = browser.ask("document.getElementById('picked').selectedOptions[0].textContent")
    assert text.startswith(f"Row {number}: predicted ")
    adds = browser.ask("[...document.querySelectorAll('#picked-row td.number')].map(c => c.textContent)")
    sizes = [abs(float(value.replace("−", "-"))) for value in adds]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 3


def test_all_can_be_reached_by_the_keyboard(browser, page):
    browser.open(page.as_uri(), 1280)
    browser.ask("document.body.focus()")
    seen = []
    for _ in range(12):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        seen.append(browser.ask("document.activeElement.tagName + '.' + document.activeElement.className"))
    assert seen[0] == "A.skip"
    assert any(name.startswith("DIV.drawing") for name in seen)


def test_print_shows_all_without_tools(browser, page):
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    browser.open(page.as_uri(), 800)
    assert browser.ask("getComputedStyle(document.querySelector('.tools')).display") == "none"
    assert browser.ask("getComputedStyle(document.querySelector('figure')).display") != "none"
    browser.call("Emulation.setEmulatedMedia", media="", features=[])


def test_twenty_thousand_effects_stay_small_and_usable(browser, tmp_path):
    table = pd.DataFrame(
        {
            "component": [(f"gene {i}", f"gene {i * 7 % 20000}") for i in range(20_000)],
            "size": [1.0 / (i + 1) for i in range(20_000)],
            "q_value": [i / 20_000 for i in range(20_000)],
        }
    )
    from importlib.resources import files

    folder = files("raytpnn.report.page")
    script = (folder / "page.js").read_text(encoding="utf-8")
    import base64
    import hashlib

    code = f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
    text = page_template().render(
        title="Large",
        style=html_safe((folder / "page.css").read_text(encoding="utf-8")),
        script=html_safe(script),
        script_hash=html_safe(code),
        summary="",
        answers=[],
        links=[],
        sections=html_safe(selected_section(table)),
        footer="",
        live=False,
    )
    path = tmp_path / "large.html"
    path.write_text(text, encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    browser.complaints.clear()
    browser.open(path.as_uri(), 1280)
    assert browser.ask("document.querySelectorAll('tbody tr').length") < 200
    browser.ask("document.querySelectorAll('thead button')[2].click()")
    browser.ask(
        "(() => { const s = document.querySelector('input'); s.value = 'gene 19999';"
        " s.dispatchEvent(new Event('input')); })()"
    )
    assert "gene 19999" in browser.ask("document.querySelector('tbody').textContent")
    assert browser.complaints == []


def test_data_cannot_end_their_element():
    text = html.data("x", ["</script><script>alert(1)</script>", "a & b"])
    assert text.count("<script") == 1
    assert text.count("</script>") == 1
