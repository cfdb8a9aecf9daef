"""Every barrier of the sampler's kernels is needed: without any one of them a comparison fails."""

from __future__ import annotations

import ctypes
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.chain_cases import make_case
from support.cuda_host.build import COMPILER, HostError, HostLibrary, build
from support.cuda_host.child import said_in_child
from support.ensemble_cases import make_ensemble
from support.family_cases import Heavy, kernels_with_families, registered
from support.kernel_cases import KernelChains, KernelEnsembles, Launch

from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED, STOP, TEMPERATURE
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.engine.tempering.options import Tempering
from raytpnn.model.prior import Prior

pytestmark = [pytest.mark.skipif(COMPILER is None, reason="no g++ on the PATH"), pytest.mark.kernels]

BARRIER = "__syncthreads();"
PRIOR = Prior(K_max=6, max_order=3, gamma_adding=0.3, sharing=0.3)
SCHEDULES = [(64, "ascending"), (64, "descending"), (256, "random")]


def with_switches(source: Path, folder: Path) -> list[str]:
    """Copy the kernels so that the barrier whose number stands in `dropped_barrier` is passed by."""
    shutil.copytree(source, folder)
    places = []
    for path in sorted(folder.rglob("*.cu*")):
        pieces = path.read_text().split(BARRIER)
        text = pieces[0]
        for piece in pieces[1:]:
            # Those of other kernels stay.
            if path.suffix == ".cuh" or path.name == "sweep.cu":
                places.append(f"{path.name}:{text.count(chr(10)) + 1}")
                text += f"if (dropped_barrier != {len(places) - 1}) "
            text += BARRIER + piece
        if path.name == "constants.cuh":
            text += 'extern "C" { inline int dropped_barrier = -1; }\n'
        path.write_text(text)
    return places


@dataclass
class Switched:
    """Kernels of which one barrier may be dropped, and what they give with all of them."""

    places: list[str]
    # Built for chains that never screen, and for those that do: each has barriers that the other has not.
    libraries: tuple[HostLibrary, HostLibrary]
    expected: list[bytes]


def content(records) -> bytes:
    return b"".join(field.tobytes() for record in records for field in record)


def chain_run(library, family, schedule, moves, subsets=None):
    chain = make_case(family, n=30, p=3, missing=0.1, prior=PRIOR, moves=moves, subsets=subsets).chain
    kernels = KernelChains(chain, Launch(*schedule, library=library), (0, 1))
    records = kernels.run(0, 25, 8, 1)
    return kernels.states.tobytes() + content(records)


def heavy_run(library, schedule):
    """A family whose dispersion stands in the rows, of which the package has none."""
    with registered(Heavy()):
        return chain_run(library, "heavy", schedule, Moves())


def flat_run(library, schedule):
    """Scales so large that some of the proposed factors are flat, and have no prior mass."""
    prior = Prior(K_max=6, max_order=3, gamma_adding=0.3, a_gamma=0.5, b_gamma=5e7)
    case = make_case("gaussian", n=30, p=3, prior=prior, moves=Moves())
    kernels = KernelChains(case.chain, Launch(*schedule, library=library), (0, 1))
    records = kernels.run(0, 25, 8, 1)
    return kernels.states.tobytes() + content(records)


def ensemble_run(library, schedule):
    case = make_case("gaussian", n=20, p=3, prior=PRIOR)
    kernels = KernelEnsembles([make_ensemble(case, Tempering(4))], Launch(*schedule, library=library))
    records, traces = kernels.run(0, 40, 10, 2)
    # Swap after swap: what is noted a sweep late would be seen in no other way.
    noted = []
    for index in range(40, 80):
        kernels.run(index, 1, 80, 1)
        noted.append(kernels.ladders.tobytes() + kernels.kernels.works["control"].tobytes())
    return kernels.states.tobytes() + content(records) + traces[0].tobytes() + b"".join(noted)


def hopeless_run(library, schedule):
    """No draw from the prior has a finite log-likelihood."""
    case = make_case("poisson", n=20, p=3, prior=PRIOR)
    case.problem.offset[:] = 800.0
    ensemble = make_ensemble(case, Tempering(2))
    ensemble.states["scalar"][:, TEMPERATURE] = 0.0
    kernels = KernelEnsembles([ensemble], Launch(*schedule, library=library))
    kernels.run(0, 1, 0, 1)
    return kernels.states.tobytes() + kernels.kernels.arrays[0]["fit"].tobytes()


def stopped_run(library, schedule):
    kernels = KernelChains(make_case(n=20).chain, Launch(*schedule, library=library)).kernels
    kernels.works["control"][:, STOP] = 1
    kernels.sweep_block(None, 0, 5, 0, 1, 1)
    return kernels.states.tobytes() + kernels.works["control"].tobytes()


def wide_run(library, schedule):
    """More coefficients than a warp has lanes, at a joint draw."""
    prior = Prior(K_max=60, max_order=3, gamma_adding=0.3, C0=0.0001)
    case = make_case("gaussian", n=40, p=3, prior=prior, moves=Moves(joint_beta_every=1, langevin=False))
    draws = (case.prior_draw() for _ in range(100))
    case.load(next(draw for draw in draws if len(draw.terms) > 45), 0)
    kernels = KernelChains(case.chain, Launch(*schedule, library=library))
    kernels.run(0, 2, 1, 1)
    assert kernels.states["K"][0] > 35
    return kernels.states.tobytes()


def results(libraries):
    """What the kernels give, run after run."""
    library, screening = libraries
    for schedule in SCHEDULES:
        for family in ("gaussian", "poisson"):
            yield chain_run(library, family, schedule, Moves())
            yield chain_run(library, family, schedule, Moves(factor_steps=0))
        yield chain_run(library, "gaussian", schedule, Moves(), SubsetUse(12))
        yield chain_run(screening, "gaussian", schedule, Moves(), SubsetUse(12, DELAYED))
        yield heavy_run(library, schedule)
        yield flat_run(library, schedule)
        yield ensemble_run(library, schedule)
        yield stopped_run(library, schedule)
        yield hopeless_run(library, schedule)
        yield wide_run(library, schedule)


@pytest.fixture(scope="module")
def switched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("switched") / "kernels"
    with registered(Heavy()):
        source = kernels_with_families(tmp_path_factory.mktemp("heavy") / "kernels")
    places = with_switches(source, folder)
    macros = "WIDE_CODES=0", "TABLES_IN_SHARED=1"
    libraries = build(folder / "sweep.cu", macros), build(folder / "sweep.cu", (*macros, "SCREENED=1"))
    return Switched(places, libraries, list(results(libraries)))


def without(switched, number):
    """What the kernels do without one of the barriers."""
    for library in switched.libraries:
        ctypes.c_int.in_dll(library.library, "dropped_barrier").value = number
    try:
        for i, result in enumerate(results(switched.libraries)):
            if result != switched.expected[i]:
                return f"run {i} differs"
    except (HostError, AssertionError) as problem:
        return f"fault: {problem}"
    return "same"


def test_every_barrier_is_missed(switched):
    assert len(switched.places) > 30
    assert said_in_child(600, without, switched, -1) == "same"
    verdicts = {
        place: said_in_child(120, without, switched, number) for number, place in enumerate(switched.places)
    }
    needless = [place for place, said in verdicts.items() if said == "same"]
    assert needless == []
