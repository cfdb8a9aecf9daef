"""Many chains: a plan is cut into blocks, workers run blocks, a scheduler decides what comes next.

In: a `Plan` and where to keep blocks. Out: finished blocks, and how the run ended. Who runs a block changes
no draw.

executors     Who runs blocks: threads of this process, or actors on Ray.
monitoring    R-hat and effective draws while the chains run.
observe       Those who look on while chains run: the screen, a log, metrics. They change no draw.
run           A run on disk or in memory: what is there, who owns it, how it is mended.
schedule      Which block is next, and when to stop.
shards        Shards of a chain that are different processes: how they exchange sums.
work          Workers: each runs blocks of a chain from the state that the block before left.
block_report  The report on a finished block.
outcome       The account of a run that is kept with it: what it was asked to be, and how it went.
plan          Everything that defines a run's chains: from it any block can be computed, anywhere.
run_chains    A run from its first block, or the first that is missing, to its end, on threads or on Ray.
"""
