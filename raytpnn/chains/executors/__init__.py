"""Who runs blocks: threads of this process, or actors on Ray.

In: blocks that are to be run. Out: reports of blocks that are done. A new executor fulfils `base.Executor`.

base          What the scheduler asks of those who run blocks.
ray_actor     The Ray actor: a worker, or one of a gang of workers, that may die at any moment.
ray_cluster   Which Ray cluster it is, and whether we may join it.
ray_gang      A gang: the actors on Ray that run a chain together, all of them or none.
ray_nodes     Nodes of a Ray cluster.
ray_pool      Blocks on Ray: workers come, go and come back, the work stays.
ray_replicas  Ensembles spread over workers on Ray: a replica here, another there, joined when a block ends.
ray_session   Being connected to Ray: to a cluster that is there, or to one of our own that we stop again.
resources     What a worker asks of a Ray cluster.
sharding      How many workers run one chain together, and what each of them asks of Ray.
threads       Blocks in threads of this process: the compiled sweep lets go of the interpreter lock.
"""
