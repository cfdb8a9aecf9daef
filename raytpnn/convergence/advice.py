"""Did the chains converge, and what should a person do if not: in words, with numbers to put in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.convergence.diagnostics import COLUMNS, assess, decides
from raytpnn.convergence.forecast import Apart, outlook
from raytpnn.convergence.odd_chains import OddChain, odd_chains, worst_rhat

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Comparison",
    "Judgement",
    "Limits",
    "convergence_of",
    "judge",
    "limits_in_words",
    "limits_of",
    "meets",
    "worst_first",
    "worst_of",
]

# Vehtari et al. (2021): R-hat below 1.01, and 400 effective draws in all.
GOOD_RHAT, FAIR_RHAT = 1.01, 1.05
GOOD_ESS, FAIR_ESS = 400.0, 100.0
# Below this many effective draws per chain, R-hat itself is too uncertain to go by.
LEAST_ESS_A_CHAIN = 50
# Beyond so many times as many draws, longer chains are not the cure.
MOST_LONGER = 20.0
# Sweeps of warm-up below which chains are seldom where they should be.
SHORT_WARMUP = 500
# Share of draws at the limit of K from which the limit matters.
AT_LIMIT = 0.05


@dataclass(frozen=True)
class Limits:
    """What is asked of chains.

    Attributes
    ----------
    rhat, ess : float
        Largest R-hat, smallest effective number of draws, of what decides; infinite and 0 if not asked for.
    trusted : float
        Effective draws below which R-hat is not trusted.
    usual : bool
        Whether these are the usual limits, not targets of somebody.
    """

    rhat: float
    ess: float
    trusted: float
    usual: bool


def limits_of(
    chains: int,
    config: dict[str, Any],
    target_rhat: float | None = None,
    target_ess: float | None = None,
) -> Limits:
    """What is asked of chains: targets given now, else those of the run, else the usual limits.

    Of a run that was to go on until it has converged, what is not given is the usual.
    """
    if target_rhat is None and target_ess is None:
        target_rhat, target_ess = config.get("target_rhat"), config.get("target_ess")
    if config.get("draws", 0) is None or (target_rhat is None and target_ess is None):
        target_rhat = GOOD_RHAT if target_rhat is None else target_rhat
        target_ess = GOOD_ESS if target_ess is None else target_ess
    usual = target_rhat == GOOD_RHAT and target_ess == GOOD_ESS
    return Limits(
        math.inf if target_rhat is None else target_rhat,
        0.0 if target_ess is None else target_ess,
        0.0 if target_rhat is None else float(LEAST_ESS_A_CHAIN * chains),
        usual,
    )


def meets(rhat: float, ess: float, limits: Limits) -> bool:
    """Whether the worst R-hat and the least effective number of draws are within limits; not if unknown."""
    return rhat <= limits.rhat and ess >= max(limits.ess, limits.trusted)


@dataclass(frozen=True)
class Comparison:
    """What chains have shown.

    Attributes
    ----------
    quantities : dict of str to (chains, draws)
        What is compared between chains.
    chains : tuple of int
        Numbers of the chains.
    acceptance : tuple of dict
        Proposals and acceptances by move, one dict per chain.
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
    rhat : float
        The worst R-hat of what decides; NaN if unknown.
    quantity : str
        What has it.
    ess : float
        The least effective number of draws of what decides, bulk or tail; NaN if unknown.
    """

    state: str
    headline: str
    odd: list[OddChain]
    advice: list[str]
    rhat: float = math.nan
    quantity: str = "nothing"
    ess: float = math.nan

    @property
    def converged(self) -> bool:
        """Whether everything that decides is within the limits."""
        return self.state == "yes"

    def _repr_html_(self) -> str:
        steps = "".join(f"<li>{escape(step)}</li>" for step in self.advice)
        return f"<p><b>{escape(self.headline)}</b></p>{f'<ul>{steps}</ul>' if steps else ''}"


def convergence_of(comparison: Comparison) -> pd.DataFrame:
    """R-hat and effective numbers of draws of everything that varies, the worst first.

    Returns
    -------
    DataFrame
        quantity, rhat, ess_bulk, ess_tail, note; as `Posterior.diagnostics`.
    """
    import pandas as pd

    rows = [
        assess(name, values, []) for name, values in comparison.quantities.items() if np.ptp(values) > 0.0
    ]
    return worst_first(pd.DataFrame(rows, columns=COLUMNS))


def worst_first(table: pd.DataFrame) -> pd.DataFrame:
    """What varies, sorted by R-hat: what decides first."""
    varying = table[table["note"] != "constant"]
    beside = ~varying["quantity"].map(decides).astype(bool)
    order = np.lexsort((-np.nan_to_num(varying["rhat"].to_numpy(float), nan=np.inf), beside))
    return varying.iloc[order].reset_index(drop=True)


def judge(
    comparison: Comparison,
    table: pd.DataFrame,
    target_rhat: float | None = None,
    target_ess: float | None = None,
) -> Judgement:
    """Judge chains by what they have shown.

    Asked of f, the log-likelihood, the noise and the importances that lead, but not of K, the intercept, the
    order of terms and the learned scales: those are listed beside it.

    Parameters
    ----------
    comparison : Comparison
    table : DataFrame
        R-hat and effective draws of its quantities: `convergence_of` it, or `Posterior.diagnostics`.
    target_rhat, target_ess : float, optional
        What is asked for; by default what was asked of the run, else R-hat at most 1.01 and 400 effective
        draws.
    """
    if not comparison.draws:
        headline = "Convergence cannot be judged: there is no draw yet."
        return Judgement("unknown", headline, [], advice_without_draws(comparison))
    chains = len(comparison.chains)
    limits = limits_of(chains, comparison.config, target_rhat, target_ess)
    name, rhat, ess = worst_of(table)
    if math.isnan(rhat) or math.isnan(ess):
        few = f"{comparison.draws} draws per chain are too few, or nothing varies"
        headline = f"Convergence cannot be judged: {few}."
        return Judgement("unknown", headline, [], advice_without_draws(comparison))
    compared = {name: values for name, values in comparison.quantities.items() if decides(name)}
    odd = odd_chains(compared, comparison.chains, comparison.acceptance)
    figures = f"the worst R-hat is {rhat:.3f} ({name}), the least effective number of draws {ess:.0f}"
    if chains < 2:
        figures += "; one chain was compared with itself, and cannot show what others would find"
    good = meets(rhat, ess, limits)
    if limits.usual:
        state, words = in_words(rhat, ess, good)
        headline = f"{words}: {figures}."
    else:
        state = "yes" if good else "no"
        headline = f"{'Yes' if good else 'No'}, by the target of {limits_in_words(limits)}: {figures}"
        if rhat <= limits.rhat and ess < limits.trusted:
            headline += f"; below {limits.trusted:.0f} effective draws R-hat is not to be trusted"
        headline += "."
    advice = [] if good else what_to_do(comparison, table, rhat, limits, odd)
    if good or rhat <= FAIR_RHAT:
        advice += about_inner(table)
    return Judgement(state, headline, odd, advice, rhat, name, ess)


def limits_in_words(limits: Limits) -> str:
    """What is asked for, in a few words."""
    aims = [f"R-hat {limits.rhat:g}"] if math.isfinite(limits.rhat) else []
    aims += [f"{limits.ess:g} effective draws"] if limits.ess else []
    return " and ".join(aims)


def in_words(rhat: float, ess: float, good: bool) -> tuple[str, str]:
    """State and first words by the usual limits."""
    if good:
        return "yes", "Yes, the chains agree on everything that predictions and effects rest on"
    if rhat <= FAIR_RHAT and ess >= FAIR_ESS:
        return "nearly", "Nearly: means can be used, ends of bands and intervals are still rough"
    if rhat <= FAIR_RHAT:
        return "no", "Not yet: the chains agree, but they have too few effective draws"
    return "no", "No, the chains have not found the same posterior"


def worst_of(table: pd.DataFrame) -> tuple[str, float, float]:
    """Of what decides: quantity with the largest R-hat, that R-hat, and the smallest ESS; NaN if unknown."""
    if table.empty:
        return "nothing", math.nan, math.nan
    return worst_among(table[table["quantity"].map(decides).astype(bool)])


def worst_among(table: pd.DataFrame) -> tuple[str, float, float]:
    """The same of all rows of a table, of those that are known."""
    known = table.dropna(subset=["rhat", "ess_bulk", "ess_tail"])
    if known.empty:
        return "nothing", math.nan, math.nan
    worst = int(known["rhat"].to_numpy().argmax())
    ess = known[["ess_bulk", "ess_tail"]].to_numpy().min()
    return str(known["quantity"].iloc[worst]), float(known["rhat"].iloc[worst]), float(ess)


def what_to_do(
    comparison: Comparison, table: pd.DataFrame, rhat: float, limits: Limits, odd: list[OddChain]
) -> list[str]:
    """Advice for chains that do not agree, or have too few effective draws."""
    advice = advice_without_draws(comparison) if comparison.unfinished else []
    if odd and rhat > GOOD_RHAT:
        advice.append(about_odd(odd, comparison))
    wanted = min(limits.rhat, FAIR_RHAT), max(limits.ess, limits.trusted, GOOD_ESS)
    ahead = outlook(comparison.quantities, table, *wanted)
    if rhat > FAIR_RHAT and (late := still_moving(comparison, rhat) or short_warmup(comparison)):
        advice.append(late)
    elif ahead.apart is not None:
        advice.append(about_apart(ahead.apart, comparison))
    elif not comparison.unfinished:
        advice.append(more_draws(comparison, ahead.factor, *wanted))
    if len(comparison.chains) < 4:
        advice.append(more_chains(comparison))
    if limit := at_limit(comparison):
        advice.append(limit)
    if ahead.apart is None and rhat > FAIR_RHAT and not ahead.factor <= MOST_LONGER:
        advice.append(
            f"If longer chains still disagree, the posterior may have several modes. {cures(comparison)}"
        )
    return advice


def about_apart(apart: Apart, comparison: Comparison) -> str:
    """Advice for chains that each keep to a part of the posterior."""
    return (
        f"The chains stay apart: each moves about freely, but around its own value of {apart.name}, and they "
        f"do not come nearer to each other: R-hat was {apart.first:.3f} over the first half of the draws and "
        f"is {apart.second:.3f} over the second. More draws will not mend that. {cures(comparison)}"
    )


def cures(comparison: Comparison) -> str:
    """What may help chains from one mode to another."""
    found = []
    if comparison.config.get("tempering") is None:
        found.append("replicas at higher temperatures, which cross from mode to mode (`--replicas 8`)")
    found.append(
        "a simpler prior: stronger shrinkage, fewer features per term ([prior] a smaller sigma_beta2, "
        "max_order = 2 in the config file)"
    )
    if comparison.config.get("feature_weights") is None:
        found.append("on wide data, features that are proposed more often (`--feature-weights marginal`)")
    found.append("more rows, or of features that are nearly copies of each other only one")
    return f"What may help: {'; '.join(found)}."


def advice_without_draws(comparison: Comparison) -> list[str]:
    """Advice while there is little to go by."""
    if comparison.unfinished:
        return [f"The run has not ended: `raytpnn resume {comparison.run}` goes on with it."]
    if comparison.resumable:
        return [f"Draw more: `raytpnn resume {comparison.run} {longer(comparison, 2.0)}`."]
    return ["Fit again with 1,000 draws or more, or without --draws: until the chains have converged."]


def about_odd(odd: list[OddChain], comparison: Comparison) -> str:
    """Advice about chains unlike the others."""
    names = " and ".join(str(chain.chain) for chain in odd)
    plural = len(odd) > 1
    warmup = doubled_warmup(comparison)
    return (
        f"Chain{'s' * plural} {names} {'are' if plural else 'is'} unlike the others. Do not throw "
        f"{'them' if plural else 'it'} out: {'they' if plural else 'it'} may have found a part of the "
        f"posterior that the others missed. Fit again with a longer warm-up (`--warmup {warmup}`) and "
        "another `--seed`, and see whether it happens again."
    )


def still_moving(comparison: Comparison, rhat: float) -> str:
    """Advice if the second half of the draws agrees far better than all of them."""
    half = {name: values[:, values.shape[1] // 2 :] for name, values in comparison.quantities.items()}
    late = worst_rhat({name: values for name, values in half.items() if decides(name)})
    if late - 1.0 > 0.5 * (rhat - 1.0):
        return ""
    return (
        f"The chains were still on their way when the draws began: over the second half of the draws the "
        f"worst R-hat is {late:.3f}, not {rhat:.3f}. Fit again with a longer warm-up: "
        f"`--warmup {doubled_warmup(comparison)}`."
    )


def short_warmup(comparison: Comparison) -> str:
    """Advice if the warm-up is known to be too short for most data."""
    warmup = comparison.config.get("warmup")
    if warmup is None or warmup >= SHORT_WARMUP:
        return ""
    return (
        f"A warm-up of {warmup} sweeps is short. Fit again with a longer one: "
        f"`--warmup {doubled_warmup(comparison)}`."
    )


def doubled_warmup(comparison: Comparison) -> int:
    """Twice as long a warm-up, and at least as long as the draws took."""
    warmup, thin = int(comparison.config.get("warmup", 0)), int(comparison.config.get("thin") or 1)
    if counted := comparison.config.get("counted"):
        warmup, thin = int(counted["warmup"]), int(counted["thin"])
    return max(2 * warmup, comparison.draws * thin, 1000)


def longer(comparison: Comparison, factor: float) -> str:
    """Flag by which a run gets so many times as many draws."""
    if counted := comparison.config.get("counted"):
        return f"--max-sweeps {round_up(counted['sweeps'] * factor)}"
    return f"--draws {round_up(max(comparison.draws * factor, 1000.0))}"


def more_draws(comparison: Comparison, factor: float, rhat: float, ess: float) -> str:
    """Advice on the number of draws; `factor` says how many times as many would be enough, NaN if unknown."""
    aim = f"R-hat {rhat:g} and {ess:.0f} effective draws"
    taken = 2.0 if math.isnan(factor) else min(max(factor, 1.5), MOST_LONGER)
    how = longer(comparison, taken)
    command = f"`raytpnn resume {comparison.run} {how}`" if comparison.resumable else f"`{how}`"
    if math.isnan(factor):
        return (
            "More draws: the chains move so slowly that it cannot be foreseen how many it takes. Begin with "
            f"{command}, and look again."
        )
    counted = comparison.config.get("counted")
    needed = round_up((counted["sweeps"] if counted else comparison.draws) * factor)
    estimate = f"{aim} would take about {needed:,} {'sweeps' if counted else 'draws'} per chain"
    return f"More draws: {estimate}{'; begin with' if factor > MOST_LONGER else ':'} {command}."


def more_chains(comparison: Comparison) -> str:
    """Advice on the number of chains."""
    if comparison.resumable:
        return f"More chains show better whether chains agree: `raytpnn resume {comparison.run} --chains 4`."
    return "More chains show better whether chains agree: fit again with `--chains 4`."


def at_limit(comparison: Comparison) -> str:
    """Advice if many states hold as many terms as they may."""
    most = comparison.config.get("prior", {}).get("K_max")
    terms = comparison.quantities.get("K")
    if most is None or terms is None or (share := float(np.mean(terms >= most))) < AT_LIMIT:
        return ""
    return (
        f"In {share:.0%} of the draws there are K_max = {most} terms, the most that the prior allows: the "
        f"data ask for more. Fit again with `[prior] K_max = {2 * most}` in the config file."
    )


def about_inner(table: pd.DataFrame) -> list[str]:
    """Remarks if only what predictions do not rest on has not settled."""
    remarks = []
    beside = table[~table["quantity"].map(decides).astype(bool)] if len(table) else table
    name, rhat, _ = worst_among(beside)
    if rhat > FAIR_RHAT:
        remarks.append(
            f"{name} differs between chains (R-hat {rhat:.3f}). That matters less: many models with "
            "different terms predict the same."
        )
    return remarks


def round_up(number: float) -> int:
    """Round up to two figures."""
    step = 10 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return math.ceil(number / step) * step
