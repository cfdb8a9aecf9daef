"""Room forward."""
