"""The moves of the sampler, one file each."""
