"""Shards of a chain that are different processes: how they exchange sums.

In: a shard's part of an exchange. Out: the parts of all. Who starts the processes: `executors.ray_gang`.

carrier    Carries exchanges between shards that share no memory.
seat       The seat of a shard among those that run a chain with it.
transport  What carries exchanges between shards: shared memory on one node, torch's Gloo between nodes.
"""
