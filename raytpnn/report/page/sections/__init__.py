"""The sections of the page, one file each.

In: a posterior. Out: HTML.

convergence  Did it converge.
effects      How each effect looks.
fit          What was fitted.
importance   What matters.
quality      How good is it.
selection    Which effects are real: a table for the page.
single_rows  What was learned about single rows.
validation   What rows held out say.
"""
