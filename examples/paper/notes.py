"""Words of RESULTS.md that no module has: how to read it, commands that differ, what the figures say."""

from __future__ import annotations

__all__ = ["COMMANDS", "INTRODUCTION", "NOTES", "NOT_RUN"]

INTRODUCTION = "# Results"
COMMANDS: dict[str, str] = {}
NOT_RUN: dict[str, str] = {}
NOTES: dict[str, str] = {}
