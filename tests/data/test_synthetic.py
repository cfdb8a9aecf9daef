"""The synthetic functions, and that their listed components are the true ones."""

from itertools import combinations

import numpy as np
import pytest

from raytpnn.data.synthetic import DESIGNS, make, make_f1, make_f2, make_f3, make_poisson

NODES = 7


def f1(x):
    return (
        np.pi ** (x[1] * x[2]) * np.sqrt(2 * abs(x[3]))
        - np.arcsin(0.5 * x[4])
        + np.log(abs(x[3] + x[5]) + 1)
        + x[9] / (1 + abs(x[10])) * np.sqrt(x[7] / (1 + abs(x[8])))
        - x[2] * x[7]
    )


def f2(x):
    return (
        x[1] * x[2]
        + 2 ** (x[3] + x[5] + x[6])
        + 2 ** (x[3] + x[4] + x[5] + x[7])
        + np.sin(x[7] * np.sin(x[8] + x[9]))
        + np.arccos(0.9 * x[10])
    )


def f3(x):
    return (
        np.tanh(x[1] * x[2] + x[3] * x[4]) * np.sqrt(abs(x[5]))
        + np.exp(x[5] + x[6])
        + np.log((x[6] * x[7] * x[8]) ** 2 + 1)
        + x[9] * x[10]
        + 1 / (1 + abs(x[10]))
    )


FORMULAS = {"f1": f1, "f2": f2, "f3": f3, "poisson": f1}


def quadrature(low, high):
    """Nodes and weights of the uniform distribution; squares near 0 make roots and absolute values smooth."""
    t, w = np.polynomial.legendre.leggauss(NODES)
    t, w = (t + 1) / 2, w / 2
    if low < 0 < high:
        half, share = t**2 * high, t * w
        return np.concatenate([-half[::-1], half]), np.concatenate([share[::-1], share])
    if low == 0:
        return t**2 * high, 2 * t * w
    return low + (high - low) * t, w


def anova(design):
    """Variance of every component of every subset of the variables of a part, by tensor quadrature."""
    grids = {
        j: quadrature(design.low[j - 1], design.high[j - 1]) for part in design.parts for j in part.variables
    }
    components = {}
    for part in design.parts:
        f = part.function(*np.meshgrid(*(grids[j][0] for j in part.variables), indexing="ij"))
        own = {}
        for size in range(len(part.variables) + 1):
            for S in combinations(part.variables, size):
                effect = f
                for axis in reversed(range(len(part.variables))):
                    if part.variables[axis] not in S:
                        effect = np.tensordot(effect, grids[part.variables[axis]][1], axes=(axis, 0))
                for smaller in range(size):
                    for T in combinations(S, smaller):
                        effect = effect - own[T].reshape([len(grids[j][0]) if j in T else 1 for j in S])
                own[S] = effect
                if S:
                    components[S] = components.get(S, 0.0) + effect
    variances = {}
    for S, effect in components.items():
        square = effect**2
        for axis in reversed(range(len(S))):
            square = np.tensordot(square, grids[S[axis]][1], axes=(axis, 0))
        variances[S] = float(square)
    return variances


@pytest.mark.parametrize("name", DESIGNS)
def test_components_are_those_that_vary(name):
    design = DESIGNS[name]
    variances = anova(design)
    total = sum(variances.values())
    assert design.components <= set(variances)
    for S, variance in variances.items():
        # The smallest true one is (7, 8, 9, 10) of f1, at 7e-9; rounding leaves about 1e-33.
        assert (variance > 1e-9 * total) == (S in design.components), (S, variance / total)
    np.testing.assert_allclose(total, design.variance, rtol=1e-4)


@pytest.mark.parametrize("name", DESIGNS)
def test_functions_are_the_formulas_of_the_paper(name):
    data = make(name, 500, seed=3)
    columns = [None, *data.X.to_numpy().T]
    np.testing.assert_allclose(data.f, FORMULAS[name](columns), rtol=1e-12)
    low, high = data.X.min().to_numpy(), data.X.max().to_numpy()
    design = DESIGNS[name]
    assert (design.low <= low).all()
    assert (high <= design.high).all()
    assert (low - design.low < 0.05 * (design.high - design.low)).all()
    assert (design.high - high < 0.05 * (design.high - design.low)).all()


def test_ranges_are_those_of_the_paper():
    f1_low = DESIGNS["f1"].low
    assert f1_low[[0, 1, 2, 5, 6, 8]].tolist() == [0.0] * 6
    assert f1_low[[3, 4, 7, 9]].tolist() == [0.6] * 4
    assert set(f1_low[10:]) == {-1.0}
    for name in ("f2", "f3"):
        assert set(DESIGNS[name].low) == {-1.0}
    assert set(DESIGNS["poisson"].low) == {0.0}
    assert all(set(design.high) == {1.0} for design in DESIGNS.values())


@pytest.mark.parametrize(
    ("maker", "p", "orders"),
    [
        (make_f1, 50, [9, 11, 5, 1]),
        (make_f2, 50, [6, 11, 6, 1]),
        (make_f3, 50, [5, 7, 7, 5, 1]),
        (make_poisson, 10, [9, 11, 5, 1]),
    ],
)
def test_makers(maker, p, orders):
    """`orders`: components of order 1, 2, ..., counted by hand."""
    data = maker(60, seed=1)
    assert data.X.shape == (60, p)
    assert list(data.X.columns[:2]) == ["x1", "x2"]
    counts = np.bincount([len(S) for S in data.components])[1:]
    again, other = maker(60, seed=1), maker(60, seed=2)
    np.testing.assert_array_equal(again.y, data.y)
    assert (other.y != data.y).any()
    assert counts.tolist() == orders


@pytest.mark.parametrize("name", ["f1", "f2", "f3"])
def test_signal_to_noise_is_five(name):
    data = make(name, 200_000, seed=4)
    # 200,000 rows: standard errors are below 0.5%, so 2% is past four of them.
    np.testing.assert_allclose(data.f.var() / data.noise_variance, 5, rtol=0.02)
    np.testing.assert_allclose((data.y - data.f).var(), data.noise_variance, rtol=0.02)


def test_poisson_counts():
    data = make_poisson(100_000, seed=5)
    assert np.isnan(data.noise_variance)
    mean = np.exp(data.f)
    # Residuals over their standard deviation: mean 0 and variance 1, standard errors 0.003 and 0.005.
    z = (data.y - mean) / np.sqrt(mean)
    assert abs(z.mean()) < 0.015
    assert abs(z.var() - 1) < 0.025
    assert (data.y == np.floor(data.y)).all()


def test_unknown_names():
    with pytest.raises(ValueError, match="unknown synthetic data 'f9'; choose one of f1, f2, f3, poisson"):
        make("f9", 10)
    with pytest.raises(ValueError, match="n must be 1 or more, not 0"):
        make_f1(0)
