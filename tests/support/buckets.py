"""An S3 server for tests: fixtures `bucket` and `requests`, see `tests/storage/conftest.py`."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import pytest


def free_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


@pytest.fixture(scope="module")
def requests(tmp_path_factory):
    """File with a line for every request to the S3 server."""
    return tmp_path_factory.mktemp("server") / "requests.log"


@pytest.fixture(scope="module")
def bucket(requests):
    """URI of a bucket on an S3 server that runs for the time of the tests."""
    pytest.importorskip("moto", reason="an S3 server for tests: pip install 'moto[server]'")
    port = free_port()
    with requests.open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log
        )
    limit = time.monotonic() + 60
    while True:
        try:
            urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            break
        except OSError:
            assert server.poll() is None
            assert time.monotonic() < limit, "the S3 server has not come up"
            time.sleep(0.2)
    from pyarrow import fs

    endpoint = f"127.0.0.1:{port}"
    made = fs.S3FileSystem(
        access_key="test",
        secret_key="test",
        endpoint_override=endpoint,
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    made.create_dir("runs")
    yield "s3://test:test@runs/{}?scheme=http&region=us-east-1&endpoint_override=" + endpoint.replace(
        ":", "%3A"
    )
    server.terminate()
    server.wait(30)
