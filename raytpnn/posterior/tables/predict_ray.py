"""Pieces of Parquet files predicted as Ray tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raytpnn.parallel.ordered_map import TASKS_PER_CORE, in_order
from raytpnn.parallel.ray_tasks import cluster_cores, node_address
from raytpnn.posterior.tables.predict_table import Wanted, predict_piece
from raytpnn.posterior.tables.table_pieces import Piece

if TYPE_CHECKING:
    import pyarrow as pa

    from raytpnn.posterior.posterior import Posterior

__all__ = ["predict_pieces"]


def predict_pieces(posterior: Posterior, pieces: Sequence[Piece], wanted: Wanted) -> Iterator[pa.Table]:
    """Predictions of all pieces, in order, one table per batch.

    The posterior is put into the object store once. Only a few results wait there at a time: a task starts
    when an earlier one has been written.

    Parameters
    ----------
    posterior : Posterior
    pieces : sequence of Piece
    wanted : Wanted
    """
    work = partial(run_piece, for_prediction(posterior), wanted=wanted)
    for tables in in_order(work, pieces, "ray", max(2, TASKS_PER_CORE * cluster_cores())):
        yield from tables


def for_prediction(posterior: Posterior) -> Posterior:
    """Posterior without the training rows: all that prediction needs."""
    from dataclasses import replace

    bins = replace(posterior.bins, codes=np.array(posterior.bins.codes[:, :0]))
    family, classes = posterior.family, posterior.classes
    parts = posterior.draws, posterior.encoder, bins, family, np.empty(0)
    return type(posterior)(*parts, classes=classes, config=posterior.config)


def run_piece(posterior: Posterior, piece: Piece, wanted: Wanted) -> list[pa.Table]:
    """Predict one piece: what a task does."""
    if not piece.path.is_file():
        raise FileNotFoundError(
            f"node {node_address()} does not see {str(piece.path)!r}; put the files where all nodes of the "
            "cluster see them, or give executor='threads'"
        )
    return list(predict_piece(posterior, piece, wanted))
