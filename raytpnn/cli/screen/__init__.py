"""What is shown: text and figures, the end of a run, how its chains fare.

In: a run or a posterior. Out: text.

health     What there is to say about the chains of a run, or of a saved posterior.
judgement  The answer to "did it converge" on the screen.
live_page  The report of a run that goes on, served to a browser on this machine.
stop       Ctrl-C and SIGTERM around a run: what was saved, and how to go on.
summary    The end of a run on the screen: did it converge, what matters, what to do next.
text       Text and figures on standard output.
"""
