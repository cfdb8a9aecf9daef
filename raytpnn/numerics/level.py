"""The level of every interval and band, unless another is asked for."""

__all__ = ["CREDIBLE_LEVEL", "PERCENT", "TAILS"]

CREDIBLE_LEVEL = 0.9
PERCENT = f"{CREDIBLE_LEVEL:.0%}"
# Quantiles at the ends of such an interval.
TAILS = (0.05, 0.95)
