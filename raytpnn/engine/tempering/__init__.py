"""Room tempering."""
