"""The site of guide and API reference is built, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import pytest

pytest.importorskip("mkdocs", reason="needs mkdocs and mkdocstrings: pip install 'raytpnn[docs]'")
pytest.importorskip("mkdocstrings", reason="needs mkdocs and mkdocstrings: pip install 'raytpnn[docs]'")

from support.chromium import BINARY, Browser

ROOT = Path(__file__).parents[2]
# Pages of the repository that are not part of the site.
OUTSIDE = ("../", "http", "mailto:", "data:", ".ipynb")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as the guide says."""
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_links_lead_somewhere(site):
    api = (site / "api/index.html").read_text(encoding="utf-8")
    for name in (
        "predict_interval",
        "summary",
        "Parameters",
        "sigma_beta2",
        "Most sweeps of each chain, warm-up",
    ):
        assert name in api, name
    broken = []
    assert not re.search(r'<(?:script|link)[^>]*(?:src|href)="https?:', api), (
        "nothing is fetched from other sites"
    )
    for page in site.rglob("index.html"):
        text = page.read_text(encoding="utf-8")
        for address in re.findall(r'(?:href|src)="([^"#]+)', text):
            target = (page.parent / unquote(unescape(address).split("?")[0])).resolve()
            inside = target.is_relative_to(site.resolve())
            if inside and not address.startswith(("http", "data:", "mailto:")) and not target.exists():
                broken.append((page.relative_to(site).as_posix(), address))
    assert [link for link in broken if not link[1].endswith((".ipynb", ".md"))] == []


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Say nothing of requests."""


@pytest.mark.skipif(BINARY is None, reason="no Chromium here (Debian: apt-get install chromium)")
def test_every_page_in_a_browser(site, tmp_path):
    """No complaint, nothing fetched from elsewhere, a picture has words, and a phone shows all of it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        with Browser(tmp_path / "profile") as browser:
            for page in sorted(site.rglob("index.html")):
                address = root + page.relative_to(site).as_posix().removesuffix("index.html")
                browser.open(address, 390, 844, phone=True)
                wide = browser.ask("document.documentElement.scrollWidth")
                assert wide <= 390, f"{address} is {wide} pixels wide on a phone"
                assert browser.ask("[...document.images].filter(i => !i.alt || !i.naturalWidth).length") == 0
                assert browser.ask("document.querySelectorAll('h1').length") == 1, address
            bad = [c for c in browser.complaints if c.get("entry", {}).get("level", "error") == "error"]
            assert bad == []
            assert [url for url in browser.requests if not url.startswith((root, "data:"))] == []
    finally:
        server.shutdown()
        server.server_close()
