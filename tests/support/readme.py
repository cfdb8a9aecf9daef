"""Code blocks of a Markdown page, as the page has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: the title above it, its language, its text."""

    title: str
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = (ROOT / page).read_text()
    found = []
    for match in BLOCK.finditer(text):
        title = re.findall(r"^#+ (.*)$", text[: match.start()], re.MULTILINE)[-1]
        found.append(Block(title, match[1], match[2]))
    return found


def commands(text: str) -> list[str]:
    """Commands of a shell block: lines that end in a backslash joined, comments cut off."""
    joined = text.replace("\\\n", " ")
    return [re.sub(r"\s+# .*$", "", line).strip() for line in joined.splitlines() if line.strip()]
