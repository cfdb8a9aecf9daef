"""From the padded record of a block to flat draws on the user's scale."""

from __future__ import annotations

import numpy as np

from raytpnn.chains.plan import Plan
from raytpnn.engine.chain import Block
from raytpnn.engine.layout import B_GAMMA, FIT_LOGLIK, INTERCEPT, NUISANCE, SIGMA_BETA2
from raytpnn.posterior.draws import Draws

__all__ = ["draws_of_block"]


def draws_of_block(plan: Plan, chain: int, first_draw: int, block: Block) -> Draws:
    """Give the draws that a block of chain number `chain` kept, numbered from `first_draw`."""
    size, record = block.draws, block.record
    scale = plan.scaling.scale
    K = record.K[:size]
    terms = np.arange(record.order.shape[1]) < K[:, None]
    order = record.order[:size][terms]
    variables = np.arange(record.features.shape[2]) < order[:, None]
    scalar = record.scalar[:size]
    nuisance = scalar[:, NUISANCE]
    return Draws(
        chain=np.full(size, chain, np.int32),
        draw=np.arange(first_draw, first_draw + size, dtype=np.int32),
        loglik=log_likelihood(plan, scalar[:, FIT_LOGLIK], nuisance),
        intercept=plan.scaling.location + scale * scalar[:, INTERCEPT],
        nuisance=nuisance * scale**2,
        b_gamma=scalar[:, B_GAMMA].copy(),
        sigma_beta2=scalar[:, SIGMA_BETA2] * scale**2,
        term_start=np.concatenate([[0], np.cumsum(K)]).astype(np.int64),
        beta=record.beta[:size][terms] * scale,
        variable_start=np.concatenate([[0], np.cumsum(order)]).astype(np.int64),
        feature=record.features[:size][terms][variables],
        b=record.b[:size][terms][variables],
        gamma=record.gamma[:size][terms][variables],
    )


def log_likelihood(plan: Plan, fit_loglik: np.ndarray, nuisance: np.ndarray) -> np.ndarray:
    """Weighted log-likelihood on the user's scale, (draws,)."""
    if not plan.family.has_nuisance:
        return fit_loglik + plan.log_constant
    spread = np.log(2.0 * np.pi * nuisance * plan.scaling.scale**2)
    return fit_loglik / nuisance - 0.5 * float(plan.settings.weight_sum) * spread + plan.log_constant
