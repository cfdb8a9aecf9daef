"""A posterior as ArviZ wants it: named groups of labelled arrays."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.convergence.diagnostics import by_chain, scalar_quantities
from raytpnn.forward.norms import evenly_spaced

if TYPE_CHECKING:
    from raytpnn.posterior.posterior import Posterior

__all__ = ["groups", "to_arviz"]

DIMENSIONS = {"f": ["probe_row"], "y": ["row"]}


def to_arviz(posterior: Posterior, probe_rows: int = 64, max_rows: int = 2000, seed: int = 0) -> Any:
    """Draws for ArviZ, with the groups of `groups`.

    Parameters
    ----------
    posterior : Posterior
    probe_rows : int
        Training rows at which f is given, evenly spaced.
    max_rows : int
        Most training rows, evenly spaced, in log_likelihood, posterior_predictive and observed_data. What
        ArviZ sums over rows (loo) is then over these. Memory is 16 bytes per draw and row.
    seed : int
        Of the posterior predictive responses.

    Returns
    -------
    xarray.DataTree or arviz.InferenceData
        The latter with ArviZ before 1.0. Chains that differ in length are cut to the shortest.

    Raises
    ------
    ImportError
        If ArviZ is not installed.
    """
    for name, value in (("probe_rows", probe_rows), ("max_rows", max_rows)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a number of rows, 1 or more, not {value!r}")
    n = posterior.bins.n_rows
    probes, rows = evenly_spaced(n, probe_rows), evenly_spaced(n, max_rows)
    data = groups(posterior, probes, rows, seed)
    labels = {"coords": {"probe_row": probes, "row": rows}, "dims": DIMENSIONS}
    module, takes_groups_by_name = arviz_module()
    return module.from_dict(**data, **labels) if takes_groups_by_name else module.from_dict(data, **labels)


def groups(
    posterior: Posterior, probes: np.ndarray, rows: np.ndarray, seed: int
) -> dict[str, dict[str, np.ndarray]]:
    """Arrays by group and name; (chains, draws, ...) but for observed_data.

    posterior
        K, intercept, nuisance (if the family has one), mean_order, the learned scales b_gamma and
        sigma_beta2, and f, without offset, at the probe rows.
    posterior_predictive, log_likelihood, observed_data
        y at `rows`: a simulated response, the log density of the observed one times its sample weight, and
        the observed one.
    sample_stats
        loglik, the log-likelihood of all rows.
    """
    draws, family = posterior.draws, posterior.family
    scalars = {name.replace(" ", "_"): x for name, x in scalar_quantities(draws, family).items()}
    stats = {"loglik": by_chain(draws, scalars.pop("loglik"))}
    # A scale that the user fixed is no parameter.
    fixed = [name for name in ("b_gamma", "sigma_beta2") if np.ptp(scalars[name]) == 0.0]
    parameters = {name: by_chain(draws, x) for name, x in scalars.items() if name not in fixed}
    f = np.concatenate([f - posterior.offset[at] for at, f in posterior.training_blocks(probes)], axis=1)
    predicted, log_likelihood = np.empty((2, draws.n_draws, len(rows)))
    done = 0
    for at, latent in posterior.training_blocks(rows):
        block = slice(done, done + len(at))
        rng = np.random.default_rng([seed, int(at[0])])
        nuisance = draws.nuisance[:, None]
        predicted[:, block] = family.sample(rng, latent, nuisance)
        log_likelihood[:, block] = posterior.weight[at] * family.log_density(
            posterior.y[at], latent, nuisance
        )
        done += len(at)
    return {
        "posterior": parameters | {"f": by_chain(draws, f)},
        "posterior_predictive": {"y": by_chain(draws, predicted)},
        "log_likelihood": {"y": by_chain(draws, log_likelihood)},
        "sample_stats": stats,
        "observed_data": {"y": posterior.y[rows]},
    }


def arviz_module() -> tuple[Any, bool]:
    """Find the module with `from_dict`, and whether it takes one keyword per group (ArviZ before 1.0)."""
    for name in ("arviz", "arviz_base"):
        try:
            with warnings.catch_warnings():
                # ArviZ 0.23 announces its successor whenever it is imported.
                warnings.simplefilter("ignore", FutureWarning)
                module = import_module(name)
        except ImportError:
            continue
        return module, name == "arviz" and int(module.__version__.partition(".")[0]) < 1
    raise ImportError("to_arviz needs ArviZ: pip install 'raytpnn[arviz]'")
