"""Room page."""
