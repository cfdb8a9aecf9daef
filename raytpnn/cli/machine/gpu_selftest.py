"""What `raytpnn doctor --gpu-selftest` does: kernels beside the CPU on every device here, and timings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from raytpnn.engine.gpu.device import Device, find_devices, use
from raytpnn.engine.gpu.kernel_files import KERNEL_FILES
from raytpnn.engine.records import DELAYED, EXACT_ONLY
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.families import FAMILIES, get_family

__all__ = ["selftest"]

KERNELS = {
    "sweep": ("sweep_block", "end_sweep"),
    "forward": ("forward_tables", "forward"),
    "langevin": ("langevin_sums",),
    "rows_grid": ("grid_pass", "grid_slopes", "grid_many_slopes", "grid_gram", "grid_bins"),
}
# Rows and chains of the timings, and sweeps of each.
SIZES = ((1_000, 16), (1_000, 256), (10_000, 256), (100_000, 64))
TIMED_SWEEPS = 20
# Uses of subsets of the rows by one chain on a whole device, and their rows.
SUBSET_WAYS = {"minibatch": EXACT_ONLY, "delayed acceptance": DELAYED}
SUBSET_ROWS = 2_048
# Rows of the timings of one chain on a whole device.
GRID_SIZES = (10_000, 100_000, 1_000_000)


def selftest(
    sizes: tuple[tuple[int, int], ...] = SIZES, grid_sizes: tuple[int, ...] = GRID_SIZES
) -> Iterator[tuple[str, str, bool]]:
    """Check every device that this process may use.

    Parameters
    ----------
    sizes : tuple of (rows, chains)
        Of the timings.
    grid_sizes : tuple of rows
        Of the timings of one chain on the whole device.

    Yields
    ------
    (str, str, bool)
        What was looked at, the outcome, and whether it is as it should be. DeviceError if there is no device.
    """
    for device in find_devices():
        limits = device.limits()
        memory = f"{limits.memory_bytes / 2**30:.1f} GiB free"
        told = f"{device.name}, {limits.architecture}, {limits.multiprocessors} multiprocessors, {memory}"
        yield "device", told, True
        with use(device):
            for name, check in checks_of(device, sizes, grid_sizes):
                try:
                    yield name, check(), True
                except Exception as problem:
                    yield name, f"FAILED: {type(problem).__name__}: {' '.join(str(problem).split())}", False


def checks_of(
    device: Device, sizes: tuple[tuple[int, int], ...], grid_sizes: tuple[int, ...] = GRID_SIZES
) -> list[tuple[str, Callable[[], str]]]:
    """What is looked at, by name; a check returns its outcome or raises."""
    return [
        *((f"compile {name}.cu", partial(compiled, device, name)) for name in KERNEL_FILES),
        *((f"draws, {family}", partial(same_draws, family)) for family in FAMILIES),
        ("draws, tempered", partial(same_draws, "gaussian", tempered=True)),
        ("draws, screened", partial(same_draws, "gaussian", screened=True)),
        ("forward.cu", partial(same_forward, device)),
        ("langevin.cu", partial(same_sums, device)),
        *((f"rows_grid.cu, {family}", partial(same_grid, device, family)) for family in FAMILIES),
        *((f"rows_grid.cu, {way}", partial(same_grid, device, "bernoulli", way)) for way in SUBSET_WAYS),
        *((f"speed, n={n:,}", partial(speed, device, n, chains)) for n, chains in sizes),
        *((f"one chain, n={n:,}", partial(grid_speed, device, n)) for n in grid_sizes),
    ]


def compiled(device: Device, name: str) -> str:
    """Compile a file and tell what its kernels take."""
    begin = time.monotonic()
    module = device.compile(name, ("WIDE_CODES=0", "TABLES_IN_SHARED=1"))
    seconds = time.monotonic() - begin
    facts = [
        f"{kernel} {', '.join(f'{amount} {what}' for what, amount in module.facts(kernel).items())}"
        for kernel in KERNELS[name]
    ]
    return f"{seconds:.1f} s; {'; '.join(facts)}"


def example(family: str, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Rows with missing values, and a response."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, get_family(family).sample(rng, f, 0.1)


def same_draws(family: str, tempered: bool = False, screened: bool = False) -> str:
    """Sample by the device and by the CPU; all draws must be equal."""
    import raytpnn

    X, y = example(family)
    options: dict[str, Any] = {
        "prior": raytpnn.Prior(K_max=20, max_order=4),
        "tempering": raytpnn.Tempering(replicas=3) if tempered else None,
        "minibatch": 150 if screened else None,
        "delayed_acceptance": screened,
        "chains": 3,
        "warmup": 60,
        "draws": 60,
        "seed": 3,
        "executor": "threads",
    }
    left, right = (
        raytpnn.sample(X, y, family=family, backend=backend, **options).draws for backend in ("cuda", "numba")
    )
    wrong = [
        field.name
        for field in fields(left)
        if not np.array_equal(getattr(left, field.name), getattr(right, field.name))
    ]
    if wrong:
        raise ArithmeticError(f"draws differ from those of the CPU in {', '.join(wrong)}")
    return f"equal to those of the CPU, {left.n_draws} draws of 3 chains"


def same_forward(device: Device) -> str:
    """The forward pass beside that of the CPU."""
    import raytpnn
    from raytpnn.forward.ensemble import Ensemble
    from raytpnn.forward.forward_cuda import latent_on_device
    from raytpnn.forward.prediction import Predictor

    X, y = example("gaussian")
    post = raytpnn.sample(X, y, chains=2, warmup=60, draws=40, seed=3, backend="numba", executor="threads")
    ensemble = Ensemble.of(post.draws, post.bins)
    codes, offset = post.bins.codes[ensemble.used], np.zeros(len(y))
    expected = Predictor(ensemble).latent(codes, offset)
    worst = float(np.abs(latent_on_device(device, ensemble, codes, offset) - expected).max())
    allowed = 1e-5 * float(np.abs(expected).max())
    if not worst <= allowed:
        raise ArithmeticError(f"f differs by {worst:.2g} from that of the CPU, allowed are {allowed:.2g}")
    return f"largest difference to the CPU {worst:.2g}"


def small_problem(n: int, family: str = "gaussian") -> tuple[Any, Any]:
    """A plan and its problem on made-up rows."""
    from raytpnn.chains.plan import Length, make_plan
    from raytpnn.data.encoding.encoder import Encoder
    from raytpnn.data.rows.rows_io import TrainingRows
    from raytpnn.engine.moves.options import Moves
    from raytpnn.model.prior import Prior

    X, y = example(family, n)
    _, bins = Encoder.fit(X)
    p = bins.n_features
    rows = TrainingRows(bins, y.astype(float), np.ones(n), np.zeros(n), np.full(p, 1.0 / p))
    plan = make_plan(rows, get_family(family), Prior(), Moves(), 0, Length(1, 1, 1), "numba")
    return plan, plan.problem


def same_sums(device: Device) -> str:
    """Langevin sums of one term beside NumPy's in float64."""
    from raytpnn.engine.gpu.sums import langevin_sums

    plan, problem = small_problem(5000)
    D = int(plan.settings.max_order)
    features, b, gamma = np.zeros((1, D), np.int32), np.full((1, D), 0.4), np.full((1, D), 0.1)
    score, curvature = np.cos(np.arange(5000.0)), np.ones(5000)
    terms = np.array([1]), features, b, gamma
    sums = langevin_sums(device, problem, plan.settings, *terms, score, curvature)[0].sum(axis=0)
    phi = factor_at_rows(problem, 0.4, 0.1)
    expected = np.array([score @ phi, phi @ phi])
    worst = float(np.abs(sums[:2] - expected).max() / np.abs(expected).max())
    if not worst <= 1e-5:
        raise ArithmeticError(f"sums {sums[:2]} differ from {expected} by {worst:.2g}")
    return f"largest relative difference to NumPy {worst:.2g}"


