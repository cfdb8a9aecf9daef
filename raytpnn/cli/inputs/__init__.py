"""What a user asks for: flags, config file, columns of the table.

In: words of the command line. Out: checked options and data.

config              The config file of a fit.
expression          Expression data as `fit`, `predict` and `inspect` read them.
family              Which family suits a target, by simple rules that are told.
flags               Commands whose flags come from definitions of options.
options             What the commands have beside the options of the library; how flags and config combine.
predict_expression  Predictions for the samples of expression data.
running             Where the chains of `fit` and `resume` run.
source              The table that `fit` reads: features, target, weights and offset, by the names of columns.
validate            Cross-validation as part of `raytpnn fit`.
"""
