"""Room work."""
