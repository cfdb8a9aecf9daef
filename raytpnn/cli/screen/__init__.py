"""Room screen."""
