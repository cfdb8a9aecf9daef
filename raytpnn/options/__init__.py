"""Every option, defined once: signatures, docstrings, flags, config keys and saved settings come from here.

In: what a user gives. Out: all options of an entry point, checked, defaults filled in.

To add an option, define it in `definition`, in the class of the entry points that should have it, and use it
where it matters. Nothing heavy is imported: the command line reads the definition before it does anything.

checks      What options may be together, and with the data: needs the sampler.
definition  The options: name, type, default, words, flag, choices.
names       Names that the user may have misspelt.
option      What is said about an option, and the options of one entry point.
"""
