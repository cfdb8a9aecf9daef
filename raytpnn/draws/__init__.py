"""Room draws."""