def factor_at_rows(problem: Any, b: float, gamma: float) -> np.ndarray:
    """1 - s/c of the first feature at every row, 0 where it is missing."""
    held = {array.ctypes.data: array for array in problem.others}
    first, size = (int(held[int(problem.record[name])][0]) for name in ("first_bin", "n_bins"))
    value, weight = (
        held[int(problem.record[name])][first : first + size] for name in ("bin_value", "bin_weight")
    )
    s = 1.0 / (1.0 + np.exp((b - value) / gamma))
    table = np.append(1.0 - s / np.sum(weight * s), 0.0)
    return table[np.minimum(problem.codes[0], size)]


def speed(device: Device, n: int, chains: int) -> str:
    """Time sweeps of many chains here beside sweeps of one on a CPU core."""
    from raytpnn.engine.backends import block_runner
    from raytpnn.engine.chain import Chain
    from raytpnn.engine.gpu.chains import DeviceChains, Task

    plan, problem = small_problem(n)
    group = DeviceChains(device, problem, plan.settings, plan.watched, TIMED_SWEEPS, chains)
    states = np.array([plan.first_state(i) for i in range(group.width)]).reshape(-1, 1)
    tasks = [Task(problem, first, TIMED_SWEEPS, 10**6, 1) for first in (0, TIMED_SWEEPS)]
    try:
        moments = []
        # The second block is timed: the first meets a cold device, and chains without terms.
        for _ in group.run_blocks(states, tasks):
            moments.append(time.monotonic())
    finally:
        group.close()
    seconds = moments[1] - moments[0]
    chain = Chain(problem, plan.settings, plan.first_state(0), block_runner("numba"), plan.watched)
    chain.run(0, TIMED_SWEEPS, 10**6, 1)
    begin = time.monotonic()
    chain.run(TIMED_SWEEPS, TIMED_SWEEPS, 10**6, 1)
    core = time.monotonic() - begin
    rate, core_rate = group.width * TIMED_SWEEPS / seconds, TIMED_SWEEPS / core
    return (
        f"{group.width} chains: {rate:,.0f} sweeps a second; one CPU core: {core_rate:,.0f}; "
        f"ratio {rate / core_rate:.1f}"
    )


