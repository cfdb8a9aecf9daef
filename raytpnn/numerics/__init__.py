"""The arithmetic that all executions share: elementary functions, random numbers, sums in a fixed order.

In: numbers and counters. Out: the same bits from Numba, NumPy and CUDA. Imports nothing of raytpnn.

constants         Coefficients of the elementary functions, one copy for every execution.
elementary        exp, log, log1p and the normal quantile from + - x / sqrt and integers alone, compiled.
elementary_numpy  The functions of `elementary` for NumPy arrays: the reference execution, same bits.
fast_math         How prediction is compiled: as the engine, but free to reorder sums.
jit               How everything compiled here is compiled: cached, GIL released, strict IEEE arithmetic.
lanes             Sums over rows in one fixed order, whatever executes them.
lanes_numpy       The sum of `lanes` in NumPy.
level             The level of every interval and band, unless another is asked for.
philox            Philox-4x32-10: random numbers as a function of where they are used.
random            Uniforms, normals and gammas from the counter-based stream.
"""
