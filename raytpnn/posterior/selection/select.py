"""`Posterior.select`: which effects are real, how large, in which direction."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from raytpnn.forward.norms import evenly_spaced
from raytpnn.model.prior import Prior
from raytpnn.numerics.level import CREDIBLE_LEVEL
from raytpnn.posterior.effects.components import check_level, label
from raytpnn.posterior.selection.basis import Basis
from raytpnn.posterior.selection.candidates import effects_to_test, near_equals, whole_columns
from raytpnn.posterior.selection.error_rate import q_values
from raytpnn.posterior.selection.left_out import FitWithout
from raytpnn.posterior.selection.one_by_one import OneByOne, one_by_one
from raytpnn.posterior.selection.score_tests import Effect, Tested, Tests
from raytpnn.posterior.selection.sizes import default_delta, explained_variance, size_of

if TYPE_CHECKING:
    from raytpnn.posterior.fitted import Fitted

__all__ = ["ASSUMES", "FEWEST_ROWS", "select_effects"]

# Rows that are tested; of more, so many are, evenly spaced.
FEWEST_ROWS, MOST_ROWS = 4, 20_000
# Single features that may lead a group.
MOST_LEADERS = 50
# What an effect was tested beyond.
ALL_OTHERS, THOSE_BEFORE = "all others", "those selected before"
ASSUMES = (
    "The rate assumes independent rows, and that the fit without an effect, or the regression of the "
    "effect's features on those that go along with them, is about right."
)
ASSUMES_WIDE = (
    "The rate assumes independent rows. Effects were taken one by one until permuted rows do as well as what "
    "is left: it is the probability of a step too many. Of features that go along with each other any may be "
    "the real one; the certainty of a group says how far the data tell it from all other features."
)


def select_effects(
    post: Fitted,
    fdr: float = 0.1,
    delta: float | None = None,
    level: float = CREDIBLE_LEVEL,
    max_order: int = 3,
    near: float = 0.8,
    rows: np.ndarray | None = None,
) -> pd.DataFrame:
    """Effects that are real, at a false discovery rate.

    Every effect is tested beyond all others: the fit is redone without it, from the draws, and what that
    leaves of the response is compared with the effect's own features, net of others that go along with them
    (`score_tests`). Rates are controlled over all orders together, each set of features with its prior share
    (`error_rate`). Features whose ranks go along with each other at `near` or more are tested as a group too,
    and so are the levels of a column of text, each of which the fit could do without, since the others say
    the same. A group is given where no member of it is selected by itself.

    With more than half as many features as rows a fit takes up so much of the noise that these tests do not
    hold their rate. There features, and pairs of all features, are taken one by one instead, each beyond
    those before it and against permuted rows (`one_by_one`).

    Parameters
    ----------
    post : Fitted
    fdr : float
        Expected share of false effects among those selected. 1 gives all that were tested.
    delta : float, optional
        Size, in units of f, above which an effect matters; a tenth of the response's spread by default.
    level : float
        Posterior probability of the intervals.
    max_order : int
        Highest order that is tested, at most 3.
    near : float
        Least absolute correlation of ranks within a group.
    rows : (n,) int, optional
        Training rows to test on; those with a positive weight by default, at most 20,000 of them.

    Returns
    -------
    DataFrame
        component (tuple of names; of a group, its members), order, size, size_low, size_high (posterior
        median and interval of the root mean square over the training rows given that the effect is real, in
        units of f), share (of the variance of f), probability_above (that the size is above delta),
        direction, direction_probability (given that the effect is real), p_value, q_value, beyond ("all
        others"; "those selected before" for effects of wide data that were found one by one, whose p-value
        is over all features, or all pairs, together), group (names of near-equal features of which at least
        one is real, of a pair those that either feature may stand for; the component itself where it stands
        alone), group_certainty (probability that the real
        feature is in the group, given that one feature is real: less than 1 where effects were found one by
        one and other features do nearly as well; NaN for pairs found so).
        The smallest q-value first. `attrs` holds fdr, delta, tested, rows and what the rate assumes.

    Raises
    ------
    ValueError
        If an argument cannot be used.
    """
    check_arguments(fdr, delta, level, max_order, near)
    if rows is None:
        rows = np.flatnonzero(post.weight > 0.0)
        rows = rows[evenly_spaced(len(rows), MOST_ROWS)] if len(rows) else rows
    if len(rows) < FEWEST_ROWS:
        raise ValueError(
            f"effects cannot be tested on {len(rows)} rows; at least {FEWEST_ROWS} with a weight are needed"
        )
    fit, basis = FitWithout(post, rows), Basis(post.bins, rows)
    tests = Tests(fit, basis)
    if tests.wide:
        effects = found_one_by_one(tests, fdr, near, seed_of(post), max_order, prior_of(post))
        number = sum(comb(post.bins.n_features, order) for order in range(1, min(max_order, 2) + 1))
    else:
        tested = run_tests(tests, max_order, near, whole_columns(post.encoder.column))
        q = q_values(tested, post.bins.n_features, prior_of(post))
        effects = [Selected(tested[i], float(q[i]), ALL_OTHERS) for i in kept(tested, q, fdr)]
        number = len(tested)
    delta = default_delta(post) if delta is None else float(delta)
    table = effect_table(post, tests, effects, delta, level)
    table.attrs = {
        "fdr": fdr,
        "delta": delta,
        "tested": number,
        "rows": len(rows),
        "assumes": ASSUMES_WIDE if tests.wide else ASSUMES,
    }
    return table


def check_arguments(fdr: float, delta: float | None, level: float, max_order: int, near: float) -> None:
    """Refuse what cannot be used."""
    check_level(level)
    if not 0.0 < fdr <= 1.0:
        raise ValueError(f"fdr must lie above 0 and be at most 1, not {fdr!r}")
    if delta is not None and not delta >= 0.0:
        raise ValueError(f"delta is a size, 0 or more, not {delta!r}")
    if max_order not in (1, 2, 3):
        raise ValueError(f"max_order must be 1, 2 or 3, not {max_order!r}")
    if not 0.0 < near <= 1.0:
        raise ValueError(f"near must lie above 0 and be at most 1, not {near!r}")


class Selected(NamedTuple):
    """An effect, its q-value, what it was tested beyond, its near-equals, and the effects before it."""

    effect: Tested
    q_value: float
    beyond: str
    near: tuple[int, ...] = ()
    certainty: float = 1.0
    before: tuple[Effect, ...] | None = None


def found_one_by_one(
    tests: Tests, fdr: float, near: float, seed: int, max_order: int, prior: Prior
) -> list[Selected]:
    """Effects of wide data, each beyond those before it; their near-equals are their group."""
    steps = one_by_one(tests.fit, tests.basis, fdr, seed, max_order, prior)
    own = [step.effect.features for step in steps]
    leaders = [features[0] for features in own if len(features) == 1]
    # Who is selected itself is nobody's near-equal: it has an effect beyond the other.
    group = {
        leader: tuple(f for f in members if f == leader or f not in leaders)
        for members in near_equals(tests.basis, leaders, near)
        for leader in set(leaders).intersection(members)
    }
    room = OneByOne(tests.fit, tests.basis)
    found = []
    for features, step in zip(own, steps, strict=True):
        equals = near_equals(tests.basis, list(features), near) if len(features) > 1 else []
        members, certainty = tuple(sorted({*features, *(f for some in equals for f in some)})), np.nan
        if len(features) == 1:
            members = group.get(features[0], features)
            certainty = room.certainty(members, [other for other in own if other != features])
        found.append(Selected(step.effect, step.q_value, THOSE_BEFORE, members, certainty, step.before))
    return found


def run_tests(
    tests: Tests, max_order: int, near: float, columns: Sequence[tuple[int, ...]] = ()
) -> list[Tested]:
    """Test effects, groups of near-equal features, and columns of several features as a whole."""
    fit, basis = tests.fit, tests.basis
    tested = [tests.single(own) for own in effects_to_test(fit, basis, tests.degree_of_pair, max_order)]
    singles = sorted((one for one in tested if one.order == 1), key=lambda one: one.p_value)
    by_size = tests.used[np.argsort(-tests.size)[:MOST_LEADERS]]
    leaders = dict.fromkeys([one.features[0] for one in singles[:MOST_LEADERS]] + by_size.tolist())
    groups = [members for members in near_equals(basis, list(leaders), near) if members not in columns]
    tested += [tests.group(members) for members in groups]
    return tested + [tests.group(members, whole=True) for members in columns]


def seed_of(post: Fitted) -> int:
    """Seed of the run."""
    return int(post.config.get("seed") or 0)


def prior_of(post: Fitted) -> Prior:
    """Prior of the run, as far as it is known."""
    known = post.config.get("prior")
    if not isinstance(known, dict):
        return Prior()
    fields = Prior.__dataclass_fields__
    return Prior(**{name: value for name, value in known.items() if name in fields})


def kept(tested: list[Tested], q: np.ndarray, fdr: float) -> np.ndarray:
    """Places of the effects selected, the smallest q-value first; a group only where no member is."""
    chosen = [i for i in np.lexsort((np.array([t.p_value for t in tested]), q)) if q[i] <= fdr]
    singles = {tested[i].features[0] for i in chosen if tested[i].order == 1 and not tested[i].is_group}
    left = [i for i in chosen if not (tested[i].is_group and singles & set(tested[i].features))]
    return np.array(left, np.int64)


def effect_table(
    post: Fitted, tests: Tests, effects: list[Selected], delta: float, level: float
) -> pd.DataFrame:
    """Table of some effects."""
    chosen = [e.effect for e in effects]
    variance = explained_variance(post)
    seed = seed_of(post)
    sizes = [
        size_of(
            tests, e.effect.features, e.effect.order, delta, level, variance, seed, e.before, e.effect.whole
        )
        for e in effects
    ]
    names = [label(t.features, post.names) for t in chosen]
    columns: dict[str, Any] = {
        "component": pd.Series(names, dtype=object),
        "order": np.array([t.order for t in chosen], np.int64),
        "size": [s.size for s in sizes],
        "size_low": [s.low for s in sizes],
        "size_high": [s.high for s in sizes],
        "share": [s.share for s in sizes],
        "probability_above": [s.above for s in sizes],
        "direction": pd.Series([s.direction for s in sizes], dtype=object),
        "direction_probability": [s.certainty for s in sizes],
        "p_value": [t.p_value for t in chosen],
        "q_value": [e.q_value for e in effects],
        "beyond": pd.Series([e.beyond for e in effects], dtype=object),
        "group_certainty": [e.certainty for e in effects],
        "group": pd.Series([label(e.near or e.effect.features, post.names) for e in effects], dtype=object),
    }
    table = pd.DataFrame(columns)
    numbers = [name for name in columns if name not in ("component", "order", "direction", "beyond", "group")]
    return table.astype(dict.fromkeys(numbers, np.float64))
