"""Room parallel."""
