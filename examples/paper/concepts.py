"""Head of a concept bottleneck: a classifier on five predicted concepts.

    python -m examples.paper.concepts [--splits 5] [--chains 2] [--warmup 500] [--draws 500]

The paper's images (CelebA-HQ, CatDog), their concepts by CLIP and its ResNet are not to be had here: a
simulated set stands in. An "image" is 60 noisy numbers that five binary concepts shape; a logistic
regression a concept, fitted to 2,000 images of its own, is the frozen network; the label depends on single
concepts, on a pair and on a third-order interaction. The head sees predicted probabilities only. Figures
are not comparable with the paper's; the order of models is what can be.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from examples.paper import published
from examples.paper.command import main
from examples.paper.markdown import figure, grid, summary, values
from examples.paper.models import MODELS, evaluate
from examples.paper.models.base import Size
from examples.paper.runner import Case, size_of
from examples.paper.splits import split

NAME = "concepts"
TITLE = "Head of a concept bottleneck"
DATA = ()
SOURCES = (NAME,)
DEFAULTS = {"chains": 2, "warmup": 500, "draws": 500}
HEADS = ("default", "xgboost", "ebm", "linear")
CONCEPTS, PIXELS, FOR_CONCEPTS, FOR_HEAD = 5, 60, 2000, 3000
NOISE = 4.0


def cases(options: Any) -> list[Case]:
    """Simulated sets by heads."""
    size = size_of(options)
    return [
        Case(NAME, "simulated concepts", model, number, size)
        for number in range(options.splits)
        for model in HEADS
    ]


def simulate(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Predicted concepts of images, and labels."""
    rng = np.random.default_rng(seed)
    n = FOR_CONCEPTS + FOR_HEAD
    concept = rng.integers(0, 2, size=(n, CONCEPTS))
    image = concept @ rng.normal(size=(CONCEPTS, PIXELS)) + NOISE * rng.normal(size=(n, PIXELS))
    sign = 2.0 * concept - 1.0
    f = (
        0.8 * sign[:, 0]
        - 0.5 * sign[:, 1]
        + 1.2 * sign[:, 1] * sign[:, 2]
        + 1.5 * sign[:, 2] * sign[:, 3] * sign[:, 4]
    )
    label = (rng.random(n) < 1 / (1 + np.exp(-2.0 * f))).astype(np.float64)
    known, rest = slice(FOR_CONCEPTS), slice(FOR_CONCEPTS, n)
    predicted = {
        f"concept {j + 1}": LogisticRegression(max_iter=1000)
        .fit(image[known], concept[known, j])
        .predict_proba(image[rest])[:, 1]
        for j in range(CONCEPTS)
    }
    return pd.DataFrame(predicted), label[rest]


def run(case: Case, folder: Path | None) -> list[dict[str, Any]]:
    """Fit the head and score it."""
    X, y = simulate(case.split)
    rows = split(len(y), case.split)
    return evaluate(MODELS[case.model], X, y, rows, True, Size(**case.settings)).records()


def table(frame: pd.DataFrame) -> str:
    """A row a data set."""
    count = str(len(values(frame, "auroc", model="default")))
    ours = grid(
        ["data", "sets", *HEADS],
        [["simulated concepts", count, *(summary(frame, "auroc", model=model) for model in HEADS)]],
    )
    others = list(published.CONCEPTS["CatDog"])
    paper = [[name, *(figure(*figures[m]) for m in others)] for name, figures in published.CONCEPTS.items()]
    return "\n\n".join(["AUROC:", ours, "The paper's figures, on images:", grid(["data", *others], paper)])


if __name__ == "__main__":
    main(sys.modules[__name__])
