"""Room places."""
