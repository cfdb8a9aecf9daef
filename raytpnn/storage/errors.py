"""What can be wrong with a run on disk."""

__all__ = ["RunError"]


class RunError(ValueError):
    """A saved run that cannot be read or written; the message names the file and what is wrong with it."""
