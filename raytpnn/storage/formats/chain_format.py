"""The format of chains that can be gone on with.

It is a number of its own, not the version of the package: releases that keep it resume each other's runs.
Raise it whenever a chain of an unfinished run would go on otherwise than it began: another layout of STATE,
SETTINGS or LADDER, another use of random numbers, other moves. Then write a fixture for it:

    python tests/fixtures/make_unfinished.py
"""

from __future__ import annotations

from typing import Any

from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.manifest import writer_of

__all__ = ["CHAIN_FORMAT", "READABLE", "refuse_other_format"]

CHAIN_FORMAT = 4
# Formats whose chains go on as they began: `engine/older_records.py` turns their records into today's.
READABLE = (1, 2, 3, CHAIN_FORMAT)


def refuse_other_format(manifest: dict[str, Any], where: str) -> None:
    """Raise if the chains of a run are in another format; `where` names the manifest."""
    # Runs of the time before formats had numbers have none.
    found = manifest["plan"].get("chain_format", 0)
    if found in READABLE:
        return
    writer = writer_of(manifest)
    readable = " and ".join(str(number) for number in READABLE)
    raise RunError(
        f"{where}: the chains of the run are in format {found!r:.20}, written by raytpnn {writer}; this "
        f"version goes on with formats {readable}. Install raytpnn {writer} to go on with the run, or fit "
        "again; what it has drawn can still be loaded"
    )
