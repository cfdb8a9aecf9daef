"""Room expression."""
