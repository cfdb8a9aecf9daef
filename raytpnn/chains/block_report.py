"""The report on a finished block."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from raytpnn.chains.monitoring.watched import Watched
from raytpnn.storage.checks import mapping, named, number, whole
from raytpnn.storage.formats.checkpoint import Checkpoint, checkpoint_name

__all__ = ["BlockReport"]

MOST_COUNT = 1 << 53


@dataclass(frozen=True)
class BlockReport:
    """The report of a worker on a finished block.

    Attributes
    ----------
    chain, block, sweeps : int
        Sweeps of the chain in all, this block included.
    terms : int
        K after the block.
    loglik : float
        Of the last draw; NaN in warm-up.
    acceptance : dict of str to (int, int)
        Proposals and acceptances of every move since the chain began.
    watched : Watched or None
        None if the block kept no draws.
    draws : int
        Draws that the block kept.
    draws_sha256 : str or None
        Checksum of their file, computed when it was written: it need not be read back to be known.
    usage : dict of int to int
        How many terms hold each feature after the block; empty if nobody learns from it.
    ladder : dict
        Temperatures, swaps and travels of an ensemble since warm-up; empty without tempering.
    screening : dict
        What delayed acceptance did since the chain began, by group of moves; empty without it.
    seconds : float
        NaN if it was found finished.
    where : dict
        Node and process that ran it.
    """

    chain: int
    block: int
    sweeps: int
    terms: int
    loglik: float
    acceptance: dict[str, tuple[int, int]]
    watched: Watched | None
    draws: int = 0
    draws_sha256: str | None = None
    usage: dict[int, int] = field(default_factory=dict)
    ladder: dict[str, Any] = field(default_factory=dict)
    screening: dict[str, Any] = field(default_factory=dict)
    seconds: float = math.nan
    where: dict[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """What a checkpoint keeps of it; the same whoever ran the block."""
        loglik = None if math.isnan(self.loglik) else self.loglik
        facts: dict[str, Any] = {"terms": self.terms, "loglik": loglik, "acceptance": self.acceptance}
        if self.usage:
            facts["usage"] = list(self.usage.items())
        if self.screening:
            facts["screening"] = self.screening
        return facts | {"ladder": self.ladder} if self.ladder else facts

    @staticmethod
    def of(checkpoint: Checkpoint) -> BlockReport:
        """Report on a block of an earlier session; RunError if the checkpoint does not hold one."""
        chain, block, facts = checkpoint.chain, checkpoint.block, checkpoint.facts
        with named(checkpoint_name(chain, block)):
            watched = Watched.unpack(checkpoint.watched) if checkpoint.watched else None
            if (watched.n_draws if watched else 0) != checkpoint.draws:
                raise ValueError(f"it kept {checkpoint.draws} draws, but others were watched")
            loglik = facts["loglik"]
            return BlockReport(
                chain=chain,
                block=block,
                sweeps=checkpoint.first + checkpoint.sweeps,
                terms=whole(facts["terms"], "terms", 0, MOST_COUNT),
                loglik=math.nan if loglik is None else number(loglik, "loglik"),
                acceptance={
                    move: (whole(tried, move, 0, MOST_COUNT), whole(taken, move, 0, MOST_COUNT))
                    for move, (tried, taken) in mapping(facts["acceptance"], "acceptance").items()
                },
                watched=watched,
                draws=checkpoint.draws,
                draws_sha256=checkpoint.draws_sha256,
                usage={
                    whole(feature, "a feature", 0, MOST_COUNT): whole(terms, "terms", 0, MOST_COUNT)
                    for feature, terms in facts.get("usage", [])
                },
                ladder=mapping(facts.get("ladder", {}), "ladder"),
                screening=mapping(facts.get("screening", {}), "screening"),
            )
