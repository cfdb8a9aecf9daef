"""Families of responses, one file each."""

from __future__ import annotations

from raytpnn.families.base import Family
from raytpnn.families.bernoulli import Bernoulli
from raytpnn.families.gaussian import Gaussian
from raytpnn.families.poisson import Poisson

__all__ = ["FAMILIES", "Bernoulli", "Family", "Gaussian", "Poisson", "get_family"]

FAMILIES: dict[str, Family] = {family.name: family for family in (Gaussian(), Bernoulli(), Poisson())}


def get_family(name: str) -> Family:
    """Family of that name.

    Raises
    ------
    ValueError
        If there is none.
    """
    try:
        return FAMILIES[name]
    except (KeyError, TypeError):
        raise ValueError(f"unknown family {name!r}; choose one of {', '.join(FAMILIES)}") from None
