"""Posteriors of times until an event: survival curves, medians, risk.

In: draws of a family of censored times. Out: what a person asks of times.

check      Do events come when the model expects them.
curves     Survival of every draw as a function of time, by the law of the family.
posterior  What `raytpnn.sample` gives back for times until an event.
"""
