"""Devices that the workers of a test find by the environment variable `HOOK` of `engine.gpu.device`."""

from __future__ import annotations

from support.cuda_cases import HostDevice

# Too little for all rows of `test_grid_ray`, enough for half of them.
MEMORY = 1_100_000


def host_devices():
    """What workers find by the environment variable."""
    return (HostDevice(),)


def two_devices():
    """What a worker with two GPUs finds."""
    return HostDevice(), HostDevice()


def one_small_device():
    """What a worker with one GPU of little memory finds."""
    return (HostDevice(memory_bytes=MEMORY),)


def two_small_devices():
    """What a worker with two GPUs of little memory finds."""
    return HostDevice(memory_bytes=MEMORY), HostDevice(memory_bytes=MEMORY)
