"""Room reference."""
