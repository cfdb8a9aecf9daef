"""Room formats."""
