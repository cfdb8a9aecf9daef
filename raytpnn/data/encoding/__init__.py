"""Room encoding."""
