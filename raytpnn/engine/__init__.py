"""One chain: moves, sweep, and their executions."""
