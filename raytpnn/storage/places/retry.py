"""Storage errors that pass: tried again with growing pauses, for as long as patience lasts.

The environment variable RAYTPNN_STORAGE_PATIENCE sets the seconds for which one operation is tried again.
"""

from __future__ import annotations

import errno
import os
import random
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["default_patience", "passes", "patiently"]

T = TypeVar("T")

PATIENCE_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
PASSING = frozenset(
    getattr(errno, name)
    for name in (
        *("EAGAIN", "EBUSY", "EINTR", "EIO", "ESTALE", "ETIMEDOUT", "ENOSPC", "EDQUOT", "ENOBUFS", "ENOMEM"),
        *("ECONNRESET", "ECONNABORTED", "ECONNREFUSED", "ENOTCONN", "EPIPE", "EREMOTEIO", "EMFILE", "ENFILE"),
        *("ENETDOWN", "ENETUNREACH", "ENETRESET", "EHOSTDOWN", "EHOSTUNREACH", "ECOMM", "ENOLINK"),
    )
    if hasattr(errno, name)
)
# What object stores say that no time will mend.
FINAL_WORDS = (
    *("access_denied", "accessdenied", "access denied", "no_such_bucket", "nosuchbucket", "forbidden"),
    *("invalid_access_key", "invalidaccesskeyid", "signature", "unauthenticated", "permission"),
    *("not_found", "not found", "does not exist", "invalid_argument", "http status 400", "credentials"),
)


def default_patience() -> float:
    """Seconds for which an operation is tried again."""
    wish = os.environ.get("RAYTPNN_STORAGE_PATIENCE")
    if wish is None:
        return PATIENCE_SECONDS
    try:
        return max(float(wish), 0.0)
    except ValueError:
        raise ValueError(f"RAYTPNN_STORAGE_PATIENCE must be a number of seconds, got {wish!r}") from None


def passes(problem: OSError) -> bool:
    """Whether an error may be gone when the same is tried a little later."""
    if isinstance(problem, (FileNotFoundError, FileExistsError, PermissionError, NotADirectoryError)):
        return False
    if problem.errno is not None:
        return problem.errno in PASSING
    # Object stores tell their errors in words.
    words = str(problem).lower()
    return not any(final in words for final in FINAL_WORDS)


def patiently(action: Callable[[], T], seconds: float) -> T:
    """Do something with storage, again after errors that pass.

    Parameters
    ----------
    action : callable
        Done twice, it must be as if done once.
    seconds : float
        How long errors are borne.

    Raises
    ------
    OSError
        The last error, which then says how long it was tried, or one that does not pass.
    """
    pause, begin = FIRST_PAUSE, time.monotonic()
    while True:
        try:
            return action()
        except OSError as problem:
            left = seconds - (time.monotonic() - begin)
            if not passes(problem):
                raise
            if left <= 0.0:
                raise given_up(problem, seconds) from None
            # Many workers should not all come again at the same moment.
            time.sleep(min(pause * random.uniform(0.5, 1.5), left))
            pause = min(2.0 * pause, LONGEST_PAUSE)


def given_up(problem: OSError, seconds: float) -> OSError:
    """The error that did not pass, with how long it was tried."""
    tried = f"tried again for {seconds:g} s" if seconds else "not tried again"
    if problem.errno is None:
        return OSError(errno.EIO, f"{problem} ({tried})")
    words = f"{problem.strerror} ({tried})"
    return OSError(problem.errno, words, *([problem.filename] if problem.filename else []))
