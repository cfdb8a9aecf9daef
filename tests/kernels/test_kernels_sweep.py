"""The CUDA source of the sampler, run on the CPU host, gives the bits of the compiled sampler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.chain_cases import make_case
from support.cuda_host.build import COMPILER, KERNELS, build
from support.ensemble_cases import make_ensemble
from support.kernel_cases import (
    KernelChains,
    KernelEnsembles,
    Launch,
    differing,
    differing_draws,
    n_bins_of,
)

from raytpnn.engine.backends import ensemble_runner
from raytpnn.engine.chain import new_record
from raytpnn.engine.gpu.headers import HEADERS
from raytpnn.engine.gpu.records import table_width
from raytpnn.engine.moves import joint_beta
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import new_record_of
from raytpnn.engine.records import FACTOR, PROBLEM, STATE, STOP, SWEEPS_DONE, TEMPERATURE
from raytpnn.engine.tempering.options import Tempering
from raytpnn.model.prior import Prior
from raytpnn.numerics import elementary_numpy
from raytpnn.numerics.lanes import stripe_starts
from raytpnn.numerics.lanes_numpy import stripe_sum
from raytpnn.numerics.philox import philox_numpy

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the CPU host of the kernels needs g++")

FAMILIES = ("gaussian", "bernoulli", "poisson")
THREADS = (32, 64, 128, 256, 512)
ORDERS = ("ascending", "descending", "random")


@pytest.mark.parametrize("name", HEADERS)
def test_headers_say_what_python_says(name):
    committed = (KERNELS / name).read_text()
    hint = "run: python -m raytpnn.engine.gpu.headers kernels"
    assert committed == HEADERS[name](), hint


@pytest.fixture(scope="module")
def numerics():
    return build(Path(__file__).parents[1] / "support" / "kernel_numerics.cu")


def bits(x):
    return np.ascontiguousarray(x, np.float64).view(np.uint64)


EDGES = {
    "exp": [-1e300, -745.0, -708.0, -0.0, 0.0, 1e-300, 709.0, 1e300, np.inf, -np.inf],
    "log": [0.0, -1.0, np.inf, 1.0, 2.3e-308, 1.7e308, np.sqrt(0.5), np.nextafter(1.0, 2.0)],
    "log1p_unit": [0.0, 1.0, np.sqrt(2.0) - 1.0, 1e-300],
    "log_gamma": [1e-300, 1e-8, 1.0, 2.0, 170.0, 1e12],
    "normal_quantile": [2.0**-53, 1.0 - 2.0**-53, 0.5, 0.075, 0.925, 1e-12, 0.0749999],
}


@pytest.mark.parametrize(("which", "name"), list(enumerate(EDGES)))
def test_elementary_functions_have_the_same_bits(numerics, which, name):
    rng = np.random.default_rng(which)
    inside = rng.uniform(-800, 800, 20_000) if name == "exp" else rng.random(20_000)
    if name == "log_gamma":
        inside = np.exp(rng.uniform(-30, 30, 20_000))
    if name == "log":
        inside = np.exp(rng.uniform(-600, 600, 20_000))
    x = np.concatenate([inside, EDGES[name]])
    out = np.zeros(len(x))
    numerics.launch("elementary_values", 2, 64, (which, x, out, len(x)))
    function = getattr(elementary_numpy, name)
    expected = np.array([function(value) for value in x]) if name == "normal_quantile" else function(x)
    # One NaN is as good as another.
    same = (bits(out) == bits(expected)) | (np.isnan(out) & np.isnan(expected))
    assert same.all(), x[~same][:5]


def test_random_numbers_have_the_same_bits(numerics):
    from raytpnn.engine.reference.execution import reference_of
    from raytpnn.numerics.random import gamma_variate, uniforms

    rng = np.random.default_rng(3)
    for _ in range(20):
        counter, key = rng.integers(0, 2**32, 4, np.uint32), rng.integers(0, 2**32, 2, np.uint32)
        out = np.zeros(4, np.uint32)
        numerics.launch("philox_words", 1, 32, (counter, key, out))
        assert tuple(out.tolist()) == philox_numpy(tuple(counter.tolist()), tuple(key.tolist()))
    state = new_record_of(STATE)
    state.stream[:] = [0xDEADBEEF, 7, (3 << 20) | 5, 1234]
    shape = np.concatenate([rng.uniform(0.05, 3.0, 150), rng.uniform(3.0, 1e5, 50)])
    uniform, gamma = np.zeros((200, 2)), np.zeros(200)
    whole = np.frombuffer(state, np.uint8)
    numerics.launch("random_values", 1, 64, (whole, shape, uniform, gamma, 200))
    draw, draw_gamma = reference_of(uniforms), reference_of(gamma_variate)
    places = [(state, i % 12, i, i % 5) for i in range(200)]
    assert (bits(uniform) == bits([draw(*place) for place in places])).all()
    assert (bits(gamma) == bits([draw_gamma(*p[:3], s) for p, s in zip(places, shape, strict=True)])).all()


def uneven_stripes(rng, n):
    """Stripes of any length, some of them empty."""
    inner = np.sort(rng.integers(0, n + 1, 15))
    inner[3:6] = inner[3]
    return np.concatenate([[0], inner, [n]])


@pytest.mark.parametrize("n", [1, 37, 255, 256, 4096, 4097, 9000, 70_001])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("uneven", [False, True])
def test_row_sums_have_the_same_bits(numerics, n, order, uneven):
    rng = np.random.default_rng(n)
    w, x = np.exp(rng.normal(0, 8, n)), rng.normal(size=n).astype(np.float32)
    value = x.astype(float)
    problem = new_record_of(PROBLEM)
    problem.n, problem.stripe[:] = n, uneven_stripes(rng, n) if uneven else stripe_starts(n)
    expected = [stripe_sum(part, problem.stripe) for part in (w, w * value, (w * value) * value)]
    for threads in THREADS if n < 70_000 else THREADS[1:2]:
        out = np.full(3, np.nan)
        numerics.launch(
            "sums_of_rows", 1, threads, (w, x, np.frombuffer(problem, np.uint8), out), order=order
        )
        assert (bits(out) == bits(expected)).all(), threads


@pytest.mark.parametrize("size", [1, 2, 33, 70])
@pytest.mark.parametrize("threads", [32, 64, 512])
def test_triangular_solves_have_the_same_bits(numerics, size, threads):
    rng = np.random.default_rng(size)
    side = size + 3
    design = rng.normal(size=(size + 5, size))
    a = np.full((side, side), np.nan)
    a[:size, :size] = np.tril(design.T @ design)
    x = rng.normal(size=size)
    expected, lower, upper = a.copy(), x.copy(), x.copy()
    assert joint_beta.cholesky.py_func(expected, np.zeros(size), size)
    joint_beta.solve_lower.py_func(expected, lower, size)
    joint_beta.solve_upper.py_func(expected, upper, size)
    found = np.zeros(1, np.int32)
    for order in ORDERS:
        made, got = a.copy(), [x.copy(), x.copy(), np.zeros(size)]
        numerics.launch("factor_and_solve", 1, threads, (made, side, size, *got, found), order=order)
        assert found[0] == 1
        assert (bits(np.tril(made[:size, :size])) == bits(np.tril(expected[:size, :size]))).all()
        assert (bits(got[0]) == bits(lower)).all()
        assert (bits(got[2][::-1]) == bits(upper)).all()
    a[size - 1, size - 1] = -1.0
    numerics.launch("factor_and_solve", 1, threads, (a, side, size, *got, found))
    assert found[0] == 0


def weigh(case):
    """Give a case weights that differ, some of them 0."""
    rng = np.random.default_rng(8)
    n = len(case.problem.y)
    case.problem.w[:] = rng.gamma(2.0, 0.5, n) * (rng.random(n) > 0.1)
    case.settings.weight_sum = case.problem.w.sum()


def compare(case, blocks, launch, thin=2, streams=(0,)):
    """Run a case by kernels and compiled; every byte of states and draws must agree."""
    warmup = sum(blocks) // 3
    kernels = KernelChains(case.chain, launch, streams)
    compiled = []
    start = case.chain.checkpoint()
    for stream in streams:
        case.chain.restore(start)
        case.chain.state.stream[2] = stream
        parts, first = [], 0
        for sweeps in blocks:
            parts.append(case.chain.run(first, sweeps, warmup, thin).record)
            first += sweeps
        compiled.append((parts, np.frombuffer(case.chain.checkpoint(), STATE)[0]))
    first = 0
    for i, sweeps in enumerate(blocks):
        records = kernels.run(first, sweeps, warmup, thin)
        for record, (parts, _) in zip(records, compiled, strict=True):
            assert differing_draws(record, parts[i]) == []
        first += sweeps
    for state, (_, expected) in zip(kernels.states, compiled, strict=True):
        assert differing(state, expected) == []
    return compiled[0][1]["tally"]


# High orders are likely: all from 1 to 4 are met.
PRIOR = Prior(K_max=12, max_order=4, gamma_adding=0.3, sharing=0.3)
DEFAULT_CASES = [
    ("gaussian", Moves(), 200, Launch(64, "ascending")),
    ("bernoulli", Moves(), 120, Launch(128, "descending")),
    ("poisson", Moves(), 120, Launch(32, "random")),
    ("gaussian", Moves.paper(), 250, Launch(32, "descending")),
    ("bernoulli", Moves.paper(), 250, Launch(64, "random")),
    ("poisson", Moves.paper(), 250, Launch(32, "ascending")),
    ("poisson", Moves(), 20, Launch(256, "random")),
    ("bernoulli", Moves(), 20, Launch(512, "descending")),
    ("gaussian", Moves(factor_steps=0), 60, Launch(64, "random")),
    ("poisson", Moves(factor_steps=0), 60, Launch(32, "descending")),
]


def name_of(case):
    family, moves, sweeps, launch = case
    kind = "paper" if moves == Moves.paper() else "default" if moves == Moves() else "langevin"
    return f"{family}-{kind}-{sweeps}-{launch.threads}-{launch.order}"


@pytest.mark.parametrize("chosen", DEFAULT_CASES, ids=name_of)
def test_kernels_take_the_same_decisions(chosen):
    family, moves, sweeps, launch = chosen
    case = make_case(family, n=30, p=6, missing=0.1, prior=PRIOR, moves=moves)
    weigh(case)
    tally = compare(case, (sweeps // 2, sweeps - sweeps // 2), launch)
    assert tally[:, 0].sum() > (1 if moves == Moves.paper() else 10) * sweeps


@pytest.mark.parametrize(("family", "order"), list(zip(FAMILIES, ORDERS, strict=True)))
def test_kernels_draw_sets_by_weight_and_from_a_table_alike(family, order):
    case = make_case(family, n=30, p=6, missing=0.1, prior=PRIOR, discovering=True)
    tally = compare(case, (60, 60), Launch(64, order))
    assert tally[0, 1] > 20, "few births: little was tested"


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("moves", [Moves(), Moves.paper()], ids=["default", "paper"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_block_size_and_order_takes_the_same_decisions(family, moves, threads, order):
    case = make_case(family, n=300, p=6, missing=0.1, prior=PRIOR, moves=moves)
    weigh(case)
    compare(case, (100, 120), Launch(threads, order))


def test_orders_up_to_four_are_met():
    """The cases above go through terms of every order."""
    case = make_case("poisson", n=30, p=6, missing=0.1, prior=PRIOR)
    weigh(case)
    record = case.chain.run(0, 120, 40, 1).record
    assert set(np.unique(record.order)) >= {1, 2, 3, 4}


# Each of these is a library of its own, which takes seconds to compile.
@pytest.mark.parametrize(
    ("dtype", "tables_in_shared"),
    [
        (np.uint16, False),
        pytest.param(np.uint16, True, marks=pytest.mark.slow),
        pytest.param(np.uint8, False, marks=pytest.mark.slow),
    ],
    ids=["words-global", "words-shared", "bytes-global"],
)
def test_wide_codes_and_wide_tables(dtype, tables_in_shared):
    case = make_case("bernoulli", n=300, p=6, missing=0.1, prior=PRIOR, dtype=dtype)
    compare(case, (30,), Launch(64, "random", tables_in_shared), streams=(0, 3))


@pytest.mark.parametrize(("max_order", "seed"), [(1, 0), (3, 0), (3, 3)])
def test_sums_of_bins_find_a_place(max_order, seed):
    """In global memory if terms have one variable; else behind the tables of factors, however wide."""
    prior = Prior(K_max=6, max_order=max_order, gamma_adding=0.3)
    case = make_case("gaussian", n=60, p=3, missing=0.1, prior=prior, seed=seed)
    kernels = KernelChains(case.chain, Launch(32))
    assert ("counts" in kernels.kernels.arrays[0]) == (max_order == 1)
    assert compare(case, (20,), Launch(32, "random"))[FACTOR, 1] > 0


def test_tables_of_an_odd_number_of_entries_are_met():
    """The cases above have an odd and an even number of entries before the sums of bins."""
    widths = [table_width(n_bins_of(make_case(n=60, p=3, missing=0.1, seed=seed).problem)) for seed in (0, 3)]
    assert sorted(width % 2 for width in widths) == [0, 1]


def test_the_reference_agrees_too():
    case = make_case("poisson", n=20, p=5, missing=0.1, prior=PRIOR, backend="reference")
    weigh(case)
    tally = compare(case, (12,), Launch(32, "random"))
    assert tally[:, 0].sum() > 100


@pytest.mark.parametrize("family", FAMILIES)
def test_several_row_blocks(family):
    """More rows than 4,096, chains of one launch on two OS threads."""
    case = make_case(family, n=5000, p=5, missing=0.05, prior=Prior(K_max=6, max_order=3))
    weigh(case)
    tally = compare(case, (8, 8), Launch(64, "random", os_threads=2), thin=1, streams=(1, 2))
    assert tally[:, 0].sum() > 150


@pytest.mark.parametrize(
    "off", ["restructure", "langevin", "intercept", "nuisance", "scales", "adapt", "conditional_beta"]
)
def test_moves_switched_off(off):
    case = make_case("gaussian", n=20, p=4, prior=PRIOR, moves=Moves(**{off: False}))
    compare(case, (50,), Launch(32))


@pytest.mark.parametrize(("family", "swap_every"), [("gaussian", 1), ("bernoulli", 3), ("poisson", 2)])
def test_ensembles_trade_places_alike(family, swap_every):
    case = make_case(family, n=20, p=5, prior=Prior(K_max=5, max_order=3), missing=0.1)
    weigh(case)
    runner = ensemble_runner("numba")
    ensembles = []
    for stream in (0, 1):
        case.chain.state.stream[2] = stream
        ensembles.append(make_ensemble(case, Tempering(4, swap_every=swap_every)))
    kernels = KernelEnsembles(ensembles, Launch(32, "random"))
    sweeps, warmup, thin = 210, 10, 5
    records, traces = kernels.run(0, sweeps, warmup, thin)
    for i, one in enumerate(ensembles):
        record = new_record(one.settings, 40, one.watched)
        trace = np.zeros((40, 4))
        problem, settings = one.problem.record, one.settings
        runner.begin(problem, settings, one.states, one.works)
        args = (
            problem,
            settings,
            one.states,
            one.works,
            one.ladder,
            record,
            trace,
            0,
            0,
            sweeps,
            warmup,
            thin,
        )
        assert runner.run(*args) == (sweeps, 40)
        assert differing(np.asarray(one.ladder), kernels.ladders[i]) == []
        for r in range(4):
            assert differing(np.asarray(one.states[r]), kernels.states[4 * i + r]) == []
        assert differing_draws(records[i], record) == []
        assert traces[i].tobytes() == trace.tobytes()
        assert one.works[0].control.tolist() == kernels.kernels.works["control"][4 * i].tolist()
        assert one.ladder.swapped.sum() > 0
    assert sum(one.ladder.travels[0] for one in ensembles) > 0 or swap_every > 1


def test_prior_draws_outside_the_support():
    """No draw has a finite log-likelihood: the state is emptied, as by the compiled sampler."""
    case = make_case("poisson", n=20, p=3, prior=Prior(K_max=5, max_order=3))
    case.problem.offset[:] = 800.0
    ensemble = make_ensemble(case, Tempering(2))
    ensemble.states["scalar"][:, TEMPERATURE] = 0.0
    kernels = KernelEnsembles([ensemble], Launch(64, "descending"))
    kernels.run(0, 2, 0, 1)
    runner = ensemble_runner("numba")
    chain = (ensemble.problem.record, ensemble.settings, ensemble.states, ensemble.works)
    runner.begin(*chain)
    record, trace = new_record(ensemble.settings, 2, ensemble.watched), np.zeros((2, 2))
    runner.run(*chain, ensemble.ladder, record, trace, 0, 0, 2, 0, 1)
    for r in range(2):
        assert differing(np.asarray(ensemble.states[r]), kernels.states[r]) == []
    assert (kernels.states["K"] == 0).all()


def test_a_chain_that_is_told_to_stop_stops():
    case = make_case(n=20)
    kernels = KernelChains(case.chain, Launch(32), (0, 1))
    kernels.kernels.works["control"][1, STOP] = 1
    with pytest.raises(AssertionError):
        kernels.run(0, 5, 0, 1)
    assert kernels.kernels.works["control"][:, SWEEPS_DONE].tolist() == [5, 0]
