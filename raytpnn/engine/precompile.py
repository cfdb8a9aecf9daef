"""The first compilation on a machine, shared with a second process.

Numba compiles one function at a time. When the cache is cold, a helper process compiles some of the units
into the cache while this one encodes the data and compiles the others; whatever the helper did not do is
done here, so that nothing depends on it. Set RAYTPNN_COMPILE_HELPER=0 to do without.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from raytpnn.engine.jit.function_table import UNIT_NAMES, compile_unit, family_address, is_cached
from raytpnn.engine.sweeps import ensemble  # noqa: F401  It imports every move: all units are declared.
from raytpnn.engine.sweeps.sweep import run_block
from raytpnn.families import FAMILIES

__all__ = ["UNIT_NAMES", "CompileHelper", "is_cached"]

# About half of the work, and little that the other half needs too.
HELPERS_SHARE = (
    "begin_block",
    "joint_beta",
    "log_ratio_of_move",
    "step_factor",
    "sweep",
    "term_tables",
    "try_restructure",
    "update_intercept",
    "draw_scales",
    "draw_nuisance",
)
# Far more than it takes; after that this process compiles all by itself.
PATIENCE_SECONDS = 120.0


class CompileHelper:
    """Starts the helper process if the cache is cold; `finish` makes every unit ready.

    A context manager: whatever happens before `finish`, the process does not stay behind.

    Parameters
    ----------
    wanted : bool
        Whether anything is to be compiled here at all.
    """

    def __init__(self, wanted: bool = True) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        wanted = wanted and os.environ.get("RAYTPNN_COMPILE_HELPER", "1") != "0"
        cold = not is_cached("joint_beta") and not is_cached("evaluate")
        if wanted and cold and sys.executable and (os.cpu_count() or 1) > 1:
            # -P: the package that this process uses, not one that lies in the current folder.
            command = [sys.executable, "-P", "-m", "raytpnn.engine.precompile"]
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            except OSError:
                self._process = None

    def __enter__(self) -> CompileHelper:
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def _end(self) -> None:
        """End the helper, if it is there."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def finish(self) -> None:
        """Compile the rest here, wait for the helper, and take what it compiled from the cache."""
        if self._process is None:
            return
        try:
            for name in UNIT_NAMES:
                if name not in HELPERS_SHARE:
                    compile_unit(name)
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._end()
        compile_units()


def compile_units() -> None:
    """Compile all units that a chain of any family needs."""
    for name in UNIT_NAMES:
        compile_unit(name)
    for family in FAMILIES.values():
        family_address(family)


def compile_all() -> None:
    """Compile everything that a chain needs, so that other processes find it in the cache."""
    CompileHelper().finish()
    compile_units()
    compile_block_runner()


def compile_block_runner() -> None:
    """Compile what calls the units."""
    from numba import typeof, types

    from raytpnn.engine.chain import new_record
    from raytpnn.engine.jit.signatures import CHAIN
    from raytpnn.engine.problem import new_record_of
    from raytpnn.engine.records import SETTINGS

    settings = new_record_of(SETTINGS)
    settings.K_max = settings.max_order = 1
    record = typeof(new_record(settings, 1, np.zeros(0, np.int64)))
    run_block.compile((*CHAIN, record, *[types.int64] * 4))


def main() -> None:
    """What the helper process does."""
    for name in HELPERS_SHARE:
        compile_unit(name)
    compile_block_runner()


if __name__ == "__main__":
    main()
