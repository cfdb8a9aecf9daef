"""Which prior suits the data: a race of settings on Ray Tune, by rows held out or by the log evidence."""
