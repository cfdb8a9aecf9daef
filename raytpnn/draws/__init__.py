"""Draws of many chains, and their Parquet.

In: the states that chains kept. Out: flat arrays, one row per draw; files and tables of them.

check    Draws that come from a file, checked before compiled code relies on them.
draws    Pooled draws: flat arrays, one row per draw, terms and their variables behind offsets.
files    Files of draws: one per block, or one per chain of a saved posterior.
frames   Draws as tables a person can read.
parquet  Draws as Parquet: one row per draw, scalars as columns, terms as list columns.
"""
