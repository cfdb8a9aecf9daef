"""Spaces of settings, and who goes on in a race: functions of complete steps alone."""

from __future__ import annotations

import itertools
import tomllib

import numpy as np
import pytest

from raytpnn.cli.inputs.config import read_config, settings
from raytpnn.engine.moves.options import Moves
from raytpnn.model.prior import Prior
from raytpnn.tuning.config_text import config_text
from raytpnn.tuning.presets import PRESETS, preset_of
from raytpnn.tuning.race import Race
from raytpnn.tuning.settings import Setting, expand, settings_of, varied

BASE = Setting(Prior(), Moves())


def changes_of(preset, n=400, p=13, family="gaussian", prior=None):
    prior = prior or Prior()
    return expand(PRESETS[preset].space(prior, prior.resolved(n, p, family), family))


def run_in_order(order, losses, keep):
    """Hand in losses in some order of settings in every step; who was left after each step."""
    race = Race(losses.shape[0], losses.shape[1], keep)
    left = []
    race.when_complete = lambda steps, ran, alive: left.append((steps, tuple(ran), tuple(alive)))
    while not race.finished:
        for i in order:
            step = race.wants(i)
            if step is not None:
                race.add(i, step, losses[i, step])
    return race, left


def test_the_presets_have_the_settings_they_say():
    assert len(settings_of(BASE, changes_of("paper"), None, 0)) == 1 + 243
    assert len(changes_of("paper-full")) == 1458
    assert len(changes_of("paper-full", family="bernoulli")) == 486
    # The base is one of these.
    assert len(settings_of(BASE, changes_of("default"), None, 0)) == 216
    assert len(settings_of(BASE, changes_of("scales"), None, 0)) == 9
    with pytest.raises(ValueError, match="there is no preset 'papr'; choose one of default, scales, paper"):
        preset_of("papr")


def test_presets_go_by_the_rule_of_wide_data_and_by_fixed_scales():
    wide = changes_of("scales", n=30, p=5000)
    narrow = changes_of("scales")
    assert max(each["b_gamma"] or 0 for each in wide) > max(each["b_gamma"] or 0 for each in narrow)
    learned = changes_of("scales", prior=Prior(b_gamma_shape=2.0))
    assert max(each["b_gamma_scale"] or 0 for each in learned) > 0.12
    fixed = Prior(b_gamma=0.01)
    assert {each["b_gamma"] for each in changes_of("scales", prior=fixed)} == {0.01 / 3, 0.01, 0.03}


def test_a_sample_of_a_grid_is_that_of_the_seed():
    grid = changes_of("paper")
    one, two, other = (settings_of(BASE, grid, 20, seed) for seed in (0, 0, 1))
    assert one == two
    assert one != other
    assert len(set(one)) == 21
    assert one[0] == BASE
    assert settings_of(BASE, grid, 1000, 0) == settings_of(BASE, grid, None, 0)


def test_settings_change_prior_and_moves_and_have_a_name():
    changed = BASE.changed({"C0": 0.1, "M": 1})
    assert changed.prior == Prior(C0=0.1)
    assert changed.moves == Moves(M=1)
    assert changed.changes(BASE) == {"C0": 0.1, "M": 1}
    assert varied([BASE, changed]) == ["C0", "M"]
    assert changed.name == BASE.changed({"M": 1.0, "C0": 0.1}).name
    assert changed.name != BASE.name
    with pytest.raises(ValueError, match="neither Prior nor Moves has a setting 'c0'"):
        BASE.changed({"c0": 0.1})
    with pytest.raises(ValueError, match=r"Prior\.C0 must be positive, got -1"):
        BASE.changed({"C0": -1})
    with pytest.raises(ValueError, match=r"space\['C0'\] must be a list of values, got 0.1"):
        expand({"C0": 0.1})


@pytest.mark.parametrize("keep", [0.3, 0.5, 1.0])
def test_who_goes_on_does_not_depend_on_the_order_of_arrival(keep):
    losses = np.random.default_rng(0).normal(size=(5, 4))
    expected = run_in_order(range(5), losses, keep)[1]
    for order in itertools.permutations(range(5)):
        assert run_in_order(order, losses, keep)[1] == expected


def test_a_rule_that_looks_at_arrivals_would_depend_on_them():
    """Broken twin: stop who is worse than the median of those that came before, as ASHA does."""
    losses = np.random.default_rng(0).normal(size=(5, 4))

    def stopped(order):
        seen, out = [], set()
        for i in order:
            seen.append(losses[i, 0])
            if losses[i, 0] > np.median(seen):
                out.add(i)
        return frozenset(out)

    assert len({stopped(order) for order in itertools.permutations(range(5))}) > 1


def test_the_better_half_goes_on_and_the_base_always():
    losses = np.array([[9.0, 9.0, 9.0]] + [[float(i)] * 3 for i in range(1, 8)])
    race, left = run_in_order(range(8), losses, 0.5)
    assert [alive for _, _, alive in left] == [(0, 1, 2, 3, 4), (0, 1, 2, 3), (0, 1, 2, 3)]
    assert race.ranked() == [1, 2, 3, 0]
    assert [race.taken(i) for i in range(8)] == [3, 3, 3, 3, 2, 1, 1, 1]
    assert race.dropped == {5: 1, 6: 1, 7: 1, 4: 2}
    assert race.wants(1) is None


def test_means_of_all_steps_count_and_what_is_not_known_is_worst():
    losses = np.array([[5.0, 5.0], [1.0, 7.0], [3.0, 3.0], [np.nan, 0.0], [2.0, 2.0]])
    race, _ = run_in_order(range(5), losses, 1.0)
    assert race.ranked() == [4, 2, 1, 0, 3]
    race, _ = run_in_order(range(5), losses, 0.5)
    assert race.dropped == {3: 1}, "three of five and the base"


def test_a_step_ahead_waits_for_the_others():
    race = Race(3, 2, 0.5)
    race.add(1, 0, 0.0)
    assert race.wants(1) is None
    assert race.waits(1)
    assert (race.wants(0), race.wants(2)) == (0, 0)
    race.add(0, 0, 1.0)
    race.add(2, 0, 2.0)
    assert race.complete == 1
    assert not race.waits(2)
    race.add(1, 0, 99.0)
    assert race.mean(1, 1) == 0.0, "what is known does not change"


def test_the_config_file_is_one_that_fit_takes(tmp_path):
    chosen = BASE.changed({"C0": 1e-05, "K_max": np.int64(200), "M": 1.0, "a_gamma": np.float64(2)})
    odd = 'a "b" \\ \x7f é\n'
    options = {"target": odd, "drop": ["x", odd], "seed": 3, "missing_indicators": True, "positive": None}
    text = config_text(chosen, ["Two words."], options | {"feature_weights": {"a b": 2.0}})
    path = tmp_path / "tune.toml"
    path.write_text(text)
    told = read_config(path)
    assert told["target"] == odd
    assert told["drop"] == ["x", odd]
    assert told["feature_weights"] == {"a b": 2.0}
    assert settings(Prior, told["prior"], "prior") == chosen.prior
    assert settings(Moves, told["moves"], "moves") == chosen.moves
    assert "positive" not in told
    assert tomllib.loads(config_text(BASE, [], {})) == {"prior": {}, "moves": {}}
