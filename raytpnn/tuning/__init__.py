"""Which prior suits the data: a race of settings on Ray, by rows held out or by the log evidence.

In: a table, a response and settings. Out: a table of settings and a config file of the best.

config_text  A config file for `raytpnn fit` as text.
on_ray       The race on Ray: each step of a setting is a task.
outcome      One step of one setting: a fold fitted and looked at, or an ensemble and its log evidence.
presets      Search spaces by name.
progress     Telling the person who waits how far the search is.
race         A race of settings: who goes on after every step, as a function of complete steps alone.
result       What a search found.
saved_steps  Steps that are done, a small file each.
settings     One setting of prior and moves, and grids of them.
tune         `raytpnn.tune`: a search over settings of the prior.
"""
