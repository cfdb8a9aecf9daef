"""Tables of a user as a column-wise view.

In: a DataFrame, an array, an Arrow table or a path. Out: a `Table`, of which a column is read when it is
asked for.

arrow                Arrow tables and columns.
cells                The cells of one column.
files                Tables in files: columns are read when they are asked for.
openers              Functions that open special files, registered by the floor that reads them.
parquet_pieces       Parquet files cut into pieces of neighbouring row groups.
series_matrix_start  Whether a file is a GEO series matrix, by its first line.
short_lines          Lines of a text table that have fewer or more cells than the header.
streamed_table       Parquet files seen as one table of which nothing is held.
tables               What a user gives as X, as a light column-wise view.
text_columns         Columns of text that were meant as numbers or dates.
text_format          How a text table is written: encoding and separator.
text_numbers         Columns of text in text tables that become numbers.
"""
