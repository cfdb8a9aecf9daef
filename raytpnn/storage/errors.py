"""What can be wrong with a run on disk."""

__all__ = ["NodeTrouble", "RunError", "RunUnusable"]


class RunError(ValueError):
    """A saved run that cannot be read or written; the message names the file and what is wrong with it."""


class NodeTrouble(RunError):
    """A node that cannot work on a run, or could not write to it; others may."""


class RunUnusable(NodeTrouble):
    """A node that cannot see the folder of a run, or not use what it sees there."""
