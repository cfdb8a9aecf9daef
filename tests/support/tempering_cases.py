"""What `test_tempering` and other tests share: likelihood_of_fit_alone, twin."""

from __future__ import annotations

from numba import njit

from raytpnn.engine.backends import EnsembleRunner
from raytpnn.engine.records import FIT_LOGLIK, NUISANCE
from raytpnn.engine.reference.rebinding import rebuild
from raytpnn.engine.sweeps import ensemble as compiled_ensemble


def twin(**broken) -> EnsembleRunner:
    """The compiled ensemble with some functions replaced."""

    def copy(function):
        return rebuild(function, broken, lambda source: njit(source, nogil=True, error_model="numpy"))

    return EnsembleRunner(compiled_ensemble.begin_replicas, None, None, copy(compiled_ensemble.run_ensemble))


@njit
def likelihood_of_fit_alone(settings, state):
    return state.scalar[FIT_LOGLIK] / state.scalar[NUISANCE]
