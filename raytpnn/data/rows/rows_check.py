"""Training rows that come from a file, checked before compiled code relies on them."""

from __future__ import annotations

import numpy as np

from raytpnn.data.encoding.bins import Bins
from raytpnn.families import Family

__all__ = [
    "check_codes",
    "check_codes_array",
    "check_features",
    "check_marginals",
    "check_numbers",
    "check_response",
]

# Cells looked at together.
BLOCK_CELLS = 1 << 22
# Weights of a marginal are sums of shares: they add up to 1 but for rounding.
ROUNDING = 1e-6


def check_numbers(values: np.ndarray, what: str, least: float = -np.inf, above: float = -np.inf) -> None:
    """Raise ValueError if a number is not finite, below `least`, or not above `above`."""
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= least) & (values > above)))
    if len(bad):
        wish = f" above {above:g}" if above > -np.inf else f" from {least:g} on" * (least > -np.inf)
        raise ValueError(f"{what} is {values[bad[0]]} at {bad[0]}, but must be a finite number{wish}")


def check_marginals(first: np.ndarray, value: np.ndarray, weight: np.ndarray, missing_code: int) -> None:
    """Raise ValueError unless marginals have bins, not too many, with values in [0, 1] and shares of 1."""
    bins = np.diff(first)
    if len(value) != len(weight) or (len(bins) and first[-1] != len(value)):
        raise ValueError(f"there are {len(value)} values and {len(weight)} weights of {first[-1]} bins")
    if len(bins) and not 1 <= bins.min() <= bins.max() <= missing_code:
        raise ValueError(
            f"a marginal has {bins.min()} or {bins.max()} bins, but must have 1 to {missing_code}"
        )
    check_numbers(value, "a value of a bin", least=0.0)
    check_numbers(weight, "a weight of a bin", least=0.0)
    if len(value) and value.max() > 1.0:
        raise ValueError(f"the value of a bin is {value.max()}, but must be at most 1")
    if len(bins):
        sums = np.add.reduceat(weight, first[:-1])
        worst = int(np.argmax(np.abs(sums - 1.0)))
        if abs(sums[worst] - 1.0) > ROUNDING:
            raise ValueError(f"the weights of marginal {worst} add up to {sums[worst]}, not to 1")


def check_features(bins: Bins, proposal: np.ndarray | None) -> None:
    """Raise ValueError unless every feature has a row of codes, a marginal that there is, and a weight."""
    p, marginals = bins.n_features, len(bins.first) - 1
    if len(bins.names) != p or len(bins.marginal) != p:
        raise ValueError(f"it has {len(bins.names)} features, the codes have {p}")
    if p and not 0 <= bins.marginal.min() <= bins.marginal.max() < marginals:
        raise ValueError(
            f"a feature has marginal {bins.marginal.min()} or {bins.marginal.max()} of {marginals} marginals"
        )
    if proposal is not None:
        check_numbers(proposal, "proposal_weight", above=0.0)


def check_codes_array(shape: tuple[int, ...], dtype: np.dtype, n_rows: int | None) -> None:
    """Raise ValueError unless an array of that shape and type can be codes of so many rows."""
    good = dtype in (np.uint8, np.uint16) and len(shape) == 2 and 0 not in shape
    if not good or n_rows not in (None, shape[1]):
        of = "" if n_rows is None else f" of {n_rows} rows"
        raise ValueError(f"it holds an array of type {dtype} and shape {shape}, not codes{of}")


def check_codes(bins: Bins) -> None:
    """Raise ValueError if a code is neither a bin of its feature nor the code of a missing cell."""
    n_bins = np.diff(bins.first)[bins.marginal]
    step = max(1, BLOCK_CELLS // max(bins.n_rows, 1))
    for start in range(0, bins.n_features, step):
        part = slice(start, start + step)
        for row in range(0, bins.n_rows, BLOCK_CELLS):
            codes = bins.codes[part, row : row + BLOCK_CELLS]
            beyond = (codes >= n_bins[part, None]) & (codes != bins.missing_code)
            if beyond.any():
                feature, place = np.argwhere(beyond)[0]
                raise ValueError(
                    f"the code of feature {start + feature} in row {row + place} is {codes[feature, place]}, "
                    f"but the feature has {n_bins[start + feature]} bins"
                )


def check_response(family: Family, y: np.ndarray) -> None:
    """Raise ValueError if a response of the training rows is impossible under the family."""
    problem = family.problem(y)
    if problem:
        raise ValueError(f"the rows' y does not suit family {family.name!r}: {problem}")
