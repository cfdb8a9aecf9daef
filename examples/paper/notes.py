"""Words of RESULTS.md that no module has: how to read it, commands that differ, what the figures say."""

from __future__ import annotations

__all__ = ["COMMANDS", "INTRODUCTION", "NOTES", "NOT_RUN"]

INTRODUCTION = """
# The paper's tables, side by side

Made by `python -m examples.paper.results` from the tidy files in `examples/paper/results`. These were made
by the commands above the tables, run from the root of the repository with `--out FOLDER`, the data sets in
`RAYTPNN_DATA` and the extra `peers` (`pip install '.[peers]'`). A command goes on where it was stopped,
skips data sets that are not there and says so, runs its cases as Ray tasks (`--jobs`, `--address`), or one
after the other with `--executor threads`, with the same results. All figures are mean (standard error over
splits). A number in square brackets is that of splits, where it is not the row's.

- **default**: `raytpnn.sample(X, y, family)`, four chains of 1,000 + 1,000 sweeps, nothing tuned.
- **paper**: `Moves.paper()`, the paper's sampler with the errata applied, features proposed by XGBoost,
  prior settings from the paper's grid; four chains of 1,000 + 1,000.
- **xgboost, bart** (stochtree), **ebm** (interpret-core), **linear** (ridge, logistic): see
  `examples/paper/models`. These and "paper" choose among four settings each by two-fold cross-validation
  within the training part.
- ANOVA-TPNN, NAM, mBNN, Deep Ensemble and all else marked as the paper's were not run: these are its
  figures.

What differs from the paper's protocol:

- The five splits 80/20 are not the paper's (seeds 0 to 4): compare with peers in the same row first.
- Mpg and Churn were not to be had. Labelled Madelon has 2,600 rows, not 4,400. GSE43358 is replaced by
  other expression data, the images by a simulated set.
- Tuning: four settings and two folds, for the paper 1,458 settings and five folds. BART is one chain of
  1,000 draws after ten warm starts, with 50 or 100 trees.
- Everything is fitted to training rows only, preprocessing too.
- Machine: two cores of a virtual machine that eight others used at the time. Times are CPU seconds, which
  that disturbs less than wall time, and are good for ratios only. It also is why some tables have fewer
  splits and shorter chains than five and 1,000 + 1,000: what was run is said in each.
"""

