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

COMMANDS: dict[str, str] = {}
NOT_RUN: dict[str, str] = {}
NOTES: dict[str, str] = {}
