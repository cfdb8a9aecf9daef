"""Fixtures of the storage tests: a bucket on an S3 server, and the log of requests to it."""

from __future__ import annotations

from support.buckets import bucket, requests

__all__ = ["bucket", "requests"]
