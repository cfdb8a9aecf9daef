"""One file for each kind of plot.

In: a posterior and an axes. Out: the axes with the plot.

calibration  Whether predicted probabilities and intervals hold what they promise.
canvas       Where plots are drawn: matplotlib on demand, colours, and an axes that says why it is empty.
effects      Main effects with pointwise and simultaneous bands.
heatmaps     Two-way interactions as heat maps.
importance   Which components matter, as bars.
scale        A feature's own scale: its values, its training rows, and the axis it is drawn on.
shapley      Shapley values of many rows, one strip of dots per feature.
slices       Interactions of three features, as heat maps of two at values of the third.
traces       Chains over time, and whether they visit the same values: trace and rank plots of scalars.
waterfall    Why one row gets its prediction.
"""
