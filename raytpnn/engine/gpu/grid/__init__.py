"""One chain on whole devices: moves run on the host, passes over rows on the devices.

In: a problem whose rows lie on devices. Out: the same draws as on a CPU.

callbacks     The way from the compiled moves to rows that lie on devices.
chain         One chain whose rows lie on one or several devices: the moves run here, passes over rows there.
choice        When one chain at a time on a whole device is quicker than one block of threads per chain.
command       One command to the kernels of `rows_grid.cu`, and its bytes.
joining       Sums of stripes and of processes, added in order.
meeting       Where processes with devices join the sums of their stripes.
rows          Passes over rows that lie on devices: what the moves ask for, in as few launches as can be.
shard         Some stripes of a problem's rows in the memory of one device, and kernels that pass over them.
subset        The subset of a sweep on devices.
watched_rows  What is kept of the watched rows at every draw of a chain whose rows lie on devices.
"""
