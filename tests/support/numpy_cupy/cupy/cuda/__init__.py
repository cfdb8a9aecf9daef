"""Devices, streams and events of which only the order matters."""

import threading

from . import nccl, runtime

_here = threading.local()


def current():
    return getattr(_here, "device", None)


class Device:
    def __init__(self, number):
        assert number == 0, "a worker sees one GPU"
        self.id = number

    def __enter__(self):
        self.before, _here.device = current(), self.id
        return self

    def __exit__(self, *_):
        _here.device = self.before

    def synchronize(self):
        nccl.run_what_is_put_off()


class Stream:
    def __init__(self, null=False, non_blocking=False):
        self.ptr = 0 if null else id(self)

    def wait_event(self, event):
        assert event.recorded


Stream.null = Stream(null=True)


class Event:
    recorded = False

    def record(self, stream):
        self.recorded = True


def get_current_stream():
    return Stream.null


__all__ = ["Device", "Event", "Stream", "current", "get_current_stream", "nccl", "runtime"]
