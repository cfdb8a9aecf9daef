"""Room shards."""
