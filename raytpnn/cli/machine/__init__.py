"""What this machine has, and whether its GPUs compute what the CPU computes.

In: nothing. Out: facts and timings.

facts         Facts about the machine and the installation; no secrets among them, and nothing slow.
gpu_selftest  What `raytpnn doctor --gpu-selftest` does.
"""
