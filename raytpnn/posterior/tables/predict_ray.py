"""Pieces of Parquet files predicted as Ray tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from raytpnn.parallel.ordered_map import TASKS_A_CORE, result_of
from raytpnn.parallel.ordered_map import ray_is_connected as connected
from raytpnn.parallel.threads import at_most
from raytpnn.posterior.tables.predict_table import Wanted, predict_piece
from raytpnn.posterior.tables.table_pieces import Piece

if TYPE_CHECKING:
    import pyarrow as pa

    from raytpnn.posterior.posterior import Posterior

__all__ = ["connected", "predict_pieces"]

# The posterior that this worker process used last, by the reference it came by.
used_last: dict[str, Posterior] = {}


def predict_pieces(posterior: Posterior, pieces: Sequence[Piece], wanted: Wanted) -> Iterator[pa.Table]:
    """Predictions of all pieces, in order, as a table a batch.

    The posterior is put into the object store once. Only a few results wait there at a time: a task starts
    when an earlier one has been written.

    Parameters
    ----------
    posterior : Posterior
    pieces : sequence of Piece
    wanted : Wanted
    """
    import ray

    # In a list, so that Ray hands on the reference and a worker fetches the posterior once, not once a task.
    reference = [ray.put(for_prediction(posterior))]
    task = ray.remote(num_cpus=1)(run_piece)
    at_a_time = max(2, TASKS_A_CORE * int(ray.cluster_resources().get("CPU", 1)))
    waiting: deque[Any] = deque()
    ahead = iter(pieces)
    try:
        for piece in ahead:
            waiting.append(task.remote(reference, piece, wanted))
            if len(waiting) >= at_a_time:
                yield from result_of(waiting.popleft())
        while waiting:
            yield from result_of(waiting.popleft())
    finally:
        for unfinished in waiting:
            ray.cancel(unfinished)


def for_prediction(posterior: Posterior) -> Posterior:
    """Posterior without the training rows: all that prediction needs."""
    from dataclasses import replace

    from raytpnn.posterior.posterior import Posterior

    bins = replace(posterior.bins, codes=np.array(posterior.bins.codes[:, :0]))
    family, classes = posterior.family, posterior.classes
    return Posterior(posterior.draws, posterior.encoder, bins, family, np.empty(0), classes=classes)


def run_piece(reference: list[Any], piece: Piece, wanted: Wanted) -> list[pa.Table]:
    """Predict one piece on one core: what a task does."""
    import ray

    key = reference[0].hex()
    if key not in used_last:
        used_last.clear()
        used_last[key] = ray.get(reference[0])
    if not piece.path.is_file():
        node = ray.util.get_node_ip_address()
        raise FileNotFoundError(
            f"node {node} does not see {str(piece.path)!r}; put the files where all nodes of the cluster see "
            "them, or give executor='threads'"
        )
    with at_most(1):
        return list(predict_piece(used_last[key], piece, wanted))
