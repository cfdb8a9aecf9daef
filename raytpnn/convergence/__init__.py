"""Room convergence."""
