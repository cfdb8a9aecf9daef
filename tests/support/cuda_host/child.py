"""What a process of its own says of kernels: broken ones may crash or never end."""

from __future__ import annotations

import faulthandler
import multiprocessing
from collections.abc import Callable
from typing import Any


def said_in_child(seconds: float, question: Callable[..., str], *arguments: Any) -> str:
    """Answer of a function in a forked process; "never ends" or "crash CODE" if there is none."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def ask() -> None:
        # Crashes are among the answers: no reports of them.
        faulthandler.disable()
        answers.put(question(*arguments))

    child = context.Process(target=ask)
    child.start()
    child.join(seconds)
    if child.is_alive():
        child.kill()
        child.join()
        return "never ends"
    return answers.get(timeout=5) if child.exitcode == 0 else f"crash {child.exitcode}"
