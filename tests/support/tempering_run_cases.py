"""What `test_tempering_runs` and other tests share: fit."""

from __future__ import annotations

from support.run_cases import small_data

import raytpnn
from raytpnn import Tempering

SIZE = {"chains": 2, "warmup": 250, "draws": 200, "seed": 8}


def fit(out, spread=False, **options):
    X, y = small_data(60)
    tempering = Tempering(replicas=5, spread=spread)
    # Swaps at the ends of blocks are few: that takes longer chains.
    size = SIZE | {"warmup": 650, "draws": 500} if spread else SIZE
    return raytpnn.sample(X, y, out=out, **{"executor": "threads", "tempering": tempering, **size, **options})
