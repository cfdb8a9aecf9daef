"""What is sampled: the prior, the basis, and the weights of features.

In: encoded features and a family. Out: a `Prior` and the weights by which features are proposed.

basis            The basis in plain NumPy float64: definition, for tests and for reading.
boosted          Importances of features in a small XGBoost model.
feature_weights  How likely each feature is to be proposed: the weights of the prior on variables.
limits           The most that a state has room for, and that a sweep has random numbers for.
marginal         A screen of single features.
screens          Which sets of features could explain what a fit leaves of the response.
prior            The prior: many small, bounded terms; the paper's own; and a sampler of it.
"""
