"""Families of responses, one file each.

In: a response y and the latent function f. Out: log-likelihood, derivatives, start, predictive law, and what
else the package has to know of a family. `register` adds one, `get_family` finds one by its name.

base               What a family of responses has to say.
bernoulli          Binary responses: f is the log odds.
gaussian           Gaussian responses: f is the mean, eta the noise variance.
heteroscedastic    Gaussian responses whose noise varies: a mean and the log of a standard deviation.
multinomial        Several classes: the outputs are scores of the classes, whose softmax gives probabilities.
negative_binomial  Counts with more spread than Poisson's: f is the log of the mean.
outputs            Families whose law is made of several functions of a row.
poisson            Counts: f is the log of the mean.
registry           The families that there are.
student            Numbers with outliers: f is the middle of a Student t law, eta its squared scale.
survival           Times until an event: f is the log of the hazard in an interval of time.
weibull            Times until an event, of a Weibull law: f is the log of a typical time.
"""

from __future__ import annotations

from raytpnn.families.base import ExponentialFamily, Family
from raytpnn.families.bernoulli import Bernoulli
from raytpnn.families.gaussian import Gaussian
from raytpnn.families.heteroscedastic import Heteroscedastic
from raytpnn.families.multinomial import Multinomial
from raytpnn.families.negative_binomial import NegativeBinomial
from raytpnn.families.poisson import Poisson
from raytpnn.families.registry import FAMILIES, family_of_code, get_family, register
from raytpnn.families.student import Student
from raytpnn.families.survival import Survival
from raytpnn.families.weibull import Weibull

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "ExponentialFamily",
    "Family",
    "Gaussian",
    "Heteroscedastic",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "Student",
    "Survival",
    "Weibull",
    "family_of_code",
    "get_family",
    "register",
]

_OF_ONE_FUNCTION = Gaussian(), Bernoulli(), Poisson(), Student(), NegativeBinomial(), Weibull(), Survival()
for _family in (*_OF_ONE_FUNCTION, Multinomial(), Heteroscedastic()):
    register(_family)
