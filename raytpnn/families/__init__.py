"""Families of responses, one file each.

In: a response y and the latent function f. Out: log-likelihood, derivatives, start, predictive law.
`get_family` finds
one by its name.

base       What a family of responses has to say.
bernoulli  Binary responses: f is the log odds.
dispatch   Which compiled kernel belongs to which family code: a new family adds its line here.
gaussian   Gaussian responses: f is the mean, eta the noise variance.
poisson    Counts: f is the log of the mean.
"""

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
