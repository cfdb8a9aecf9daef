"""One fit of a cross-validation: sample on the training part, look at the part held out."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.validation.cases import Cases
from raytpnn.validation.splits import Split

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["CONFIDENT", "Fit", "Task", "fit_one", "permuted"]

# Share of draws above which a fit is sure of a component or a feature.
CONFIDENT = 0.5
# Features and components that a fit keeps note of: those in more draws than this share, and at most so many.
NOTED, MOST_NOTED = 0.01, 200
# Marks the streams of random numbers of permutations.
PERMUTATION_STREAM = 7919


@dataclass(frozen=True)
class Task:
    """One fit to do.

    Attributes
    ----------
    permutation : int
        0 is the response as it is, 1, 2, ... permutations of it.
    split : Split
    seed : int
        Of the chains.
    """

    permutation: int
    split: Split
    seed: int

    @property
    def name(self) -> str:
        """Name of the file that keeps the result."""
        return f"fit-{self.permutation:03}-{self.split.repeat:03}-{self.split.fold:03}.json"


@dataclass(frozen=True)
class Fit:
    """Result of one fit, in plain numbers and lists.

    Attributes
    ----------
    permutation, repeat, fold : int
    rows : list of int
        Held out.
    y, mean, log_density, crps : list of float
        Their response, its posterior mean, the log predictive density of the response, and, except for
        bernoulli, its continuous ranked probability score (else empty).
    features : dict of str to float
        Share of draws that hold a feature, of the leading ones; by gene where genes are known.
    components : list of [list of str, float]
        Leading components, by encoded feature, with the share of draws that they are in.
    n_features : int
        Encoded features.
    terms, sigma_beta2 : float
        Posterior means of K and of the variance of coefficients.
    seconds : float
    """

    permutation: int
    repeat: int
    fold: int
    rows: list[int]
    y: list[float]
    mean: list[float]
    log_density: list[float]
    crps: list[float]
    features: dict[str, float]
    components: list[list[Any]]
    n_features: int
    terms: float
    sigma_beta2: float
    seconds: float = field(compare=False)

    @property
    def confident(self) -> int:
        """Components that the fit is sure of."""
        return sum(share > CONFIDENT for _, share in self.components)

    def to_json(self) -> str:
        """Text that `from_json` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str | bytes) -> Fit:
        """Read what `to_json` wrote; ValueError if it is something else."""
        try:
            return Fit(**json.loads(text))
        except (TypeError, UnicodeDecodeError) as problem:
            raise ValueError(str(problem)) from None


def permuted(y: np.ndarray, permutation: int, seed: int) -> np.ndarray:
    """Response of a permutation, (n,); number 0 is the response itself."""
    if permutation == 0:
        return y
    return np.random.default_rng([seed, PERMUTATION_STREAM, permutation]).permutation(y)


def fit_one(cases: Cases, task: Task, options: dict[str, Any], seed: int) -> Fit:
    """Do one fit on threads of this process.

    Parameters
    ----------
    cases : Cases
    task : Task
    options : dict
        Of `raytpnn.sample`.
    seed : int
        Of the cross-validation: permutations go by it.

    Raises
    ------
    KeyboardInterrupt
        If the chains were interrupted.
    """
    from raytpnn.posterior.evaluate.scores import mixture_crps
    from raytpnn.posterior.verdict import quiet
    from raytpnn.sampling import sample
    from raytpnn.validation.cases import RowsOf

    begin = time.monotonic()
    split, y = task.split, permuted(cases.y.values, task.permutation, seed)
    # One of many fits, of which none is read by itself.
    with quiet():
        post = sample(**cases.training(split.train, y), seed=task.seed, executor="threads", **options)
    if post.config["stopped"] == "interrupt":
        raise KeyboardInterrupt
    held_out = RowsOf(cases.table, split.test)
    offset, truth = cases.offset_of(split.train, split.test, y), y[split.test]
    crps: list[float] = []
    if not post.family.labelled and not post.family.censored:
        for rows, f in post.latent_blocks(held_out, offset):
            crps += mixture_crps(post.family, truth[rows], f, post.draws.nuisance).tolist()
    return Fit(
        permutation=task.permutation,
        repeat=split.repeat,
        fold=split.fold,
        rows=split.test.tolist(),
        y=truth.tolist(),
        mean=post.predict(held_out, offset).tolist(),
        log_density=post.log_density_of(held_out, truth, offset).tolist(),
        crps=crps,
        features=leading_features(post),
        components=leading_components(post),
        n_features=post.bins.n_features,
        terms=float(post.draws.K.mean()),
        sigma_beta2=float(post.draws.sigma_beta2.mean()),
        seconds=time.monotonic() - begin,
    )


def leading_features(post: Posterior) -> dict[str, float]:
    """Features, or genes, whose effects together are likely not negligible, the likeliest first."""
    from raytpnn.forward.norms import gathered

    encoder, sets = post.encoder, post.ensemble.components
    annotation = encoder.annotation
    sources = {int(f): encoder.source(int(f)) for f in post.ensemble.used}
    names = sources if annotation is None else {f: annotation.gene(name) for f, name in sources.items()}
    number = {name: i for i, name in enumerate(dict.fromkeys(names.values()))}
    # Two probes of one gene in one component count once.
    pairs = {(i, number[names[f]]): None for i, features in enumerate(sets) for f in features}
    component, owner = np.array(list(pairs), np.int64).reshape(-1, 2).T
    share = gathered(post.norms, component, owner, len(number)).share_of_draws
    order = np.argsort(-share, kind="stable")[:MOST_NOTED]
    labels = list(number)
    return {labels[i]: float(share[i]) for i in order if share[i] > NOTED}


def leading_components(post: Posterior) -> list[list[Any]]:
    """Components with the share of draws that they are in, the largest first."""
    share = post.norms.share_of_draws
    order = np.argsort(-share, kind="stable")[:MOST_NOTED]
    sets, names = post.ensemble.components, post.bins.names
    return [[[names[f] for f in sets[i]], float(share[i])] for i in order if share[i] > NOTED]
