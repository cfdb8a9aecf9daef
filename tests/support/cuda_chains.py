"""Short chains by the kernels on the CPU host, beside the compiled ones: what mutated kernels must fail."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from support.chain_cases import make_case, random_bins
from support.cuda_cases import HostDevice
from support.cuda_host.build import HostError

from raytpnn.engine.gpu.chains import DeviceChains, Ran, Task
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS, STATE
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior


class Way(NamedTuple):
    """How a chain runs."""

    subsets: SubsetUse = SubsetUse()
    family: str = "gaussian"
    moves: Moves = Moves()


# Chains on all rows; and two that screen proposals on a third of them, always and where it pays.
PLAIN = (Way(),)
# One with few steps and a likelihood far from quadratic: some factors stay, some proposals are rejected.
REFIT = (Way(), Way(family="poisson", moves=Moves(factor_steps=2)))
LANGEVIN = (Way(moves=Moves(factor_steps=0)),)
SCREENED = Way(SubsetUse(100, DELAYED, attempts=3)), Way(SubsetUse(100, DELAYED_IF_IT_PAYS))
WAYS = {"plain": PLAIN, "refit": REFIT, "langevin": LANGEVIN, "screened": SCREENED}
SWEEPS = 12
# Threads of a block and the order in which they run.
SCHEDULES = ((64, "descending"), (256, "random"), (32, "ascending"))


def short_case(way: Way):
    """A case with more rows than lanes, missing values and terms of several orders."""
    subsets = way.subsets
    y = np.sin(np.arange(300.0))
    if way.family == "poisson":
        y = np.round(np.exp(2.0 * y + 4.0 * (random_bins(300, 5, missing=0.1).codes[3] > 20)))
    if subsets.rows:
        # Something to find: screens then have much to say.
        codes = random_bins(300, 5, missing=0.1).codes
        y = 0.1 * y + (codes[2] > 20) + np.sin(codes[3] / 10.0)
    prior = Prior(K_max=24 if subsets.rows else 8, max_order=4, gamma_adding=0.3)
    case = {"prior": prior, "moves": way.moves, "missing": 0.1, "y": y, "subsets": subsets}
    return make_case(way.family, n=300, p=5, **case)


def expected_states(ways: tuple[Way, ...] = PLAIN) -> list[bytes]:
    """States of the compiled chains after the sweeps."""
    states = []
    for way in ways:
        case = short_case(way)
        case.chain.run(0, SWEEPS, SWEEPS // 2, 1)
        states.append(case.chain.checkpoint())
    return states


def run_on_device(device: HostDevice, threads: int, way: Way, stopped: bool = False) -> Ran:
    """A chain on a device after the sweeps, or after it was told to stop before the first."""
    case = short_case(way)
    group = DeviceChains(device, case.problem, case.settings, case.chain.watched, SWEEPS, 1, threads=threads)
    if stopped:
        group.request_stop()
    start = np.frombuffer(case.chain.checkpoint(), STATE).reshape(1, 1)
    task = Task(case.problem, 0, SWEEPS, SWEEPS // 2, 1)
    ((ran,),) = list(group.run_blocks(start, [task]))
    group.close()
    return ran


def verdict(
    expected: list[bytes],
    folder: Path | None = None,
    variant: str = "plain",
    ways: tuple[Way, ...] = PLAIN,
) -> str:
    """What the kernels of a folder do: "same", "different", or the fault that the host reports."""
    for (threads, order), (way, state) in product(SCHEDULES, zip(ways, expected, strict=True)):
        try:
            ran = run_on_device(HostDevice(order=order, folder=folder, variant=variant), threads, way)
            # All threads must hear of a stop alike, or some wait for others that have left.
            device = HostDevice(order=order, folder=folder, variant=variant)
            halted = run_on_device(device, threads, way, stopped=True)
        except HostError as problem:
            return f"fault: {problem}"
        if ran.state.tobytes() != state or halted.state["K"][0] != 0:
            return "different"
    return "same"


if __name__ == "__main__":
    # A process of its own, for builds that need a runtime preloaded.
    file = Path(sys.argv[1])
    told = file.read_bytes()
    states = [told[at : at + STATE.itemsize] for at in range(0, len(told), STATE.itemsize)]
    print(verdict(states, variant=sys.argv[2], ways=WAYS[file.name]))
