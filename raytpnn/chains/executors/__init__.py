"""Room executors."""
