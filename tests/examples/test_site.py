"""The site of guide and API reference is built, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("mkdocs", reason="needs mkdocs and mkdocstrings: pip install 'raytpnn[docs]'")
pytest.importorskip("mkdocstrings", reason="needs mkdocs and mkdocstrings: pip install 'raytpnn[docs]'")

ROOT = Path(__file__).parents[2]
# Pages of the repository that are not part of the site.
OUTSIDE = ("../", "http", "mailto:", "data:", ".ipynb")


def test_site_is_built_and_its_links_lead_somewhere(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    api = (tmp_path / "site/api/index.html").read_text(encoding="utf-8")
    for name in ("predict_interval", "summary", "Parameters", "sigma_beta2"):
        assert name in api, name
    site = tmp_path / "site"
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
