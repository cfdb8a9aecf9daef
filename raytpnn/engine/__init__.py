"""One chain: its state, its moves, its sweeps, on CPUs and GPUs.

In: a `Problem` (data, prior, moves) and a state. Out: the state after a block of sweeps, and the draws kept
on the way.
The draws are a function of seed, chain and sweep, the same on every execution.

exchange        Where the shards of one chain join their sums.
gpu             The CUDA execution: many chains on one device.
jit             How compiled parts find each other and their arrays.
moves           The moves of the sampler, one file each.
reference       The reference execution: moves as plain Python, rows, tables and arithmetic in NumPy.
rows            Work that grows with the number of rows.
sweeps          What compiled code does in a block: sweeps, swaps, draws that are kept.
tempering       Ensembles of replicas at several temperatures.
backends        Which execution of the sampler a backend name stands for.
chain           One chain: its state, its scratch space, its checkpoint, and the blocks it runs.
ladder_records  The record of an ensemble's temperatures, and which replica has which.
older_records   Records and settings of earlier chain formats, turned into those of today.
precompile      The first compilation on a machine, shared with a second process.
problem         From data, prior and moves to the arrays and numbers a chain runs on.
record_check    Records that come from a file, checked before compiled code relies on them.
records         The records a chain works on: shared by every execution.
sharded_chain   Rows of one chain in shards.
"""