def chains_of(plan: Any, devices: list[Device]) -> tuple[Any, Any]:
    """The same chain with its rows on devices, and on a CPU core."""
    from raytpnn.engine.backends import block_runner
    from raytpnn.engine.chain import Chain
    from raytpnn.engine.gpu.grid.chain import GridChain

    made_of = plan.problem, plan.settings
    return (
        GridChain(*made_of, plan.first_state(0), devices, plan.watched),
        Chain(*made_of, plan.first_state(0), block_runner("numba"), plan.watched),
    )


def same_grid(device: Device, family: str, way: str | None = None) -> str:
    """One chain with its rows in two shards of the device beside a CPU core: states must be equal."""
    n, sweeps = 20_000, 12
    plan, _ = small_problem(n, family)
    if way is not None:
        plan.settings.batch, plan.settings.delayed = SUBSET_ROWS, SUBSET_WAYS[way]
        plan.settings.screened_attempts = SubsetUse().attempts
    grid, core = chains_of(plan, [device, device])
    try:
        for chain in (grid, core):
            chain.run(0, sweeps, sweeps // 2, 1)
    finally:
        grid.close()
    if grid.checkpoint() != core.checkpoint():
        raise ArithmeticError(f"the state after {sweeps} sweeps of {n:,} rows differs from that of the CPU")
    return f"equal to that of the CPU, {sweeps} sweeps of {n:,} rows in two shards, {int(grid.state.K)} terms"


def grid_speed(device: Device, n: int) -> str:
    """Time sweeps of one chain on the whole device beside sweeps of one on a CPU core."""
    plan, _ = small_problem(n)
    sweeps = TIMED_SWEEPS
    seconds = []
    grid, core = chains_of(plan, [device])
    try:
        for chain in (grid, core):
            # Terms come first: a chain without any is no measure.
            chain.run(0, sweeps, 10**6, 1)
            begin = time.monotonic()
            chain.run(sweeps, sweeps, 10**6, 1)
            seconds.append((time.monotonic() - begin) / sweeps)
    finally:
        grid.close()
    return (
        f"{int(grid.state.K)} terms: {1e3 * seconds[0]:,.2f} ms a sweep; "
        f"one CPU core: {1e3 * seconds[1]:,.2f}; ratio {seconds[1] / seconds[0]:.1f}"
    )
