"""What compiled code does in a block: sweeps, swaps, draws that are kept.

In: the records of a chain or an ensemble. Out: the same records some sweeps later.

ensemble      Sweeps of all replicas of an ensemble, with swaps in between.
prior_draw    A whole state from the prior.
swap          Replicas at neighbouring temperatures trade places.
sweep         One pass of the sampler, and a block of them.
watched_rows  What is kept of the watched rows at every draw; of all shards, if the rows are spread.
"""
