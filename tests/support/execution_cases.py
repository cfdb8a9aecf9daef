"""What `test_executions` and other tests share: differing."""

from __future__ import annotations


def differing(left, right):
    """Fields in which two chains' states differ."""
    return [
        name for name in left.state.dtype.names if left.state[name].tobytes() != right.state[name].tobytes()
    ]
