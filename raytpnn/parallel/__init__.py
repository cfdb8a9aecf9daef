"""One function over many tasks: in threads of this process, or as Ray tasks.

In: a function and a sequence of tasks. Out: their results.

ordered_map  One function over many tasks, results in the order of the tasks: in threads here, or on Ray.
ray_tasks    Ray tasks that share something large, each held to the CPUs it asks for.
threads      Tasks over the cores of this machine, in threads: compiled code and NumPy release the GIL.
"""
