"""Search spaces by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from raytpnn.families import get_family
from raytpnn.model.limits import MOST_TERMS
from raytpnn.model.prior import Prior

__all__ = ["PRESETS", "Preset", "preset_of"]

# The paper's candidates. Its grid has two more rows: M, which changes how fast the posterior is explored but
# not the posterior, and q_lambda, which is of families with a dispersion alone.
PAPER: dict[str, list[Any]] = {
    "C0": [0.001, 0.005, 0.01],
    "a_gamma": [1.0, 2.0, 4.0],
    "b_gamma": [1e-3, 5e-3, 1e-2],
    "K_max": [100, 200, 300],
    "sigma_beta2": [1e-4, 1e-3, 1e-2],
    "bounded": [False],
}


class Preset(NamedTuple):
    """A search space by name.

    `space` takes the base prior, the same with all its numbers resolved, and the family; `trials` is how many
    settings of it are tried if the user does not say, None for all.
    """

    space: Callable[[Prior, Prior, str], dict[str, list[Any]]]
    trials: int | None


def around(prior: Prior, resolved: Prior, family: str) -> dict[str, list[Any]]:
    """Neighbourhood of a prior in all that matters."""
    assert resolved.a_gamma is not None
    own: dict[str, list[Any]] = {
        "C0": [prior.C0 / 5.0, prior.C0, prior.C0 * 4.0] if prior.C0 else [0.0, 0.002, 0.01],
        "a_gamma": [prior.a_gamma, 2.0 * resolved.a_gamma],
        "gamma_adding": [prior.gamma_adding / 2.0, prior.gamma_adding],
        "K_max": [prior.K_max, min(2 * prior.K_max, MOST_TERMS)],
    }
    return own | scales(prior, resolved, family)


def scales(prior: Prior, resolved: Prior, family: str) -> dict[str, list[Any]]:
    """How smooth factors are and how large terms, learned or fixed."""
    found: dict[str, list[Any]] = {}
    for name, factor in (
        ("b_gamma_scale" if prior.learns("b_gamma") else "b_gamma", 3.0),
        ("sigma_beta2_scale" if prior.learns("sigma_beta2") else "sigma_beta2", 4.0),
    ):
        # The middle stays as it was given: None leaves it to the rule.
        middle = getattr(resolved, name)
        found[name] = [middle / factor, getattr(prior, name), middle * factor]
    return found


def paper(prior: Prior, resolved: Prior, family: str) -> dict[str, list[Any]]:
    """The paper's grid of priors."""
    return dict(PAPER)


def paper_full(prior: Prior, resolved: Prior, family: str) -> dict[str, list[Any]]:
    """All that the paper lists."""
    noise = {"q_lambda": [0.90, 0.95, 0.99]} if get_family(family).dispersion else {}
    return PAPER | {"M": [1.0, 5.0]} | noise


PRESETS = {
    # 216 settings around the default prior, of which 24 are tried.
    "default": Preset(around, 24),
    # Smoothness and size of terms around the default: 9 settings.
    "scales": Preset(scales, None),
    # The paper's priors with fixed scales: 243 settings.
    "paper": Preset(paper, None),
    # The same with M and, for gaussian, q_lambda: 1,458 settings, 486 for the others.
    "paper-full": Preset(paper_full, None),
}


def preset_of(name: str) -> Preset:
    """Preset of a name; ValueError if there is none."""
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]