COMMANDS: dict[str, str] = {
    "terms": "python -m examples.paper.terms --splits 1",
    "gamma_prior": "python -m examples.paper.gamma_prior --splits 1",
    "step_size": "python -m examples.paper.step_size --splits 1",
    "trajectory": "python -m examples.paper.trajectory --splits 3",
    "selection": "python -m examples.paper.selection --splits 1",
    "genomics": "python -m examples.paper.genomics --splits 3",
    "minibatch": "python -m examples.paper.minibatch --data abalone",
    "concepts": "python -m examples.paper.concepts --splits 3",
    "runtime": "OMP_NUM_THREADS=1 RAYTPNN_THREADS=1 python -m examples.paper.runtime",
}
NOT_RUN: dict[str, str] = {}
NOTES: dict[str, str] = {
    "standing": """
"Within one SE" goes by the standard error of the defaults' mean over these splits; where only the paper's
own is large enough, it says so. Where the defaults are short by more:

- **Boston, RMSE, behind XGBoost.** The lead comes from three of the five splits, in part from few homes: on
  the second split, without the three rows that are worst for ours, ours has 1.91 and XGBoost 2.18 (rows
  picked by our errors, which flatters ours); on the fourth XGBoost stays ahead, 2.38 to 2.78, and on the
  fifth, 2.22 to 2.38 (`python -m examples.paper.worst_rows --split 1`, `3`, `4`). The worst row of each is
  a home with the capped price of 50 by the highway (RAD 24). Chains disagree about some rows by more than
  10: the slow mixing on Boston that the README describes may be part of it. Whether tempering or longer
  chains close the gap was not tried here. CRPS and NLL are ahead of all peers run.
- **Breast, AUROC, behind the paper.** No model run here reaches 0.998 on these splits; the best peer is
  ahead of ours by 0.001.
- **ECE of two classes, behind a peer** by 0.003 to 0.02, though better than the paper's or within one SE.
  Logistic regression is ahead on Fico and Breast with a lower AUROC or the same; NLL, which counts both, is
  ahead of all peers on Fico and Madelon. On Madelon the default proposes all 500 features alike; with
  `feature_weights="adaptive"` (below), which explores the same posterior faster, AUROC, ECE and NLL are all
  better. The default stays uniform: in much wider data adaptive proposals found less than marginal ones
  (README), and no rule for when to switch has been tested.
""",
    "nonbayesian": """
As in the paper, the Bayesian model has the lowest CRPS and NLL of numbers, on all three sets; XGBoost has
the lower mean absolute error on Boston. Of two classes, a tuned XGBoost or logistic regression is
calibrated about as well.
""",
    "runtime": """
The aim was 50 times the paper's GPU on every row. BART and EBM were measured on the smaller sets only, as
the machine was shared; EBM on Breast was stopped after 45 CPU seconds. BART on Abalone was measured in a
run of its own.
""",
    "selection": """
Two of nine reach the paper, as in the README, which has three data sets and longer chains. On f1 the paper
is above the oracle of n = 5,000. Proposals by XGBoost help on some rows and hurt on others; in the paper
they help on all: one data set and two short chains cannot tell more.
""",
    "components": """
Many of Madelon's features stand for each other, and the five leading components differ between proposals:
chains of 2,000 sweeps have not converged there (README). Interactions up to order four are among the
leading five with proposals by XGBoost, as in the paper, though not first.
""",
    "proposals": """
The order is the paper's, the gap is smaller: uniform proposals do better here than the paper's best. The
likely reason is in the default moves (coefficients drawn given the data, ten births or deaths a sweep).
""",
    "stepwise": """
The direction is the paper's: with stepwise births scores are better.
""",
    "step_size": """
The direction is the paper's, larger steps give larger errors, without its jump at 0.3. The paper's RMSEs of
3.2 are about the standard deviation of rings, 3.22: its chains in these ablations hardly fit; ours do, with
the same hyperparameters as far as the paper gives them.
""",
    "terms": """
As in the paper, K falls and the error rises with C0. The default moves fill up to K_max = 200 where C0 is
small; the paper's moves, one birth or death a sweep, do not get there in 2,000.
""",
    "gamma_prior": """
As in the paper, a_gamma hardly matters and b_gamma does. Where it is best differs: here the error falls up
to b_gamma = 0.1, in the paper that is the worst (its errors are those of chains that hardly fit, see the
next table).
""",
    "genomics": """
Three splits of so few samples say little; the README has twenty.
""",
    "poisson": """
The paper's NLL is far below that of the true mean on data simulated by its own formula, so its data cannot
be these: neither RMSE nor NLL compares with it. XGBoost is below the truth's NLL at the rows it was fitted
to, and further from the true mean: it fits noise. The paper's sampler has the middle of its grid, untuned.
EBM was not run.
""",
    "stability": """
Two chains of 500 + 500 a fit, not 1,000 + 1,000; Fico and Madelon were not run. Abalone and Breast are less
stable than in the paper. Features that measure the same thing, of which both have many, can stand for each
other; whether longer chains agree more was not tried.
""",
    "novelty": """
On Breast ours is ahead of the peers, on Fico behind BART and XGBoost, as in the paper behind BART. Fico is
hard for all.
""",
    "minibatch": """
Neither minibatches nor delayed acceptance change a score by more than its standard error, as in the paper.
At 3,341 rows there is no time to be saved. Made with commit 96ca487, in which minibatches came; Fico was
not run.
""",
    "trajectory": """
The default is at its level after about 50 iterations, the paper's sampler after more than 1,000. The
default's error is lowest at 200 and a little higher later; why was not looked into.
""",
    "concepts": """
As in the paper, ours is ahead of a linear head; here it is ahead of XGBoost too. EBM was not run.
""",
}
