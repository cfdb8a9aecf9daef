"""Room observe."""
