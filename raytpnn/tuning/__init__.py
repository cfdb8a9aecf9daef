"""Which prior suits the data: a race of settings on Ray, by rows held out or by the log evidence.

In: a table, a response and settings. Out: a table of settings and a config file of the best.

config_text  A config file for `raytpnn fit` as text.
on_ray       The race on Ray: each step of a setting is a task.
outcome      One step of one setting: a fold fitted and looked at, or an ensemble and its log evidence.
presets      Search spaces by name.
progress     Lines that say how far a search is.
race         A race of settings: which go on after each step depends on complete steps alone.
result       What a search found.
saved_steps  Steps that are done, each in a small file.
settings     One setting of prior and moves, and grids of them.
tune         `raytpnn.tune`: a search over settings of the prior.
"""
