"""Room rows."""
