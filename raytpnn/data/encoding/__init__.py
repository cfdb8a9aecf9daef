"""From columns to bins: learned from the training table, applied to new rows.

In: a `Table`, in memory or streamed from Parquet. Out: an `Encoder` and the codes of all rows.

binning       From sorted numbers to bins, and from numbers to the codes of their bins: the compiled part.
bins          The encoded training matrix: small integers, one row per feature.
buffers       Arrays that grow in place, so that a result is never held twice.
codes_file    The file of codes, written in any order and then mapped into memory.
encoder       Encoded features: what was learned from the training table, and its application to new rows.
encoder_io    The encoder on disk, for this package and for any other reader of JSON and Parquet.
fitting       Learning the encoding of a training table, a block of columns at a time.
streamed_fit  Learning the encoding of Parquet files that may be larger than memory, in two passes.
summary       Mergeable summaries of a column.
summary_bins  From the summary of a column to the bins that the encoder makes of it.
"""
