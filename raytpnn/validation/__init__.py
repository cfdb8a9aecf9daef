"""How well a model predicts rows it has not seen: splits, a fit of each, what they show together."""
