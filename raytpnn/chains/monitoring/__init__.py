"""Room monitoring."""
