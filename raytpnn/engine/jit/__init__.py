"""Room jit."""
