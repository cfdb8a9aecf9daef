"""What is shown: text and figures, the end of a run, how its chains fare.

In: a run or a posterior. Out: text.

health     How the chains of a run fare: read from checkpoints, whatever became of it, or a saved posterior.
judgement  The answer to "did it converge" on the screen.
stop       Ctrl-C and SIGTERM around a run: what was saved, and how to go on.
summary    The end of a run on the screen: did it converge, what matters, what to do next.
text       Text and figures on standard output.
"""
