"""Which Ray cluster it is, and whether we may join it; what Ray changes in this process, and back again."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["SavedEnvironment", "cluster_at", "connected_cluster", "private_token", "same_host", "token_file"]

TOKEN_BYTES = 32
CONNECT_SECONDS = 5.0
# What Ray's C++ says of every attempt to connect.
NOISE = b"gcs_client.cc"


class SavedEnvironment:
    """Environment and loggers as they are before Ray is connected, to be put back."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self.changed: dict[str, str | None] = {}
        names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "ray"]
        loggers = [logging.getLogger(name) for name in {"ray", *names}]
        self.loggers = [(one, one.level, list(one.handlers), one.propagate) for one in loggers]

    def take_note(self) -> None:
        """Note what Ray has changed in the environment; what others change later is theirs."""
        before = self.environment
        self.changed = {
            name: before.get(name)
            for name in {*before, *os.environ}
            if before.get(name) != os.environ.get(name)
        }

    def restore(self) -> None:
        """Put back what Ray has changed."""
        for name, value in self.changed.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for logger, level, handlers, propagate in self.loggers:
            logger.setLevel(level)
            logger.handlers[:] = handlers
            logger.propagate = propagate


def cluster_at(address: str) -> str | None:
    """Identity of the cluster at host:port; None if Ray does not tell.

    Raises
    ------
    ray.exceptions.AuthenticationError
        If the cluster wants another token than ours.
    """
    from ray.exceptions import AuthenticationError

    try:
        from ray import _raylet

        host, _, port = address.rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        refuse_no_token()
        client: Any = vars(_raylet)["GcsClient"]
        with without_connection_errors():
            return str(client(address=address).cluster_id.hex())
    except AuthenticationError:
        raise
    except Exception:
        # Nobody is there; or it has changed, since it is not part of Ray's public interface.
        return None


def refuse_no_token() -> None:
    """Raise AuthenticationError if a token is wanted and there is none: Ray's C++ would end the process."""
    from ray._private.authentication import authentication_token_setup

    authentication_token_setup.ensure_token_if_auth_enabled(None, create_token_if_missing=False)


def connected_cluster(ray: Any) -> str | None:
    """Identity of the cluster that is connected; None if Ray does not tell."""
    try:
        return str(ray._private.worker.global_worker.gcs_client.cluster_id.hex())
    except Exception:
        return None


def same_host(one: str, other: str) -> bool:
    """Whether two addresses, host:port, are the same port of the same machine."""
    hosts = []
    for address in (one, other):
        host, _, port = address.rpartition("://")[2].rpartition(":")
        try:
            found = {str(entry[4][0]) for entry in socket.getaddrinfo(host.strip("[]"), None)}
        except OSError:
            found = {host}
        # A machine knows itself by more than one address.
        if any(place.startswith("127.") or place == "::1" for place in found):
            found |= own_addresses()
        hosts.append((found, port))
    return hosts[0][1] == hosts[1][1] and bool(hosts[0][0] & hosts[1][0])


def own_addresses() -> set[str]:
    """Addresses by which this machine is known to others and to itself."""
    found = {"127.0.0.1", "::1"}
    with suppress(OSError):
        found |= {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)}
    with suppress(Exception):
        import ray

        found.add(str(ray.util.get_node_ip_address()))
    return found


@contextmanager
def without_connection_errors() -> Iterator[None]:
    """Leave out, for a moment, what Ray's C++ prints about a connection that fails."""
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    with tempfile.TemporaryFile() as heard:
        os.dup2(heard.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            heard.seek(0)
            for line in heard:
                if NOISE not in line:
                    os.write(2, line)


def token_file() -> Path:
    """File in which Ray looks for its token."""
    return Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")


def private_token() -> None:
    """Have a token for a Ray of our own that nobody else can read: Ray would make one with mode 644."""
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        return
    path = token_file()
    # A home that cannot be written to is for Ray to complain of.
    with suppress(OSError):
        if path.exists():
            found = path.stat()
            if found.st_uid == os.getuid() and stat.S_IMODE(found.st_mode) & 0o077:
                path.chmod(0o600)
        elif "RAY_AUTH_TOKEN_PATH" not in os.environ:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(TOKEN_BYTES))
