"""What comes in: tables are read and encoded, responses are checked.

In: what a user gives as X and y. Out: an `Encoder`, `Bins` of small integers, a checked response.

encoding      From columns to bins: learned from the training table, applied to new rows.
rows          Training rows on disk, encoded, whole or one shard of them.
tables        Tables of a user as a column-wise view.
gene_symbols  What features are called.
preparation   Preparation of expression data: the scale of values, features that say nothing, duplicates.
response      The response, the weights and the offset of a user, checked.
survival      Times until an event: what users give as y, and persons cut into intervals of time.
synthetic     Data with a known truth.
training      What a model is fitted to, as a user names it.
"""
