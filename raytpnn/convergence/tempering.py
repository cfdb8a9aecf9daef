"""What tempered ensembles report: swaps, travels, the barrier, and the log evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from raytpnn.convergence.evidence import Evidence, log_evidence

__all__ = ["TemperingReport", "TemperingSummary"]

# Replicas a unit of the barrier: neighbours then swap every other time.
REPLICAS_PER_BARRIER = 2.0


class TemperingReport:
    """How the replicas of every ensemble travelled.

    Parameters
    ----------
    ladders : sequence of dict
        One an ensemble: temperature, tried, swapped, rejection, barrier, restarts, round_trips, as the
        ensembles give them.
    level_loglik : sequence of (draws, levels)
        Log-likelihood at every level's draws, hottest first, on the user's scale, one array an ensemble.
    """

    def __init__(self, ladders: Sequence[Mapping[str, Any]], level_loglik: Sequence[np.ndarray]) -> None:
        if len(ladders) != len(level_loglik):
            raise ValueError(f"{len(ladders)} ladders, but log-likelihoods of {len(level_loglik)} ensembles")
        self.ladders = list(ladders)
        self.level_loglik = [np.asarray(part, np.float64) for part in level_loglik]

    def levels(self) -> pd.DataFrame:
        """A row an ensemble and level, hottest first.

        Returns
        -------
        DataFrame
            chain, level, temperature (inverse), loglik_mean, loglik_sd, swap_rate and rejection (mean
            rejection probability) with the next colder level; NaN where there is none or nothing was drawn.
        """
        frames = []
        for chain, (ladder, loglik) in enumerate(zip(self.ladders, self.level_loglik, strict=True)):
            levels = len(ladder["temperature"])
            tried = np.asarray(ladder["tried"], np.float64)
            rate = np.divide(ladder["swapped"], tried, out=np.full(levels - 1, np.nan), where=tried > 0)
            drawn = len(loglik) > 0
            frames.append(
                pd.DataFrame(
                    {
                        "chain": chain,
                        "level": np.arange(levels),
                        "temperature": np.asarray(ladder["temperature"], np.float64),
                        "loglik_mean": loglik.mean(axis=0) if drawn else np.nan,
                        "loglik_sd": loglik.std(axis=0) if drawn else np.nan,
                        "swap_rate": np.append(rate, np.nan),
                        "rejection": np.append(np.array(ladder["rejection"], np.float64), np.nan),
                    }
                )
            )
        return pd.concat(frames, ignore_index=True)

    def ensembles(self) -> pd.DataFrame:
        """A row an ensemble: chain, replicas, t_min, barrier, restarts, round_trips, note.

        `restarts` are replicas that came from the hot end to the cold one, `round_trips` those that went back
        again; both after warm-up. `note` says what is wrong, and what to do.
        """
        rows = []
        for chain, ladder in enumerate(self.ladders):
            barrier = ladder["barrier"]
            rows.append(
                {
                    "chain": chain,
                    "replicas": len(ladder["temperature"]),
                    "t_min": float(ladder["temperature"][0]),
                    "barrier": np.nan if barrier is None else float(barrier),
                    "restarts": int(ladder["restarts"]),
                    "round_trips": int(ladder["round_trips"]),
                    "note": _advice(ladder),
                }
            )
        return pd.DataFrame(rows)

    def summary(self) -> dict[str, Any]:
        """Everything of it that is small, for a manifest."""
        evidence = self.evidence()
        return {
            "levels": self.levels().to_dict("records"),
            "ensembles": self.ensembles().to_dict("records"),
            "evidence": {**asdict(evidence), "by_ensemble": evidence.by_ensemble.tolist()},
        }

    def evidence(self) -> Evidence:
        """Log evidence with its error, NaN with a reason where the ladders do not reach the prior."""
        return log_evidence(self.level_loglik, [np.asarray(part["temperature"]) for part in self.ladders])


@dataclass(frozen=True)
class TemperingSummary:
    """What is kept of a tempered fit.

    Attributes
    ----------
    levels : DataFrame
        A row an ensemble and level, see `TemperingReport.levels`.
    ensembles : DataFrame
        A row an ensemble, see `TemperingReport.ensembles`.
    evidence : Evidence
        Log evidence with its error: of two fits to the same response, the one with the larger is the better
        explained by its prior, family and features.
    """

    levels: pd.DataFrame
    ensembles: pd.DataFrame
    evidence: Evidence

    @staticmethod
    def of(config: Mapping[str, Any]) -> TemperingSummary:
        """Summary of a fit's config; ValueError if it was not tempered."""
        kept = config.get("tempering")
        if not kept:
            raise ValueError("the fit was not tempered: sample with tempering=raytpnn.Tempering()")
        numbers = kept["evidence"]
        by_ensemble = np.array(numbers["by_ensemble"], np.float64)
        single = {
            name: np.nan if numbers[name] is None else float(numbers[name])
            for name in ("log_evidence", "error", "forward", "backward")
        }
        evidence = Evidence(**single, by_ensemble=by_ensemble, note=numbers["note"])
        levels, ensembles = (pd.DataFrame(kept[name]) for name in ("levels", "ensembles"))
        return TemperingSummary(levels, ensembles, evidence)

    def sentences(self) -> list[str]:
        """Swaps, travels, barrier and log evidence in sentences; then what is wrong."""
        ensembles, rates = self.ensembles, self.levels["swap_rate"].dropna()
        sentences = [
            f"Every chain is the coldest of {_span(ensembles['replicas'], '.0f')} replicas, the hottest at "
            f"{_span(ensembles['t_min'], '.2g')} of the log-likelihood.",
            f"Neighbours swapped in {_span(rates, '.0%')} of the attempts, with "
            f"{_span(ensembles['round_trips'], '.0f')} round trips per chain between the ends; the barrier "
            f"is {_span(ensembles['barrier'], '.1f')}.",
        ]
        evidence = self.evidence
        if np.isfinite(evidence.log_evidence):
            sentences.append(
                f"Log evidence: {evidence.log_evidence:.2f}, standard error {evidence.error:.2f}."
            )
        if evidence.note:
            sentences.append(f"Log evidence: {evidence.note}.")
        for chain, note in zip(ensembles["chain"], ensembles["note"], strict=True):
            if note:
                sentences.append(f"Chain {chain}: {note}.")
        return sentences


def _span(values: pd.Series, form: str) -> str:
    """Least and largest of some numbers, or one if they look alike."""
    known = values.dropna().astype(float)
    if known.empty:
        return "-"
    low, high = f"{known.min():{form}}", f"{known.max():{form}}"
    return low if low == high else f"{low} to {high}"


def _advice(ladder: Mapping[str, Any]) -> str:
    """What is wrong with a ladder; empty if nothing is."""
    barrier, replicas = ladder["barrier"], len(ladder["temperature"])
    if barrier is None:
        return "no swaps after warm-up yet"
    if ladder["restarts"] > 0:
        return ""
    enough = int(np.ceil(REPLICAS_PER_BARRIER * barrier)) + 1
    if enough > replicas:
        return (
            f"no replica came from the hot end to the cold one: a barrier of {barrier:.1f} wants about "
            f"{enough} replicas, not {replicas}, or a larger t_min"
        )
    return "no replica came from the hot end to the cold one: more sweeps are needed"
