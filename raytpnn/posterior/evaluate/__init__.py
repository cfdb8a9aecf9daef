"""How good a posterior is.

In: a posterior, and responses to compare with. Out: scores and checks.

loo                  Leave-one-out cross-validation from one fit.
mixture              The predictive distribution.
observed             Responses that a user gives to compare predictions with.
out_of_distribution  Rows unlike those of training.
predictive_check     Posterior predictive checks: does the data look like what the model would produce.
scores               How good predictions are: point, density, probability and interval scores.
stability            Do several fits find the same components: the stability score of the paper.
survival_scores      How good predicted survival is, by scikit-survival.
"""
