"""Room schedule."""
