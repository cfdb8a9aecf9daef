"""R-hat and effective draws while the chains run.

In: numbers watched of every draw, in complete rounds. Out: whether the target is reached.

assessor  R-hat in a thread of its own: with many chains it takes long, and no worker should wait for it.
monitor   R-hat and effective sample sizes while the chains run.
watched   What is watched of every draw while the chains run.
"""
