"""Small chains whose prior is known, with everything but the data fixed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from raytpnn.chains.executors.threads import ThreadExecutor
from raytpnn.chains.monitoring.monitor import Monitor
from raytpnn.chains.observe.progress import Reporter
from raytpnn.chains.plan import Plan
from raytpnn.chains.run.ledger import new_ledger
from raytpnn.chains.run.store import MemoryStore
from raytpnn.chains.schedule.scheduler import Goal, run_blocks
from raytpnn.data.encoding.bins import Bins
from raytpnn.draws.draws import Draws
from raytpnn.engine.backends import block_runner
from raytpnn.engine.chain import Chain, new_state
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.problem import (
    Problem,
    build_problem,
    build_settings,
    with_set_table,
    with_weighted_births,
)
from raytpnn.engine.records import (
    B_GAMMA,
    FIT_LOGLIK,
    INTERCEPT,
    NUISANCE,
    SIGMA_BETA2,
)
from raytpnn.engine.reference.execution import marginal_of
from raytpnn.engine.rows.factor_tables import SMALLEST_HEIGHT, SMALLEST_MEAN
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.families import Family, get_family
from raytpnn.families.outputs import as_records, numbers_of
from raytpnn.model.prior import Prior, PriorDraw
from raytpnn.model.prior import sample as sample_prior

NO_MOVES = {
    "component_changes": 0,
    "birth_death_attempts": 0,
    "joint_beta_every": 0,
    "restructure": False,
    "langevin": False,
    "factor_steps": 0,
    "intercept": False,
    "nuisance": False,
    "scales": False,
}


def random_bins(n: int, p: int, seed: int = 0, dtype=np.uint8, missing: float = 0.0) -> Bins:
    """p features: the first binary, the others of 2 to n distinct values, some cells missing."""
    rng = np.random.default_rng(seed)
    codes = np.empty((p, n), dtype)
    first, value, weight = [0], [], []
    for j in range(p):
        levels = 2 if j == 0 else int(rng.integers(3, min(n, 200) + 1))
        column = np.concatenate([np.arange(levels), rng.integers(0, levels, n - levels)])
        rng.shuffle(column)
        hidden = (rng.random(n) < missing) & (column > 1)
        counts = np.bincount(column[~hidden], minlength=levels).astype(float)
        keep = counts > 0
        column = (np.cumsum(keep) - 1)[column]
        counts = counts[keep]
        total = counts.sum()
        codes[j] = np.where(hidden, np.iinfo(dtype).max, column)
        value.append(np.array([0.0, 1.0]) if j == 0 else (np.cumsum(counts) - counts / 2) / total)
        weight.append(counts / total)
        first.append(first[-1] + len(counts))
    return Bins(
        codes=codes,
        names=tuple(f"x{j}" for j in range(p)),
        marginal=np.arange(p, dtype=np.int32),
        first=np.array(first, np.int64),
        value=np.concatenate(value),
        weight=np.concatenate(weight),
    )


def run_plan(plan: Plan, workers: int | None = None) -> list[Draws]:
    """Run all chains of a plan in threads; the draws of every block, by chain and block."""
    store = MemoryStore()
    names = [f"x{j}" for j in range(len(plan.problem.codes))]
    monitor = Monitor(plan.length.chains, names, plan.watched)
    executor = ThreadExecutor(plan, store, workers)
    run_blocks(executor, plan.length, new_ledger(plan.length), monitor, Goal(), Reporter())
    return [part for _, part in sorted(store.draws.items())]


@dataclass
class Case:
    """A chain on a small problem whose response can be replaced."""

    family: Family
    prior: Prior
    moves: Moves
    problem: Problem
    settings: np.record
    chain: Chain
    noise_scale: float
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def prior_draw(self) -> PriorDraw:
        """A state whose factors all have prior mass."""
        while True:
            draw = sample_prior(
                self.prior,
                self.rng,
                len(self.problem.y),
                len(self.problem.codes),
                self.family.name,
                noise_scale=self.noise_scale,
                intercept_mean=float(self.settings.intercept_mean),
            )
            factors = [
                (j, b, gamma)
                for term in draw.terms
                for j, b, gamma in zip(term.features, term.b, term.gamma, strict=True)
            ]
            if all(self.has_mass(int(j), float(b), float(gamma)) for j, b, gamma in factors):
                return draw

    def has_mass(self, feature: int, b: float, gamma: float) -> bool:
        """Whether a factor can be told from rounding."""
        value, weight = marginal_of(self.problem.record, feature)
        with np.errstate(over="ignore"):
            s = 1.0 / (1.0 + np.exp((b - value) / gamma))
        c = weight @ s
        if not c >= SMALLEST_MEAN:
            return False
        return not self.prior.bounded or np.abs(1.0 - s / c).max() >= SMALLEST_HEIGHT

    def load(self, draw: PriorDraw, stream: int) -> None:
        """Put a prior draw into the chain's state, on its own random stream; outputs are drawn here."""
        state = self.chain.state
        outputs = self.family.n_outputs
        if outputs > 1:
            state.output[: len(draw.terms)] = self.rng.integers(outputs, size=len(draw.terms))
            means = self.settings.intercept_means[:outputs]
            state.intercepts[:outputs] = self.rng.normal(means, self.prior.intercept_sd)
        state.K = len(draw.terms)
        for k, term in enumerate(draw.terms):
            d = len(term.features)
            state.order[k] = d
            state.features[k, :d] = term.features
            state.b[k, :d] = term.b
            state.gamma[k, :d] = term.gamma
            state.beta[k] = term.beta
        state.scalar[INTERCEPT] = draw.intercept
        state.scalar[NUISANCE] = draw.nuisance
        state.scalar[B_GAMMA] = draw.b_gamma
        state.scalar[SIGMA_BETA2] = draw.sigma_beta2
        state.stream[2] = stream

    def compute_fit(self) -> np.ndarray:
        """Let the chain compute phi and fit of its state; returns the fit."""
        self.chain.run(0, 0, 0, 1)
        return self.fit

    @property
    def fit(self) -> np.ndarray:
        """Fit of the chain's state; of several outputs, records."""
        fits = self.chain._arrays[1]
        return fits[0] if self.family.outputs is None else as_records(fits, self.family.outputs)

    def simulate_response(self) -> None:
        """Replace y by a draw given the state."""
        fit = self.compute_fit()
        nuisance = self.chain.state.scalar[NUISANCE]
        self.problem.y[:] = cut_short(self.family, self.family.sample(self.rng, fit, nuisance))

    def statistics(self) -> np.ndarray:
        """Functionals of state and data whose law a posterior-invariant move must keep."""
        state = self.chain.state
        K = int(state.K)
        order = state.order[:K]
        used = [(k, j) for k in range(K) for j in range(order[k])]
        b = np.array([state.b[k, j] for k, j in used])
        gamma = np.array([state.gamma[k, j] for k, j in used])
        features = np.array([state.features[k, j] for k, j in used])
        beta = state.beta[:K]
        fit, scale = self.fit, np.tanh
        of_outputs: list[float] = []
        if self.family.outputs is not None:
            fits = numbers_of(fit).T
            fit = fits[0]
            of_outputs = [
                *np.bincount(state.output[:K], minlength=len(fits)),
                np.sum(order * state.output[:K]),
                *(scale(beta * (state.output[:K] == c)).sum() for c in range(len(fits))),
                *scale(state.intercepts[1 : len(fits)]),
                *scale(fits[:, 0]),
                *(scale(np.mean(f * self.problem.y)) for f in fits),
            ]
        return np.array(
            [
                *of_outputs,
                K,
                K**2,
                order.sum(),
                (order**2).sum(),
                np.sum(features == 0),
                np.sum(features == 1),
                b.sum(),
                (b**2).sum(),
                np.log(gamma).clip(-20).sum() if len(gamma) else 0.0,
                np.tanh(gamma).sum(),
                scale(beta).sum(),
                np.abs(scale(beta)).sum(),
                scale(state.scalar[INTERCEPT]),
                np.log(state.scalar[NUISANCE]),
                np.log(state.scalar[B_GAMMA]),
                np.log(state.scalar[SIGMA_BETA2]),
                scale(fit[0]),
                scale(fit[1] - fit[2]),
                scale(state.scalar[FIT_LOGLIK] / state.scalar[NUISANCE] / len(fit)),
                scale(np.mean(fit * self.problem.y)),
                len({frozenset(state.features[k, : order[k]].tolist()) for k in range(K)}),
            ]
        )


