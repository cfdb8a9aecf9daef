"""Where the shards of one chain join their sums.

In: the sums of one shard. Out: the sums of all shards.

mailbox  Where the shards of one chain meet: memory that all of them see.
meeting  A shard's mailbox as Python sees it: in memory that processes share, or carried between machines.
"""
