"""The level of every interval and band, unless another is asked for."""

__all__ = ["LEVEL"]

LEVEL = 0.9
