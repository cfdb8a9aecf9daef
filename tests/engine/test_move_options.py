"""Options of moves that cannot be used are refused in words."""

from __future__ import annotations

import numpy as np
import pytest

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.limits import (
    GAMMA_SLOTS,
    MOST_ATTEMPTS,
    MOST_SCREENED_ATTEMPTS,
    MOST_TERMS,
    MOST_VARIABLES,
)


@pytest.mark.parametrize("name", ["birth_death_attempts", "component_changes"])
def test_more_attempts_than_there_are_random_numbers(name):
    assert getattr(Moves(**{name: MOST_ATTEMPTS}), name) == MOST_ATTEMPTS
    message = rf"Moves\.{name} must be at most {MOST_ATTEMPTS}, got {MOST_ATTEMPTS + 1}"
    with pytest.raises(ValueError, match=message):
        Moves(**{name: MOST_ATTEMPTS + 1})


def test_sweeps_between_joint_draws_fit_a_record():
    with pytest.raises(
        ValueError, match=r"Moves\.joint_beta_every must be at most \d+, got 1267650600228229"
    ):
        Moves(joint_beta_every=2**100)


def test_slots_of_different_random_numbers_do_not_meet():
    """The last attempt's last factor has its uniform below the gamma variates of the first."""
    assert (MOST_ATTEMPTS - 1) * MOST_VARIABLES + MOST_VARIABLES - 1 < GAMMA_SLOTS
    last = (MOST_SCREENED_ATTEMPTS - 1) * MOST_TERMS + MOST_TERMS - 1
    assert last * MOST_VARIABLES + MOST_VARIABLES - 1 < GAMMA_SLOTS


@pytest.mark.parametrize("attempts", [0, -1, MOST_SCREENED_ATTEMPTS + 1, 2.5])
def test_attempts_where_changes_are_screened(attempts):
    with pytest.raises(ValueError, match=rf"attempts must be a whole number from 1 to .*, got {attempts}"):
        SubsetUse(10, DELAYED, attempts=attempts)
    assert SubsetUse(10, DELAYED, attempts=np.int64(2)).attempts == 2
