"""Records that come from a file, checked before compiled code relies on them.

Compiled code does not check what it is given: a number of terms, an order or a feature that is too large
would have it read and write beyond its arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.problem import new_record_of, take_family
from raytpnn.engine.records import (
    B_GAMMA,
    DELAYED_IF_IT_PAYS,
    INTERCEPT,
    NUISANCE,
    SETTINGS,
    SIGMA_BETA2,
    STATE,
    STORED_SETTINGS,
    TEMPERATURE,
)
from raytpnn.families import Family
from raytpnn.families.base import MOST_OUTPUTS
from raytpnn.model.limits import (
    LONGEST_PERIOD,
    MOST_ATTEMPTS,
    MOST_FACTOR_STEPS,
    MOST_SCREENED_ATTEMPTS,
    MOST_TERMS,
    MOST_VARIABLES,
)

__all__ = ["check_checkpoint", "check_feature_weights", "check_state", "settings_of"]

ROUNDING = 1e-6
# Shapes and scales of distributions that are drawn from: of others a draw might never come to an end.
POSITIVE = (
    *("a_gamma", "v", "v_lambda", "b_gamma_shape", "b_gamma_scale", "sigma_beta2_shape", "sigma_beta2_scale"),
    *("intercept_precision", "M", "bin_unit"),
)


def refuse_unless(good: bool, what: str) -> None:
    """Raise ValueError, saying what must hold, unless it does."""
    if not good:
        raise ValueError(what)


def check_checkpoint(data: bytes, settings: np.record, p: int, replicas: int | None) -> None:
    """Raise ValueError unless bytes are a state that a chain can go on from.

    Parameters
    ----------
    data : bytes
        State of a chain; with replicas, the ladder and the state of each, or that of a chain alone.
    settings : numpy.record of layout SETTINGS
    p : int
        Encoded features.
    replicas : int or None
        Of an ensemble.
    """
    sizes = {STATE.itemsize}
    if replicas is not None:
        sizes.add(LADDER.itemsize + replicas * STATE.itemsize)
    refuse_unless(len(data) in sizes, f"a state has {len(data):,} bytes, but must have {max(sizes):,}")
    first = 0
    if len(data) != STATE.itemsize:
        assert replicas is not None
        first = LADDER.itemsize
        check_ladder(np.frombuffer(data, LADDER, 1)[0], replicas)
    for state in np.frombuffer(data, STATE, offset=first):
        check_state(state, settings, p)


def check_state(state: np.record | np.void, settings: np.record, p: int) -> None:
    """Raise ValueError unless a record of layout STATE is one that moves can start from."""
    K, most = int(state["K"]), int(settings["K_max"])
    refuse_unless(0 <= K <= most, f"a state has {K} terms, but must have 0 to {most}")
    order, most = state["order"][:K], int(settings["max_order"])
    good = bool(np.all((order >= 1) & (order <= most)))
    refuse_unless(good, f"a term has an order that is not from 1 to {most}")
    used = np.arange(MOST_VARIABLES) < order[:, None]
    features = state["features"][:K]
    refuse_unless(
        bool(np.all(((features >= 0) & (features < p))[used])),
        f"a term holds a feature that is not from 0 to {p - 1}",
    )
    # What is not used gets numbers of its own, below all features.
    apart = np.sort(np.where(used, features, -1 - np.arange(MOST_VARIABLES)), axis=1)
    refuse_unless(bool(np.all(np.diff(apart, axis=1) != 0)), "a term holds a feature twice")
    gamma = state["gamma"][:K][used]
    good = bool(np.all(np.isfinite(state["b"][:K][used])) and np.all(np.isfinite(gamma) & (gamma > 0.0)))
    refuse_unless(good, "a factor has a location or a scale that is not finite, or a scale of 0 or less")
    refuse_unless(bool(np.all(np.isfinite(state["beta"][:K]))), "a coefficient is not finite")
    output, most = state["output"][:K], int(settings["outputs"])
    good = bool(np.all((output >= 0) & (output < most)))
    refuse_unless(good, f"a term belongs to an output that is not from 0 to {most - 1}")
    scalar = state["scalar"]
    for place, name in ((NUISANCE, "noise variance"), (B_GAMMA, "b_gamma"), (SIGMA_BETA2, "sigma_beta2")):
        good = bool(np.isfinite(scalar[place]) and scalar[place] > 0.0)
        refuse_unless(good, f"the {name} is {scalar[place]}, but must be a positive number")
    refuse_unless(bool(np.isfinite(scalar[INTERCEPT])), f"the intercept is {scalar[INTERCEPT]}")
    good = bool(0.0 <= scalar[TEMPERATURE] <= 1.0)
    refuse_unless(good, f"the inverse temperature is {scalar[TEMPERATURE]}, but must lie in [0, 1]")
    for name in STATE.names or ():
        field = state[name]
        # The others were looked at as far as they are used.
        if name != "scalar" and field.dtype.kind == "f" and field.shape[0] != MOST_TERMS:
            refuse_unless(bool(np.all(np.isfinite(field))), f"{name} of a state is not finite")


def check_ladder(ladder: np.record | np.void, replicas: int) -> None:
    """Raise ValueError unless a record of layout LADDER is one of so many replicas."""
    levels = int(ladder["levels"])
    refuse_unless(levels == replicas, f"the ladder has {levels} levels, but must have {replicas}")
    good = bool(np.array_equal(np.sort(ladder["replica_at"][:levels]), np.arange(levels)))
    refuse_unless(good, "the ladder does not hold every replica once")
    temperature = ladder["temperature"][:levels]
    good = bool(np.all((temperature >= 0.0) & (temperature <= 1.0)) and temperature[-1] == 1.0)
    refuse_unless(good, "the ladder's inverse temperatures do not lie in [0, 1] and end with 1")
    refuse_unless(int(ladder["swap_every"]) >= 1, f"the ladder swaps every {ladder['swap_every']} sweeps")
    good = bool(np.all(np.isfinite(ladder["rejection"])) and np.all(ladder["tried"] >= 0))
    refuse_unless(good, "the ladder's counts of swaps are no counts")
    check_flags(np.array(ladder, LADDER))


def check_flags(record: np.ndarray) -> None:
    """Raise ValueError if a truth value of one record is neither 0 nor 1: compiled code takes its bits."""
    assert record.dtype.fields is not None
    bits = np.frombuffer(record.tobytes(), np.uint8)
    for name, (kind, offset, *_) in record.dtype.fields.items():
        refuse_unless(kind != np.bool_ or bits[offset] <= 1, f"{name} is neither true nor false")


def settings_of(stored: np.ndarray, family: Family, n_rows: int, p: int) -> np.record:
    """Settings of a chain, from what a file holds.

    Parameters
    ----------
    stored : array with one record of the fields of STORED_SETTINGS
    family : Family
    n_rows, p : int

    Raises
    ------
    ValueError
        If a field is missing, of another type, or beyond what compiled code has room for.
    """
    fields: Any = STORED_SETTINGS.fields
    found: Any = stored.dtype.fields or {}
    same = all(name in found and found[name][0] == fields[name][0] for name in fields)
    refuse_unless(stored.shape == (1,) and same and len(found) == len(fields), "it does not hold settings")
    check_flags(stored)
    # The file does not tell that fields are aligned, which compiled code relies on.
    settings = new_record_of(SETTINGS)
    take_family(settings, family)
    for name in fields:
        settings[name] = stored[name][0]
    limits = {
        "family": (family.code, family.code),
        "K_max": (1, MOST_TERMS),
        "max_order": (1, min(MOST_VARIABLES, p)),
        "birth_death_attempts": (0, MOST_ATTEMPTS),
        "component_changes": (0, MOST_ATTEMPTS),
        "output_changes": (0, MOST_ATTEMPTS),
        "outputs": (1, MOST_OUTPUTS) if family.outputs is not None else (1, 1),
        "factor_steps": (0, MOST_FACTOR_STEPS),
        "joint_beta_every": (0, LONGEST_PERIOD),
        "batch": (0, n_rows),
        "delayed": (0, DELAYED_IF_IT_PAYS),
        "screened_attempts": (0, MOST_SCREENED_ATTEMPTS),
    }
    for name, (least, most) in limits.items():
        good = least <= int(settings[name]) <= most
        refuse_unless(good, f"{name} is {settings[name]}, but must be a whole number from {least} to {most}")
    for name, (kind, *_) in fields.items():
        if kind.base.kind == "f":
            # Sets that cannot be have a log probability of minus infinity.
            values = np.atleast_1d(settings[name])
            good = bool(np.all(np.isfinite(values) | (name == "log_set_prior") & (values == -np.inf)))
            refuse_unless(good, f"{name} is not finite")
    for name in POSITIVE:
        refuse_unless(float(settings[name]) > 0.0, f"{name} is {settings[name]}, but must be positive")
    orders = settings["order_cumulative"][: int(settings["max_order"])]
    good = bool(np.all(np.diff(orders, prepend=0.0) >= 0.0) and abs(orders[-1] - 1.0) < ROUNDING)
    refuse_unless(good, "order_cumulative are no probabilities")
    return settings


def check_feature_weights(weight: np.ndarray, p: int) -> None:
    """Raise ValueError unless there is a positive weight a feature."""
    refuse_unless(weight.shape == (p,), f"there are {len(weight)} weights of {p} features")
    refuse_unless(bool(np.all(np.isfinite(weight) & (weight > 0.0))), "a feature weight is not positive")
