"""What a run did with subsets of its rows, in words."""

from __future__ import annotations

from typing import Any

__all__ = ["subsets_in_words"]


def subsets_in_words(config: dict[str, Any]) -> str:
    """A sentence or two from a run's config; empty if subsets were not asked for."""
    minibatch, delayed = config.get("minibatch"), config.get("delayed_acceptance")
    rows = config.get("subset_rows") or 0
    if minibatch is not None and not delayed:
        return (
            f"Every sweep looked at {minibatch:,} of the rows (minibatch): the draws are approximate, their "
            "spread is wider than that of the posterior, and log-likelihoods are estimates."
        )
    if not delayed:
        return ""
    if not rows:
        return "Delayed acceptance was asked for and is off: there are too few rows for it to pay."
    by_chain = [chain for chain in config.get("screening", []) if chain]
    by_group: dict[str, int] = {}
    for chain in by_chain:
        for name, group in chain.items():
            by_group[name] = by_group.get(name, 0) + bool(group["screened"])
    used = ", ".join(
        f"{name} in {count} of {len(by_chain)} chains" for name, count in by_group.items() if count
    )
    begin = f"Delayed acceptance on {rows:,} rows per sweep, which changes no posterior"
    if not by_chain:
        return f"{begin}."
    return f"{begin}; used for: {used}." if used else f"{begin}; it was found not to pay, and is off."
