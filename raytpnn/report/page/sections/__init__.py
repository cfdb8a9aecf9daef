"""The sections of the page, one file each.

In: a posterior. Out: HTML.

answer       The first screen: what was found, how good, can I trust it, what next.
convergence  Did it converge.
effects      How each effect looks.
fit          What was fitted.
importance   What matters.
outputs      Families of several outputs: what matters for each of them.
quality      How good is it.
selection    Which effects are real: a table for the page.
selected     Effects that were selected as real.
single_rows  What was learned about single rows.
survival     How good are times until an event.
validation   What rows held out say.
"""
