"""What features are called: gene symbols and accessions by feature id. Encoders and tables carry them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Annotation", "split_symbols"]

# Between several symbols of one probe.
BETWEEN = " /// "


@dataclass(frozen=True)
class Annotation:
    """Symbols and accessions by feature id.

    Attributes
    ----------
    symbol, accession : dict of str to str
        Only what is known. Several symbols of one probe are joined by " /// ".
    """

    symbol: dict[str, str] = field(default_factory=dict)
    accession: dict[str, str] = field(default_factory=dict)

    def gene(self, feature: str) -> str:
        """Symbol of a feature; its own id where there is none. "CD24 (2)" is a second feature "CD24"."""
        if feature in self.symbol:
            return self.symbol[feature]
        base = re.sub(r" \(\d+\)$", "", feature)
        return self.symbol.get(base, base)

    def label(self, feature: str) -> str:
        """Symbol and id, for people: "DDR1/MIR4640 (1007_s_at)"."""
        gene = self.gene(feature)
        return feature if gene == feature or feature.startswith(f"{gene} (") else f"{short(gene)} ({feature})"

    def about(self, features: Sequence[str]) -> Annotation:
        """Annotation of some features."""
        return Annotation(
            {name: self.symbol[name] for name in features if name in self.symbol},
            {name: self.accession[name] for name in features if name in self.accession},
        )


def split_symbols(symbols: str) -> list[str]:
    """Symbols of a gene that has several, one by one."""
    return [name.strip() for name in re.split(r"\s*///\s*|\s*//\s*|;|\|", symbols) if name.strip()]


def short(gene: str) -> str:
    """Several symbols with a stroke between them."""
    return "/".join(split_symbols(gene)) or gene
