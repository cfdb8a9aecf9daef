"""The moves of the sampler, one file each.

In: the records of a chain. Out: the same records after a proposal was accepted or rejected.

adaptation          Step sizes that learn in warm-up.
birth_death         Birth of a term, random or stepwise, and death of one.
change_component    A feature changed in all terms of a component at once.
change_features     Adding, deleting or changing a variable of one term, or taking another term's set.
coefficient         The proposal of one coefficient given the rest: a Newton step along its basis function.
delayed_acceptance  Delayed acceptance.
joint_beta          All coefficients and the intercept at once.
langevin            Langevin step of the numbers of one term: theta = (b, log gamma or gamma, beta).
likelihood          What row sums of the log-likelihood are worth, and what a change of one term does to them.
options             What the sampler does in a sweep.
proposed_term       Building basis functions, and what a term's removal leaves.
random_walk         Random walk of the numbers of one term.
refit_factor        Location and scale of one factor of a term, then its coefficient.
scalars             Intercept, dispersion and the learned scales.
"""
