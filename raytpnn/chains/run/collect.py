"""From the padded record of a block to flat draws on the user's scale."""

from __future__ import annotations

import numpy as np

from raytpnn.chains.plan import Plan
from raytpnn.draws.draws import Draws
from raytpnn.engine.chain import Block
from raytpnn.engine.records import B_GAMMA, FIT_LOGLIK, NUISANCE, SIGMA_BETA2
from raytpnn.engine.rows.factor_tables import term_heights

__all__ = ["draws_of_block"]


def draws_of_block(plan: Plan, chain: int, numbers: np.ndarray, block: Block) -> Draws:
    """Give the draws that a block of chain number `chain` kept, with these numbers."""
    size, record = block.draws, block.record
    scale = plan.scaling.scale
    K = record.K[:size]
    terms = np.arange(record.order.shape[1]) < K[:, None]
    order = record.order[:size][terms]
    variables = np.arange(record.features.shape[2]) < order[:, None]
    scalar = record.scalar[:size]
    nuisance = scalar[:, NUISANCE]
    variable_start = np.concatenate([[0], np.cumsum(order)]).astype(np.int64)
    feature, b, gamma = (part[:size][terms][variables] for part in (record.features, record.b, record.gamma))
    shift, factor = np.array(plan.family.user_outputs(plan.scaling.location, scale)).T
    output = record.output[:size][terms].astype(np.int32)
    beta = record.beta[:size][terms] * factor[output]
    intercepts = shift + factor * record.intercepts[:size]
    if plan.prior.bounded:
        # The sampler knows a term by its height; a draw, by its coefficient, whatever the prior.
        heights = np.empty_like(beta)
        term_heights(plan.problem.record, variable_start, feature, b, gamma, heights)
        beta = beta / heights
    return Draws(
        chain=np.full(size, chain, np.int32),
        draw=numbers,
        loglik=plan.family.log_likelihood(
            scalar[:, FIT_LOGLIK], nuisance, float(plan.settings.weight_sum), scale
        )
        + plan.log_constant,
        intercept=intercepts[:, 0],
        nuisance=plan.family.user_dispersion(nuisance, scale),
        b_gamma=scalar[:, B_GAMMA].copy(),
        sigma_beta2=scalar[:, SIGMA_BETA2] * scale**2,
        term_start=np.concatenate([[0], np.cumsum(K)]).astype(np.int64),
        beta=beta,
        variable_start=variable_start,
        feature=feature,
        b=b,
        gamma=gamma,
        output=output,
        intercepts=intercepts,
    )
