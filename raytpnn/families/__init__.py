"""Families of responses, one file each.

In: a response y and the latent function f. Out: log-likelihood, derivatives, start, predictive law, and what
else the package has to know of a family. `register` adds one, `get_family` finds one by its name.

base       What a family of responses has to say.
bernoulli  Binary responses: f is the log odds.
gaussian   Gaussian responses: f is the mean, eta the noise variance.
poisson    Counts: f is the log of the mean.
registry   The families that there are.
"""

from __future__ import annotations

from raytpnn.families.base import ExponentialFamily, Family
from raytpnn.families.bernoulli import Bernoulli
from raytpnn.families.gaussian import Gaussian
from raytpnn.families.poisson import Poisson
from raytpnn.families.registry import FAMILIES, family_of_code, get_family, register

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "ExponentialFamily",
    "Family",
    "Gaussian",
    "Poisson",
    "family_of_code",
    "get_family",
    "register",
]

for _family in (Gaussian(), Bernoulli(), Poisson()):
    register(_family)
