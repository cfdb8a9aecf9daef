"""Which block is next, and when to stop.

In: an executor, a monitor and what is done already. Out: how the run ended.

queue      Whose turn it is: chains that wait for a worker, those furthest behind first.
scheduler  The scheduler: hands out blocks, watches complete rounds, knows when to stop.
signals    Ctrl-C and SIGTERM counted, not raised: the scheduler decides what they mean.
"""
