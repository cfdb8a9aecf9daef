"""Those who look on while chains run: the screen, a log, metrics. They change no draw.

In: reports of blocks. Out: lines on a screen, files of JSON, figures for Prometheus.

block_log  `RUN/log/`: a line of JSON for every block, so that a run can be followed and timed afterwards.
metrics    Figures of a run for Prometheus, through Ray: what a dashboard shows while the chains run.
notebook   A bar in notebooks: how far the chains are, R-hat, the time left, and the verdict at the end.
observer   Those who look on while the chains run: what they see changes no draw.
progress   Telling the person who waits how far the chains are.
"""
