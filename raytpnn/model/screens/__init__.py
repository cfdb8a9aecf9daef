"""Screens: which sets of features could explain what a fit leaves of the response.

In: encoded features, and of every row the score and the curvature of its log-likelihood at a fit. Out: sets
of one, two or three features with their score statistics, and the table of sets from which births draw.

evidence   From score statistics to how likely a set is an effect.
pairs      Score statistics of all pairs by products of matrices, with a running list of the best.
parities   A search for triples without main effects and pairs among very many features, by signs.
set_table  From score statistics and sets in use to a table of sets with weights.
shapes     Features as centred and scaled ranks, and their squares.
singles    The score statistic of every feature, and of given sets.
triples    Extensions of features and pairs by every feature, and all triples where there are few features.
top_list   The best sets seen so far.
"""
