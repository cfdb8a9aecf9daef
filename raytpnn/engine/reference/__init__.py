"""The reference execution: moves as plain Python, rows, tables and arithmetic in NumPy.

In: what a chain gets. Out: the same bits as compiled code. Its moves are the compiled moves' own source, so
that it checks
rows, tables and arithmetic alone; moves are tested by their laws.

execution  The reference execution.
rebinding  Run the same source another way: copies of compiled functions with some of their callees replaced.
subset     Reference of what subsets of the rows need, see `execution.py`.
"""
