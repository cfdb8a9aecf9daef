"""The CUDA execution: many chains on one device.

In: a problem, states, and a `Device`. Out: states and draws, the same bits as on a CPU.

grid          One chain on whole devices: moves run on the host, passes over rows on the devices.
chains        Many chains on one device: a launch runs a whole block of sweeps of each.
cupy_device   A GPU, driven through CuPy. This file has never met one: see the README.
device        What the CUDA execution asks of a device; `chains.py` does not know which one it drives.
ensembles     Ensembles of replicas on one device.
grid_records  Records of the grid execution.
headers       The CUDA headers that repeat what Python says: constants and records, written from their source.
kernel_files  Where the CUDA sources are, and their text in one piece.
memory        A problem, its chains' scratch space and their draws in the memory of a device.
records       Records of a chain on a device: scratch space and room for draws, as addresses of device memory.
sums          Gradient and Newton sums of many terms on a device.
"""
