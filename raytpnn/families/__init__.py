"""Families of responses, one file each.

In: a response y and the latent function f. Out: log-likelihood, derivatives, start, predictive law, and what
else the package has to know of a family. `register` adds one, `get_family` finds one by its name.

base             What a family of responses has to say.
bernoulli        Binary responses: f is the log odds.
gaussian         Gaussian responses: f is the mean, eta the noise variance.
heteroscedastic  Gaussian responses whose noise varies: a mean and the log of a standard deviation.
multinomial      Several classes: the outputs are scores of the classes, whose softmax is their probabilities.
outputs          Families whose law is made of several functions of a row.
poisson          Counts: f is the log of the mean.
registry         The families that there are.
"""

from __future__ import annotations

from raytpnn.families.base import ExponentialFamily, Family
from raytpnn.families.bernoulli import Bernoulli
from raytpnn.families.gaussian import Gaussian
from raytpnn.families.heteroscedastic import Heteroscedastic
from raytpnn.families.multinomial import Multinomial
from raytpnn.families.poisson import Poisson
from raytpnn.families.registry import FAMILIES, family_of_code, get_family, register

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "ExponentialFamily",
    "Family",
    "Gaussian",
    "Heteroscedastic",
    "Multinomial",
    "Poisson",
    "family_of_code",
    "get_family",
    "register",
]

for _family in (Gaussian(), Bernoulli(), Poisson(), Multinomial(), Heteroscedastic()):
    register(_family)
