"""Room effects."""
