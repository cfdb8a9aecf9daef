"""Two families that the package does not have, written as a user would, and their registration.

Laplace: the dispersion divides the log-likelihood. Heavy, Student's t: it stands in the rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.special import gammaln

from raytpnn.engine.gpu.headers import write_headers
from raytpnn.engine.gpu.kernel_files import kernel_folder
from raytpnn.families import FAMILIES, Family, register
from raytpnn.families.base import DERIVATIVES, LIKELIHOOD, standardisation
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.elementary import log
from raytpnn.numerics.jit import internal

HEADERS = Path(__file__).parent / "families"


@internal
def laplace_rows(y, f, w, dispersion, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    for i in range(len(y)):
        residual = y[i] - f[i]
        sign = 1.0 if residual > 0.0 else (-1.0 if residual < 0.0 else 0.0)
        if need & DERIVATIVES:
            score[i] = w[i] * sign
            curvature[i] = w[i] / dispersion
        if need & LIKELIHOOD:
            loglik[i] = -w[i] * (sign * residual)


@internal
def heavy_rows(y, f, w, dispersion, score, curvature, loglik, need):
    """Score, curvature and log-likelihood of one block of rows."""
    spread = 4.0 * dispersion
    for i in range(len(y)):
        residual = y[i] - f[i]
        if need & DERIVATIVES:
            score[i] = w[i] * (5.0 * residual / (spread + residual * residual))
            curvature[i] = w[i] * (5.0 / (7.0 * dispersion))
        if need & LIKELIHOOD:
            loglik[i] = w[i] * (-2.5 * log(1.0 + residual * residual / spread) - 0.5 * log(dispersion))


class LocationFamily(Family):
    """What the two have in common: f is the middle of a symmetric law."""

    dispersion = True
    identity_mean = True

    def law(self, f, nuisance):
        """Distribution of SciPy."""
        raise NotImplementedError

    def scaling(self, y):
        return standardisation(y)

    def start(self, y, offset):
        return float(np.median(y - offset))

    def mean(self, f):
        return f

    def link(self, mean):
        return mean

    def variance(self, f, nuisance=1.0):
        return self.law(f, nuisance).var()

    def log_density(self, y, f, nuisance):
        return self.law(f, nuisance).logpdf(y)

    def cdf(self, y, f, nuisance):
        return self.law(f, nuisance).cdf(y)

    def quantile(self, u, f, nuisance):
        return self.law(f, nuisance).ppf(u)

    def sample(self, rng, f, nuisance):
        return self.law(f, nuisance).rvs(size=np.broadcast(f, nuisance).shape, random_state=rng)


class Laplace(LocationFamily):
    """Density exp(-|y - f| / eta) / (2 eta)."""

    name = "laplace"
    code = 1001
    description = "Numbers with Laplace noise (laplace). Effects add up to the median response."
    kernel = staticmethod(laplace_rows)
    cuda = HEADERS / "laplace.cuh"
    dispersion_unit = 2.0
    dispersion_exponent = 1.0
    dispersion_name = "mean absolute noise"

    def law(self, f, nuisance):
        return stats.laplace(f, nuisance)

    def dispersion_start(self, variance):
        return float(np.sqrt(0.5 * variance))

    def information(self, f, dispersion=1.0):
        return np.ones_like(f) / dispersion

    def reference_rows(self, y, f, w, dispersion):
        residual = y - f
        sign = np.sign(residual)
        return w * sign, w / dispersion, -w * (sign * residual)


class Heavy(LocationFamily):
    """(y - f) / sqrt(eta) has Student's t distribution with four degrees of freedom."""

    name = "heavy"
    code = 1002
    description = "Numbers with heavy-tailed noise (heavy). Effects add up to the mean response."
    kernel = staticmethod(heavy_rows)
    cuda = HEADERS / "heavy.cuh"
    tail = 1e-5
    dispersion_in_rows = True

    def law(self, f, nuisance):
        return stats.t(4.0, f, np.sqrt(nuisance))

    def dispersion_start(self, variance):
        return 0.5 * variance

    def information(self, f, dispersion=1.0):
        return np.full_like(f, 5.0 / (7.0 * dispersion))

    def log_constant(self, y, w):
        return float(w.sum()) * float(gammaln(2.5) - gammaln(2.0) - 0.5 * np.log(4.0 * np.pi))

    def reference_rows(self, y, f, w, dispersion):
        residual = y - f
        spread = 4.0 * dispersion
        score = w * (5.0 * residual / (spread + residual * residual))
        log_ratio = elementary_numpy.log(1.0 + residual * residual / spread)
        loglik = w * (-2.5 * log_ratio - 0.5 * elementary_numpy.log(dispersion))
        return score, w * (5.0 / (7.0 * dispersion)), loglik


@contextmanager
def registered(*families: Family) -> Iterator[None]:
    """Register families for a while."""
    for family in families:
        register(family)
    try:
        yield
    finally:
        for family in families:
            del FAMILIES[family.name]


def kernels_with_families(folder: Path) -> Path:
    """Copy the kernels with the headers of all families that are registered now."""
    shutil.copytree(kernel_folder(), folder)
    for family in FAMILIES.values():
        if family.cuda is not None:
            shutil.copy(family.cuda, folder / "families")
    write_headers(folder)
    return folder
