"""How well a model predicts rows it has not seen: splits, a fit of each, what they show together.

In: a table, a response and options of `sample`. Out: scores of rows held out, and their summary.

cases           Rows to split, and how the rows of a training part become what is fitted.
cross_validate  `raytpnn.cross_validate`.
execute         Fits of a cross-validation, done one after the other here, or as tasks on Ray.
results         Where finished fits are kept.
splits          Which rows are held out: repeated folds and repeated random splits, stratified, by seed.
summary         What all fits of a cross-validation show together.
task            One fit of a cross-validation: sample on the training part, look at the part held out.
text            A cross-validation in words and tables: Markdown, and files.
"""
