"""Which posterior a family has."""

from __future__ import annotations

from raytpnn.families import Family
from raytpnn.posterior.posterior import Posterior

__all__ = ["posterior_kind"]


def posterior_kind(family: Family) -> type[Posterior]:
    """The class whose questions suit the family's responses."""
    if not family.censored:
        return Posterior
    from raytpnn.posterior.survival.posterior import SurvivalPosterior

    return SurvivalPosterior
