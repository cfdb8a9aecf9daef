"""Workers: each runs blocks of a chain from the state that the block before left.

In: chain and number of a block. Out: a finished block in the store, and a report. One `Worker` knows the run;
what runs the sweeps is its strategy, `run(states, extents) -> ended`.

adaptive_weights  Feature weights learned in warm-up.
choose_worker     Which workers a plan's backend calls for.
gpu_group         The strategy of a GPU with many chains: all run the same block together.
learned_sets      Feature weights and a table of sets learned in warm-up by screens.
one_chain         Strategies that run one chain at a time: on cores, on whole devices, or with other shards.
replica_parts     The strategy of replicas that are spread over workers.
strategy          The contract of a strategy, which runs blocks from states.
worker            The worker: runs blocks of any chain, from the states that the blocks before left.
"""
