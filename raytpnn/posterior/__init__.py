"""What comes out: a `Posterior`, and everything a person asks of it. `FORMAT.md` describes it on disk.

In: draws and the data they were fitted to. Out: predictions, effects, scores, tables.

effects       What the components of f are, and which matter.
evaluate      How good a posterior is.
selection     Which effects are real, at a false discovery rate.
survival      Posteriors of times until an event: survival curves, medians, risk.
tables        Prediction from Parquet to Parquet, for tables larger than memory.
arviz_groups  A posterior as ArviZ wants it: named groups of labelled arrays.
compared      The quantities that are compared between chains: one list for all callers.
extensions    What floors above add to a posterior: `plot`.
fitted        Draws with the data they were fitted to, laid out for questions.
kinds         Which posterior a family has.
one_output    One output of a posterior as a posterior of its own, and tables of all of them.
posterior     What `raytpnn.sample` gives back: draws, and everything a person asks of them.
storage       A posterior on disk, readable with JSON and Arrow alone.
subset_words  What a run did with subsets of its rows, in words.
summary       A posterior in a few lines: for `print`, and for notebooks.
verdict       Whether the chains of a posterior converged: one answer, from one table, for all callers.
"""
