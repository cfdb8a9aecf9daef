"""Room sweeps."""
