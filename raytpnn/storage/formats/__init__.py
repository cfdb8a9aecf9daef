"""What the files of a run look like, and checks of what they claim.

In: bytes of a file. Out: manifests, checkpoints and columns, or a `RunError` that names what is wrong.

chain_format    The format of chains that can be gone on with.
checkpoint      A finished block of a chain.
length          How long chains are, and which of their sweeps count: functions of numbers of sweeps alone.
list_columns    List columns of Arrow tables as flat NumPy arrays.
manifest        `manifest.json`: what a run is, with a checksum of its own; the one before is kept beside it.
manifest_check  What a manifest says, checked: a run may come from a stranger.
npy_files       NumPy's .npy files of a run, checked before they are read or mapped into memory.
parquet_files   Parquet files of a run, checked before and after they are read.
parquet_sizes   How much memory a Parquet file will take, from its own words, before Arrow is given it.
"""
