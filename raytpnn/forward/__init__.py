"""The forward pass: f of every draw at rows of codes, and sizes of components.

In: draws and codes. Out: latent values, mean responses, norms; on CPUs, and on a device if there is one.

ensemble       The terms of all draws, laid out for compiled code.
forward        The forward pass: packs of terms over rows of codes, by table lookups.
forward_cuda   The forward pass on a device: latent f of all draws at rows of codes, by `kernels/forward.cu`.
forward_numpy  The forward pass in plain NumPy: slow, readable, what the compiled one is tested against.
mean_response  From lane sums of f to the mean response, summed over draws.
norms          How large every component is in every draw.
outputs        The latent functions of families of several outputs, at new rows.
packs          Terms side by side in the lanes of vectors.
prediction     The latent function and its mean response at new rows, streaming over rows and draws.
probe          Components at a few training rows.
vectors        Eight neighbouring numbers of an array as one machine vector.
"""
