"""Chains whose rows are in shards, on Ray: a team of actors for each chain.

In: blocks that are to be run. Out: reports; a team of which one dies is made anew.

carrier      Carries exchanges between shards that share no memory.
ray_shards   Chains on Ray whose rows are in shards: a team of actors a chain, made anew when one of it dies.
shard_actor  The Ray actor that has one shard of the rows. If one of a team dies, the team is made anew.
shard_team   The actors that have the shards of one chain: all of them, or none.
transport    What carries exchanges between shards, and which of it a team takes.
"""