def cut_short(family: Family, y: np.ndarray) -> np.ndarray:
    """Times cut short at 1.5, which is told by their sign, if the family is one of times."""
    return np.where(y < 1.5, y, -1.5) if family.censored else y


def set_table(p: int) -> tuple[np.ndarray, np.ndarray]:
    """Every third set of at most three of p features, (T, 3), with weights that differ much, (T,)."""
    every = [S for size in (1, 2, 3) for S in combinations(range(p), size)]
    sets = np.array(sorted((*S, -1, -1)[:3] for S in every[::3]), np.int64)
    return sets, 1.0 + np.arange(len(sets)) ** 2.0


def make_case(
    family: str = "gaussian",
    n: int = 12,
    p: int = 4,
    prior: Prior | None = None,
    moves: Moves | None = None,
    backend: str = "numba",
    seed: int = 0,
    weight: float = 1.0,
    dtype=np.uint8,
    missing: float = 0.0,
    run_block=None,
    y: np.ndarray | None = None,
    subsets: SubsetUse | None = None,
    random_weights: bool = False,
    feature_weight: np.ndarray | None = None,
    discovering: bool = False,
) -> Case:
    """Build a case with a weak, proper prior and, unless they are given, non-uniform feature weights.

    High orders are likely under the prior: then Deleting is accepted by its ratio, not always, and a wrong
    ratio shows. With `discovering`, births draw features by weight, and half of them sets from a table.
    """
    likelihood = get_family(family).with_classes((0, 1, 2))
    prior = prior or Prior(
        K_max=4,
        C0=0.1,
        max_order=3,
        alpha_adding=0.95,
        gamma_adding=0.1,
        intercept_sd=0.5,
        v=8.0,
        sharing=0.4,
        b_gamma_shape=2.0,
        sigma_beta2_shape=2.0,
        sigma_beta2_scale=1.0,
    )
    prior = prior.resolved(n, p, family)
    moves = moves or Moves()
    bins = random_bins(n, p, seed, dtype, missing)
    rng = np.random.default_rng(seed + 1)
    if y is None:
        f = rng.normal(size=n)
        if likelihood.outputs is not None:
            f = as_records([f, *rng.normal(size=(likelihood.n_outputs - 1, n))], likelihood.outputs)
        y = cut_short(likelihood, likelihood.sample(rng, f, 1.0))
    if feature_weight is None:
        feature_weight = np.arange(1.0, p + 1.0)
    weights = np.full(n, weight) * (rng.uniform(0.5, 1.5, n) if random_weights else 1.0)
    problem = build_problem(bins, y, weights, rng.normal(0, 0.1, n), feature_weight / feature_weight.sum())
    if discovering:
        problem = with_weighted_births(with_set_table(problem, *set_table(p), share=0.5))
    settings = build_settings(problem, likelihood, prior, moves, 1.0, subsets)
    settings.intercept_mean = settings.intercept_means[0] = 0.3
    settings.intercept_means[1 : likelihood.n_outputs] = -0.2
    noise_scale = float(settings.v_lambda) / prior.v
    state = new_state(settings, seed, 0, moves.step_size, 1.0, prior.start("b_gamma"), 0.1)
    chain = Chain(problem, settings, state, run_block or block_runner(backend), np.arange(0, n, 3))
    return Case(likelihood, prior, moves, problem, settings, chain, noise_scale)
