"""Room plots."""
