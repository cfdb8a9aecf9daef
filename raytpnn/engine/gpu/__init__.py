"""Room gpu."""
