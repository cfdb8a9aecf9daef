"""Which block is next, and when to stop.

In: an executor, a monitor and what is done already. Out: how the run ended.

queue      Whose turn it is: chains that wait for a worker, those furthest behind first.
scheduler  The coordinator: hands out blocks, watches complete rounds, knows when to stop.
signals    Ctrl-C and SIGTERM counted, not raised: the coordinator decides what they mean.
"""
