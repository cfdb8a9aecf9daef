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

- **default**: `raytpnn.sample(X, y, family=family, draws=1000)`, four chains of 1,000 + 1,000 sweeps, nothing
  tuned.
- **paper**: `Moves.paper()`, the paper's sampler with the errata applied, features proposed by XGBoost,
  prior settings from the paper's grid; four chains of 1,000 + 1,000.
- **bart** (stochtree) and **bartz**: as each recommends, 200 trees and four chains of 1,000 draws,
  nothing tuned.
- **xgboost**, **ebm** (interpret-core), **linear** (ridge, logistic): see `examples/paper/models`. These
  and "paper" choose among four settings each by two-fold cross-validation within the training part.
- ANOVA-TPNN, NAM, mBNN, Deep Ensemble and all else marked as the paper's were not run: these are its
  figures.

What differs from the paper's protocol:

- The five splits 80/20 are not the paper's (seeds 0 to 4): compare with peers in the same row first.
- Mpg and Churn come from copies in other packages (`python -m examples.paper.more_data --help`): 398 cars
  as in the paper, 7,043 customers with 19 features, the paper's 20 less the customer's number. Labelled
  Madelon has 2,600 rows, not 4,400. GSE43358 is replaced by other expression data, the images by a
  simulated set.
- Tuning: four settings and two folds, for the paper 1,458 settings and five folds. stochtree has ten warm
  starts.
- Everything is fitted to training rows only, preprocessing too.
- Machine: two cores of a virtual machine, mostly with other work beside it. Times are CPU seconds, which
  that disturbs less than wall time, and are good for ratios only. Where chains are shorter than 1,000 +
  1,000 or splits fewer than five, the command's defaults say so.
- "default" has the present prior (bounded terms) in all tables. The tables of C0, of the gamma prior and of
  step sizes vary the paper's prior, as the paper does.
"""

COMMANDS: dict[str, str] = {
    "runtime": "OMP_NUM_THREADS=1 RAYTPNN_THREADS=1 python -m examples.paper.runtime",
}
NOT_RUN: dict[str, str] = {}
NOTES: dict[str, str] = {
    "standing": """
"Within one SE" goes by the standard error of the defaults' mean over these splits; where only the paper's
own is large enough, it says so. Where the defaults are short by more:

- **Breast, AUROC, behind the paper.** No model run here reaches 0.998 on these splits. Its ECE and NLL
  are behind those of logistic regression.
- **ECE of two classes, behind a peer** on Fico, Breast and Madelon, though better than the paper's or
  within one SE.
- **Servo, NLL.** The mean over splits is decided by one of the five splits: the standard errors say so.

EBM was not run on Madelon, with its 500 features.
""",
    "nonbayesian": """
As in the paper, the Bayesian model has the lowest CRPS and NLL of numbers, on all four sets; XGBoost has
the lower mean absolute error on Boston. Of two classes, a tuned XGBoost or logistic regression is
calibrated about as well.
""",
    "runtime": """
The aim was 50 times the paper's GPU on every row. Both columns were measured in one run with the present
prior, with other work on the second core. The paper's moves and EBM were not run again.
""",
    "selection": """
Two of nine reach the paper, as in `examples/README.md`, which has longer chains. On f1 the paper is above
the oracle of n = 5,000. In the paper proposals by XGBoost help on all rows; here the two ways are within two
standard errors of each other.
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
As in the paper, AUROC and NLL are better with stepwise births; the calibration error is not.
""",
    "step_size": """
Over five splits the step hardly matters: errors rise by 0.02 from steps up to 0.08 to steps of 0.3 and
more, half of their standard error, without the paper's jump at 0.3. The paper's RMSEs of 3.2 are about the
standard deviation of rings, 3.22: its chains in these ablations hardly fit; ours do, with the same
hyperparameters as far as the paper gives them.
""",
    "terms": """
As in the paper, K falls with C0, and the error rises once C0 is 1 or more. The default moves fill up to
K_max = 200 where C0 is small; the paper's moves, one birth or death a sweep, do not get there in 2,000.
""",
    "gamma_prior": """
As in the paper, a_gamma hardly matters; b_gamma does, by up to 0.1. Where it is best differs: here the
error falls up to b_gamma = 0.1, in the paper that is the worst (its errors are those of chains that hardly
fit, see the next table).
""",
    "genomics": """
Five splits of so few samples say little; `examples/README.md` has twenty.
""",
    "poisson": """
The paper's NLL is far below that of the true mean on data simulated by its own formula, so its data cannot
be these: neither RMSE nor NLL compares with it. XGBoost and EBM are below the truth's NLL at the rows they
were fitted to, and further from the true mean: they fit noise. The paper's sampler has the middle of its
grid, untuned.
""",
    "stability": """
Main effects of Boston and Servo are steadier than in the paper, those of the others, Madelon apart, less:
features that measure the same thing, of which Abalone and Breast have many, can stand for each other. Orders
1 and 2 together are about as steady as in the paper, steadier on Boston, less so on Churn.
""",
    "novelty": """
On Breast ours is ahead of the peers, on Fico behind BART and XGBoost, as in the paper behind BART. Fico is
hard for all. On Churn ours is ahead of the peers but no better than chance: rows made of numbers of
Madelon, with levels of text at random, look to no model like anything but more certain customers. The paper
has 0.724; how it made its rows is not said.
""",
    "minibatch": """
As in the paper, minibatches cost little: here no score is worse by more than a standard error. They take
three fifths of the time on Abalone, half of it on Fico. Delayed acceptance scores as all rows do; with 3,341
and 8,367 rows it takes longer than it saves. Widths of bands are in `examples/README.md`.
""",
    "trajectory": """
The means of the default's chain are at their level after about 200 iterations, those of the paper's sampler
still fall at 2,000.
""",
    "concepts": """
As in the paper, ours is ahead of a linear head; here it is ahead of XGBoost and EBM too.
""",
}
