"""What comes out: draws, prediction, components, diagnostics."""
