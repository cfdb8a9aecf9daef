"""The ledger of a run: which blocks of its chains are done, with their reports, and which are to do."""

from __future__ import annotations

from dataclasses import dataclass

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.run.run import Run
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.length import Length

__all__ = ["Ledger", "new_ledger", "read_ledger"]


@dataclass
class Ledger:
    """What is known of every chain.

    Attributes
    ----------
    to_do : list of lists of int
        Blocks that each chain has yet to run, ascending.
    reports : list of dict of int to BlockReport
        By chain and block; those of an earlier session included.
    least_rounds : int
        Rounds that count at least: a run that ended with so many has thrown away what counts with fewer.
    """

    to_do: list[list[int]]
    reports: list[dict[int, BlockReport]]
    least_rounds: int = 0

    def complete_rounds(self, blocks: int) -> int:
        """Rounds that every chain has finished, from the first on."""
        missing = [chain[0] for chain in self.to_do if chain]
        return min(missing, default=blocks)


def new_ledger(length: Length) -> Ledger:
    """Nothing is done yet."""
    blocks = range(len(length.blocks()))
    return Ledger([list(blocks) for _ in range(length.chains)], [{} for _ in range(length.chains)])


def read_ledger(run: Run, keep: bool = False, draws: bool = True) -> tuple[Ledger, list[str]]:
    """What a run has done, and what is wrong with files of it.

    Parameters
    ----------
    run : Run
    keep : bool
        Keep draws that are read on the way: see `Run.contents`.
    draws : bool
        Verify the draws of the blocks too, which reads them.
    """
    ledger = new_ledger(run.length)
    ledger.least_rounds = run.dropped_rounds
    good, problems = run.good_blocks(keep, draws)
    for (chain, block), checkpoint in good.items():
        try:
            ledger.reports[chain][block] = BlockReport.of(checkpoint)
        except RunError as problem:
            problems.append(str(problem))
        else:
            ledger.to_do[chain].remove(block)
    return ledger, problems
