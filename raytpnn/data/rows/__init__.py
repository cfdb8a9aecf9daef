"""Training rows on disk, encoded, whole or one shard of them.

In: a run. Out: `TrainingRows`, checked before compiled code relies on them.

rows_check  Training rows that come from a file, checked before compiled code relies on them.
rows_io     Training rows on disk, encoded: bins and what belongs to each row.
shard_io    Training rows of one shard: only its own rows are read, wherever the run lies.
"""
