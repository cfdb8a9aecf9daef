"""A run on disk or in memory: what is there, who owns it, how it is mended.

In: blocks and checkpoints. Out: the state of a run, for whoever goes on with it or looks on.

collect    From the padded record of a block to flat draws on the user's scale.
ledger     The ledger of a run: which blocks of its chains are done, and which are to do.
ownership  The owner of a run: one process at a time begins it or goes on with it.
repair     A manifest that was lost or damaged, rebuilt from what lies beside the blocks.
run        A run on disk while its chains run: begun, gone on with, ended.
status     The status of a run, from nothing but its files, on any machine that can read them.
store      Where finished blocks go: the memory of this process, or the run on disk.
"""
