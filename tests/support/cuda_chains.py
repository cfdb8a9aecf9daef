"""Short chains by the kernels on the CPU host, beside the compiled ones: what mutated kernels must fail."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
from support.chain_cases import make_case, random_bins
from support.cuda_cases import HostDevice
from support.cuda_host.build import HostError

from raytpnn.engine.gpu.chains import DeviceChains, Ran, Task
from raytpnn.engine.records import DELAYED, DELAYED_IF_IT_PAYS, STATE
from raytpnn.engine.rows.subset_options import SubsetUse
from raytpnn.model.prior import Prior

# A chain on all rows; and two that screen proposals on a third of them, always and where it pays.
PLAIN = (SubsetUse(),)
SCREENED = SubsetUse(100, DELAYED, attempts=3), SubsetUse(100, DELAYED_IF_IT_PAYS)
SWEEPS = 12
# Threads of a block and the order in which they run.
SCHEDULES = ((64, "descending"), (256, "random"), (32, "ascending"))


def short_case(subsets: SubsetUse):
    """A case with more rows than lanes, missing values and terms of several orders."""
    y = np.sin(np.arange(300.0))
    if subsets.rows:
        # Something to find: screens then have much to say.
        codes = random_bins(300, 5, missing=0.1).codes
        y = 0.1 * y + (codes[2] > 20) + np.sin(codes[3] / 10.0)
    prior = Prior(K_max=24 if subsets.rows else 8, max_order=4, gamma_adding=0.3)
    return make_case(n=300, p=5, prior=prior, missing=0.1, y=y, subsets=subsets)


def expected_states(ways: tuple[SubsetUse, ...] = PLAIN) -> list[bytes]:
    """States of the compiled chains after the sweeps."""
    states = []
    for subsets in ways:
        case = short_case(subsets)
        case.chain.run(0, SWEEPS, SWEEPS // 2, 1)
        states.append(case.chain.checkpoint())
    return states


def run_on_device(device: HostDevice, threads: int, subsets: SubsetUse, stopped: bool = False) -> Ran:
    """A chain on a device after the sweeps, or after it was told to stop before the first."""
    case = short_case(subsets)
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
    ways: tuple[SubsetUse, ...] = PLAIN,
) -> str:
    """What the kernels of a folder do: "same", "different", or the fault that the host reports."""
    for (threads, order), (subsets, state) in product(SCHEDULES, zip(ways, expected, strict=True)):
        try:
            ran = run_on_device(HostDevice(order=order, folder=folder, variant=variant), threads, subsets)
            # All threads must hear of a stop alike, or some wait for others that have left.
            device = HostDevice(order=order, folder=folder, variant=variant)
            halted = run_on_device(device, threads, subsets, stopped=True)
        except HostError as problem:
            return f"fault: {problem}"
        if ran.state.tobytes() != state or halted.state["K"][0] != 0:
            return "different"
    return "same"


if __name__ == "__main__":
    # A process of its own, for builds that need a runtime preloaded.
    told = Path(sys.argv[1]).read_bytes()
    states = [told[at : at + STATE.itemsize] for at in range(0, len(told), STATE.itemsize)]
    print(verdict(states, variant=sys.argv[2], ways=PLAIN if len(states) == len(PLAIN) else SCREENED))
