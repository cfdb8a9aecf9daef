"""Models that are compared, by name."""

from __future__ import annotations

from examples.paper.models.bart import Bart, Bartz
from examples.paper.models.base import Model, Outcome, evaluate
from examples.paper.models.boosting import Boosting
from examples.paper.models.ebm import Ebm
from examples.paper.models.linear import Linear
from examples.paper.models.ours import Ours, PaperSampler

__all__ = ["MODELS", "PEERS", "Model", "Outcome", "evaluate"]

MODELS: dict[str, Model] = {
    "default": Ours(),
    "default, adaptive": Ours(feature_weights="adaptive"),
    "default, xgboost": Ours(feature_weights="xgboost"),
    "paper": PaperSampler(),
    "xgboost": Boosting(),
    "bart": Bart(),
    "bartz": Bartz(),
    "ebm": Ebm(),
    "linear": Linear(),
}
PEERS = ("xgboost", "bart", "bartz", "ebm", "linear")
