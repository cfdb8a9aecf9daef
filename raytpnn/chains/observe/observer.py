"""Those who look on while the chains run: what they see changes no draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raytpnn.chains.block_report import BlockReport
    from raytpnn.chains.monitoring.monitor import Convergence

__all__ = ["Observer"]


class Observer:
    """Sees nothing; the others see more. A context manager around the run."""

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, *exception: object) -> None:
        """End of the run."""

    def block(self, worker: int, report: BlockReport) -> None:
        """Take note of a finished block."""

    def assessed(self, convergence: Convergence) -> None:
        """Take note of R-hat."""

    def tick(self) -> None:
        """Called several times a second."""
