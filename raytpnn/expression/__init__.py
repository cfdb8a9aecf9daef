"""Expression data: GEO, AnnData and matrices in files.

In: paths of matrices, sample sheets and annotations. Out: `Expression`, which is a table with a table of
samples.

adjustment     Covariates kept apart from features: what they alone say about the response becomes an offset.
anndata_files  AnnData: objects in memory, .h5ad files by anndata, and 10x .h5 files by h5py.
annotation     What probes are called: gene symbols and accessions from an annotation file.
expression     Expression data: a matrix of samples x features with a table of samples.
matrix_files   Expression matrices in CSV.
sample_lines   Sample lines of GEO as a table.
sample_sheet   The sample sheet.
series_matrix  GEO series matrix files.
targets        From a table of samples to a response.
"""
