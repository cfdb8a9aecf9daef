"""Fixtures of the tests of storage: an S3 server with a bucket, and a log of the requests to it."""

from support.buckets import bucket, requests

__all__ = ["bucket", "requests"]
