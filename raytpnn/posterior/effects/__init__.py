"""What the components of f are, and which matter.

In: a posterior. Out: tables and curves with intervals.

columns       Components by the input columns they are about: all levels of a column of text together.
components    Which components matter: importance, its interval, and the probability of being there.
curves        One component as a function of its features, with bands.
explanations  Explanation objects of other packages, for their plots: shap and interpret.
genes         Ranked genes: probes of one gene taken together, alone and in combinations.
interactions  How strongly features act together.
shapley       Shapley values with credible intervals: of every draw, not of the mean alone.
unexplained   What the draws leave unexplained, and which sets of features it goes with.
"""
