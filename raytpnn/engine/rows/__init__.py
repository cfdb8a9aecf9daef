"""Work that grows with the number of rows.

In: codes, responses and a term. Out: sums over rows, stripe by stripe in a fixed order.

bin_sums        Sums over the rows of each bin of one factor, and the term that a changed factor makes.
factor_tables   Factors of a term as tables over the bins of a feature.
feature_sets    Drawing features off a set, and what a set's proposal costs.
outputs         The output at hand: which of a row's functions a move is about.
reduction       Sums of every stripe of the rows, and their total.
row_passes      Passes over the rows: all work that grows with n is here.
set_table       Sets that births draw more often, and their probabilities.
subset          The rows of a sweep that looks at a subset of them.
subset_options  How a chain uses subsets of the rows.
term_moments    Moments of a term, and of one that might take its place, at the fit without it.
"""
