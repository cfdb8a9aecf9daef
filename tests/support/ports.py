"""What `test_ray_cluster` and other tests share: free_port."""

from __future__ import annotations


def free_port():
    import socket

    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]
