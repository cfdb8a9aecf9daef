"""Which effects are real: tests of single effects, and a false discovery rate over all of them.

In: a posterior. Out: a table of effects with sizes, directions and q-values.

anndata_table  The selection back into an AnnData object.
basis          Functions of a feature's ranks, of which tests of effects are made.
candidates     Which effects are tested; what is not tested counts as not real.
error_rate     From p-values to q-values: every set of features has its prior share of the rate.
gene_selection The selection as a biologist publishes it: genes, probes, controls left out.
left_out       Fits without one effect, from the draws, without running chains again.
one_by_one     Wide data: effects one by one, each beyond those selected before it.
resamples      Would another sample say the same: selections of halves of the rows.
score_tests    Is there an effect beyond all others: a partial F test on what a fit without it leaves.
select         `Posterior.select`: which effects are real, how large, in which direction.
sizes          How large an effect is, given that it is real: given the rest of every draw.
wide_pairs     The best pair of wide data, beyond its features and those selected, against permuted rows.
"""
