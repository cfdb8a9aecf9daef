"""Prediction from Parquet to Parquet, for tables larger than memory.

In: a posterior and files. Out: files of predictions.

predict_ray    Pieces of Parquet files predicted as Ray tasks.
predict_table  Prediction from Parquet to Parquet, a batch of rows at a time: for tables larger than memory.
table_files    Writing predictions: Parquet or text, a piece at a time, complete or not at all.
table_pieces   Pieces of Parquet files read for prediction, in batches of rows: only the columns in use.
"""
