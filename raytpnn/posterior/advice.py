"""Did the chains converge, and what should a person do if not: in words, with numbers to put in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.posterior.diagnostics import assess
from raytpnn.posterior.odd_chains import OddChain, odd_chains, worst_rhat

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Evidence", "Judgement", "convergence_of", "is_inner", "judge", "of_components", "worst_of"]

# Vehtari et al. (2021): R-hat below 1.01, and 400 effective draws in all.
GOOD_RHAT, FAIR_RHAT = 1.01, 1.05
GOOD_ESS, FAIR_ESS = 400.0, 100.0
# What a sampler moves through on the way; chains may differ here and still predict the same.
INNER = ("K", "mean order", "b_gamma", "sigma_beta2")
# Which components a draw holds: the slowest to settle, and read by people, so that they are told apart.
OF_COMPONENTS = ("component[", "inclusion[")
# Beyond so many times as many draws, longer chains are not the cure.
MOST_LONGER = 20.0
# Sweeps of warm-up below which chains are seldom where they should be.
SHORT_WARMUP = 500
# Share of draws at the limit of K from which the limit matters.
AT_LIMIT = 0.05


@dataclass(frozen=True)
class Evidence:
    """What chains have shown.

    Attributes
    ----------
    quantities : dict of str to (chains, draws)
        What is compared between chains.
    chains : tuple of int
        Numbers of the chains.
    acceptance : tuple of dict
        Proposals and acceptances by move, a dict a chain.
    run : str
        How a command should call the run.
    resumable : bool
        Whether its chains can be gone on with.
    unfinished : bool
        Whether blocks that were planned are missing.
    config : dict
        warmup, draws, thin and prior of the run, where known.
    """

    quantities: dict[str, np.ndarray]
    chains: tuple[int, ...]
    acceptance: tuple[dict[str, tuple[int, int]], ...] = ()
    run: str = "RUN"
    resumable: bool = True
    unfinished: bool = False
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def draws(self) -> int:
        """Draws of each chain."""
        return min((values.shape[1] for values in self.quantities.values()), default=0)


@dataclass(frozen=True)
class Judgement:
    """An answer.

    Attributes
    ----------
    state : {"yes", "nearly", "no", "unknown"}
    headline : str
    odd : list of OddChain
    advice : list of str
        What to do; empty if nothing is.
    """

    state: str
    headline: str
    odd: list[OddChain]
    advice: list[str]


def convergence_of(evidence: Evidence) -> pd.DataFrame:
    """R-hat and effective numbers of draws of everything that varies, the worst first.

    Returns
    -------
    DataFrame
        quantity, rhat, ess_bulk, ess_tail, note; as `Posterior.diagnostics`.
    """
    import pandas as pd

    rows = [assess(name, values, []) for name, values in evidence.quantities.items() if np.ptp(values) > 0.0]
    table = pd.DataFrame(rows, columns=["quantity", "rhat", "ess_bulk", "ess_tail", "note"])
    return table.sort_values("rhat", ascending=False, kind="stable", ignore_index=True, na_position="first")


def judge(
    evidence: Evidence,
    table: pd.DataFrame,
    reached: bool | None = None,
    target_rhat: float | None = None,
    target_ess: float | None = None,
    trusted_ess: float = 0.0,
) -> Judgement:
    """Judge chains by what they have shown.

    Parameters
    ----------
    evidence : Evidence
    table : DataFrame
        `convergence_of` the evidence.
    reached : bool, optional
        Whether targets that were given are met. Without targets, R-hat at most 1.01 and 400 effective draws
        are asked of f, the log-likelihood, the intercept, the noise and the features' importances, but not
        of K, the order of terms, the learned scales and single components: those are told beside.
    target_rhat, target_ess : float, optional
        The targets, for the words.
    trusted_ess : float
        Effective draws below which the target of R-hat does not count as met.
    """
    if not evidence.draws:
        return Judgement("unknown", "It cannot be told: there is no draw yet.", [], first_aid(evidence))
    if len(evidence.chains) < 2:
        headline = "It cannot be told: R-hat compares chains, and one only has draws."
        advice = first_aid(evidence) if evidence.unfinished else [more_chains(evidence)]
        return Judgement("unknown", headline, [], advice)
    # Targets are about what is watched while chains run, K included.
    beside = of_components(table) if reached is not None else table["quantity"].map(is_inner)
    decisive = table[~beside.astype(bool)]
    name, rhat, ess = worst_of(decisive)
    if math.isnan(rhat) or math.isnan(ess):
        headline = f"It cannot be told: {evidence.draws} draws a chain are too few, or nothing varies."
        return Judgement("unknown", headline, [], first_aid(evidence))
    compared = {name: evidence.quantities[name] for name in decisive["quantity"]}
    odd = odd_chains(compared, evidence.chains, evidence.acceptance)
    figures = f"the worst R-hat is {rhat:.3f} ({name}), the least effective number of draws {ess:.0f}"
    if reached is not None:
        state = "yes" if reached else "no"
        aims = [f"R-hat {target_rhat:g}"] if target_rhat is not None else []
        aims += [f"{target_ess:g} effective draws"] if target_ess is not None else []
        headline = f"{'Yes' if reached else 'No'}, by the target of {' and '.join(aims)}: {figures}"
        if target_rhat is not None and rhat <= target_rhat and ess < trusted_ess:
            headline += f"; below {trusted_ess:.0f} effective draws R-hat is not to be trusted"
        headline += "."
    else:
        state, words = in_words(rhat, ess)
        headline = f"{words}: {figures}."
    wanted_ess = max(target_ess or 0.0, GOOD_ESS)
    advice = [] if state == "yes" else what_to_do(evidence, rhat, ess, wanted_ess, odd)
    if state == "yes" or rhat <= FAIR_RHAT:
        advice += about_inner(table)
    return Judgement(state, headline, odd, advice)


def is_inner(name: str) -> bool:
    """Whether a quantity is one that predictions do not rest on."""
    return name in INNER or name.startswith(OF_COMPONENTS)


def of_components(table: pd.DataFrame) -> pd.Series:
    """Whether rows of a table are about single components."""
    return table["quantity"].str.startswith(OF_COMPONENTS)


def in_words(rhat: float, ess: float) -> tuple[str, str]:
    """State and first words by the usual limits."""
    if rhat <= GOOD_RHAT and ess >= GOOD_ESS:
        return "yes", "Yes, the chains agree on everything that predictions rest on"
    if rhat <= FAIR_RHAT and ess >= FAIR_ESS:
        return "nearly", "Nearly: means can be used, ends of bands and intervals are still rough"
    if rhat <= FAIR_RHAT:
        return "no", "Not yet: the chains agree, but they have too few effective draws"
    return "no", "No, the chains have not found the same posterior"


def worst_of(table: pd.DataFrame) -> tuple[str, float, float]:
    """Quantity with the largest R-hat, that R-hat, and the smallest ESS, bulk or tail; NaN if unknown."""
    known = table.dropna(subset=["rhat", "ess_bulk", "ess_tail"])
    if known.empty:
        return "nothing", math.nan, math.nan
    worst = int(known["rhat"].to_numpy().argmax())
    ess = known[["ess_bulk", "ess_tail"]].to_numpy().min()
    return str(known["quantity"].iloc[worst]), float(known["rhat"].iloc[worst]), float(ess)


def what_to_do(
    evidence: Evidence, rhat: float, ess: float, wanted_ess: float, odd: list[OddChain]
) -> list[str]:
    """Advice for chains that do not agree, or have too few effective draws."""
    advice = first_aid(evidence) if evidence.unfinished else []
    if odd and rhat > GOOD_RHAT:
        advice.append(about_odd(odd, evidence))
    if rhat > FAIR_RHAT and (late := still_moving(evidence, rhat) or short_warmup(evidence)):
        advice.append(late)
    elif not evidence.unfinished:
        advice.append(more_draws(evidence, ess, wanted_ess))
    if len(evidence.chains) < 4:
        advice.append(more_chains(evidence))
    if limit := at_limit(evidence):
        advice.append(limit)
    if rhat > FAIR_RHAT and ess * MOST_LONGER < wanted_ess:
        advice.append(if_all_else_fails(evidence))
    return advice


def if_all_else_fails(evidence: Evidence) -> str:
    """Advice for chains that are far from agreeing."""
    cures = ["a simpler prior ([prior] max_order = 2 or a smaller K_max in the config file)"]
    if evidence.config.get("tempering") is None:
        cures.insert(0, "replicas at higher temperatures, which cross from mode to mode (`--replicas 8`)")
    if evidence.config.get("feature_weights") is None:
        cures.append("on wide data, features that are proposed more often (`--feature-weights marginal`)")
    return (
        "If long chains still disagree, the posterior has several modes or the moves are too timid for it. "
        f"What may help: {'; '.join(cures)}."
    )


def first_aid(evidence: Evidence) -> list[str]:
    """Advice while there is little to go by."""
    if evidence.unfinished:
        return [f"The run has not ended: `raytpnn resume {evidence.run}` goes on with it."]
    if evidence.resumable:
        return [f"Draw more: `raytpnn resume {evidence.run} --draws {max(1000, 2 * evidence.draws)}`."]
    return ["Fit again with 1,000 draws or more."]


def about_odd(odd: list[OddChain], evidence: Evidence) -> str:
    """Advice about chains unlike the others."""
    names = " and ".join(str(chain.chain) for chain in odd)
    plural = len(odd) > 1
    warmup = doubled_warmup(evidence)
    return (
        f"Chain{'s' * plural} {names} {'are' if plural else 'is'} unlike the others. Do not throw "
        f"{'them' if plural else 'it'} out: {'they' if plural else 'it'} may have found a part of the "
        f"posterior that the others missed. Fit again with a longer warm-up (`--warmup {warmup}`) and "
        "another `--seed`, and see whether it happens again."
    )


def still_moving(evidence: Evidence, rhat: float) -> str:
    """Advice if the second half of the draws agrees far better than all of them."""
    half = {name: values[:, values.shape[1] // 2 :] for name, values in evidence.quantities.items()}
    late = worst_rhat({name: values for name, values in half.items() if not is_inner(name)})
    if late - 1.0 > 0.5 * (rhat - 1.0):
        return ""
    return (
        f"The chains were still on their way when the draws began: over the second half of the draws the "
        f"worst R-hat is {late:.3f}, not {rhat:.3f}. Fit again with a longer warm-up: "
        f"`--warmup {doubled_warmup(evidence)}`."
    )


def short_warmup(evidence: Evidence) -> str:
    """Advice if the warm-up is known to be too short for most data."""
    warmup = evidence.config.get("warmup")
    if warmup is None or warmup >= SHORT_WARMUP:
        return ""
    return (
        f"A warm-up of {warmup} sweeps is short. Fit again with a longer one: "
        f"`--warmup {doubled_warmup(evidence)}`."
    )


def doubled_warmup(evidence: Evidence) -> int:
    """Twice as long a warm-up, and at least as long as the draws took."""
    sweeps = evidence.draws * int(evidence.config.get("thin", 1))
    return max(2 * int(evidence.config.get("warmup", 0)), sweeps, 1000)


def more_draws(evidence: Evidence, ess: float, wanted: float) -> str:
    """Advice on the number of draws, from the effective number so far."""
    draws = evidence.draws
    factor = wanted / max(ess, 1.0)
    needed = round_up(draws * max(factor, 1.0))
    estimate = f"{wanted:.0f} effective draws would take about {needed:,} draws a chain"
    taken = round_up(draws * min(max(factor, 2.0), MOST_LONGER))
    how = f"`raytpnn resume {evidence.run} --draws {taken}`" if evidence.resumable else f"`--draws {taken}`"
    ahead = f"{estimate}; begin with" if needed > taken else f"{estimate}:"
    return f"More draws: {ahead} {how}. A run that is begun anew with `--thin 5` keeps its size on disk."


def more_chains(evidence: Evidence) -> str:
    """Advice on the number of chains."""
    if evidence.resumable:
        return f"More chains tell better whether chains agree: `raytpnn resume {evidence.run} --chains 4`."
    return "More chains tell better whether chains agree: fit again with `--chains 4`."


def at_limit(evidence: Evidence) -> str:
    """Advice if many states hold as many terms as they may."""
    most = evidence.config.get("prior", {}).get("K_max")
    terms = evidence.quantities.get("K")
    if most is None or terms is None or (share := float(np.mean(terms >= most))) < AT_LIMIT:
        return ""
    return (
        f"In {share:.0%} of the draws there are K_max = {most} terms, the most that the prior allows: the "
        f"data ask for more. Fit again with `[prior] K_max = {2 * most}` in the config file."
    )


def about_inner(table: pd.DataFrame) -> list[str]:
    """Remarks if only what predictions do not rest on has not settled."""
    remarks = []
    name, rhat, _ = worst_of(table[table["quantity"].isin(INNER)])
    if rhat > FAIR_RHAT:
        remarks.append(
            f"{name} differs between chains (R-hat {rhat:.3f}). That matters less: many models with "
            "different terms predict the same."
        )
    name, rhat, _ = worst_of(table[of_components(table)])
    if rhat > FAIR_RHAT:
        remarks.append(
            f"Chains do not agree yet on single components (R-hat {rhat:.3f}: {name}): take their importance "
            "and inclusion as rough."
        )
    return remarks


def round_up(number: float) -> int:
    """Round up to two figures."""
    step = 10 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return math.ceil(number / step) * step
