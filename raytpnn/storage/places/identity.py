"""Which process this is, and whether another one is still there."""

from __future__ import annotations

import functools
import getpass
import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Process", "own_process"]

# Fields of /proc/PID/stat after the name of the program: state, and the time at which the process started.
STATE, START = 0, 19
ENDED = ("Z", "X", "x")


@dataclass(frozen=True)
class Process:
    """A process, distinct from any other on any machine.

    Attributes
    ----------
    user, host : str
        For messages.
    machine : str
        Names what process numbers belong to: a machine since it was started, or a container on it.
    pid : int
    started : int
        When it started, in ticks of its machine: numbers of processes are used again. 0 if not known.
    """

    user: str
    host: str
    machine: str
    pid: int
    started: int

    def __str__(self) -> str:
        return f"{self.user}, process {self.pid} on {self.host}"

    def alive(self) -> bool | None:
        """Whether it is there; None if that cannot be seen from here."""
        return is_alive(self.machine, self.pid, self.started)


def is_alive(machine: str, pid: int, started: int) -> bool | None:
    """Whether a process of a machine is there; None if that cannot be seen from here."""
    if machine != own_machine():
        return None
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[STATE] not in ENDED and int(fields[START]) == started
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return False
    except (OSError, ValueError, IndexError):
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    # One of that number is there, which need not be the same.
    return None


@functools.cache
def own_machine() -> str:
    """Names this machine since it was started, and the container that this process is in."""
    names = [socket.gethostname()]
    for read in (
        lambda: Path("/proc/sys/kernel/random/boot_id").read_text(),
        lambda: os.readlink("/proc/self/ns/pid"),
    ):
        try:
            names.append(read())
        except OSError:
            names.append("")
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]


def own_process() -> Process:
    """The process that asks; not kept, for it may have been forked since."""
    return _process(os.getpid())


@functools.cache
def _process(pid: int) -> Process:
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):
        user = f"user {os.getuid()}"
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        started = int(fields[START])
    except (OSError, ValueError, IndexError):
        started = 0
    return Process(user, socket.gethostname(), own_machine(), pid, started)
