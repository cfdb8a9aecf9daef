"""Workers: each runs blocks of a chain from the state that the block before left.

In: chain and number of a block. Out: a finished block in the store, and a report.

adaptive_weights  Feature weights learned in warm-up.
choose_worker     Which workers a plan's backend calls for.
gpu_worker        A worker with a GPU: many chains run the same block together.
grid_worker       A worker with one or several GPUs for one chain at a time: its rows lie on all of them.
parts             A block of an ensemble in parts: one replica here, another there, joined where all have met.
replica_worker    A worker among whom the replicas of ensembles are spread.
shard_worker      A worker that has one shard of the rows.
worker            One worker: runs any block of any chain, from the state that the block before left.
"""
