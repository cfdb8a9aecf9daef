"""Room tables."""
