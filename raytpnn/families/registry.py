"""The families that there are."""

from __future__ import annotations

from raytpnn.families.base import Family

__all__ = ["FAMILIES", "family_of_code", "get_family", "register"]

FAMILIES: dict[str, Family] = {}


def register(family: Family) -> None:
    """Make a family known under its name, to every part of the package in this process.

    Raises
    ------
    ValueError
        If its name or its code is taken, or it does not say how its dispersion is drawn.
    """
    if not family.name.isidentifier():
        raise ValueError(f"the name of a family is part of names in CUDA, which {family.name!r} cannot be")
    for other in FAMILIES.values():
        if family.name == other.name or family.code == other.code:
            raise ValueError(
                f"family {family.name!r} of code {family.code} meets {other.name!r} of code {other.code}: "
                "names and codes are used once"
            )
    if family.quadratic and family.dispersion_in_rows:
        raise ValueError(f"family {family.name!r}: a quadratic log-likelihood is divided by its dispersion")
    FAMILIES[family.name] = family


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


def family_of_code(code: int) -> Family:
    """Family of that number in compiled code.

    Raises
    ------
    ValueError
        If there is none.
    """
    for family in FAMILIES.values():
        if family.code == code:
            return family
    raise ValueError(f"no family has code {code}; register it in this process")
