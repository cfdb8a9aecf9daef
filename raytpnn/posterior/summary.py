"""A posterior in a few lines: for `print`, and for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from raytpnn.posterior.posterior import Posterior

__all__ = ["Summary", "summary_of"]


@dataclass(frozen=True)
class Summary:
    """What was fitted, whether chains agree, and what matters most.

    Attributes
    ----------
    title : str
        Family, rows, columns and draws.
    verdict : str
        Whether the chains agree.
    effects : DataFrame
        The leading effects by column: see `Posterior.components`.
    """

    title: str
    verdict: str
    effects: pd.DataFrame

    def shown(self) -> pd.DataFrame:
        """Effects with names joined and numbers rounded."""
        table = self.effects.drop(columns="order").copy()
        table["component"] = [" × ".join(names) for names in table["component"]]
        return table.round(3)

    def __str__(self) -> str:
        effects = self.shown().to_string(index=False) if len(self.effects) else "no effect"
        return f"{self.title}\n{self.verdict}\n\n{effects}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        effects = self.shown().to_html(index=False, border=0) if len(self.effects) else "<p>no effect</p>"
        return f"<p><b>{escape(self.title)}</b><br>{escape(self.verdict)}</p>{effects}"


def summary_of(post: Posterior, top: int = 10) -> Summary:
    """See `Posterior.summary`."""
    if top < 1:
        raise ValueError(f"top must be 1 or more, not {top!r}")
    chains = len(np.unique(post.draws.chain))
    target = post.config.get("target_name") or "the response"
    title = (
        f"{target} ({post.family.name}) from {len(post.encoder.input_names):,} columns and "
        f"{post.bins.n_rows:,} rows; {post.draws.n_draws:,} draws of {chains} "
        f"chain{'s' if chains > 1 else ''}"
    )
    table = post.components(by="column").head(top).reset_index(drop=True)
    return Summary(title, post.verdict().headline, table)
