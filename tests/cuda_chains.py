"""One short chain by the kernels on the CPU host, beside the compiled one: what mutated kernels must fail."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from chain_cases import make_case
from cuda_cases import HostDevice
from cuda_host.build import HostError

from raytpnn.engine.cuda import DeviceChains, Ran, Task
from raytpnn.engine.layout import STATE
from raytpnn.model.prior import Prior

SWEEPS = 12
# Threads of a block and the order in which they run.
SCHEDULES = ((64, "descending"), (256, "random"), (32, "ascending"))


def short_case():
    """A case with more rows than lanes, missing values and terms of several orders."""
    y = np.sin(np.arange(300.0))
    prior = Prior(K_max=8, max_order=4, gamma_adding=0.3)
    return make_case(n=300, p=5, prior=prior, missing=0.1, y=y)


def expected_state() -> bytes:
    """State of the compiled chain after the sweeps."""
    case = short_case()
    case.chain.run(0, SWEEPS, SWEEPS // 2, 1)
    return case.chain.checkpoint()


def run_on_device(device: HostDevice, threads: int, stopped: bool = False) -> Ran:
    """The chain on a device after the sweeps, or after it was told to stop before the first."""
    case = short_case()
    group = DeviceChains(device, case.problem, case.settings, case.chain.watched, SWEEPS, 1, threads=threads)
    if stopped:
        group.request_stop()
    start = np.frombuffer(case.chain.checkpoint(), STATE).reshape(1, 1)
    task = Task(case.problem, 0, SWEEPS, SWEEPS // 2, 1)
    ((ran,),) = list(group.run_blocks(start, [task]))
    group.close()
    return ran


def verdict(expected: bytes, folder: Path | None = None, variant: str = "plain") -> str:
    """What the kernels of a folder do: "same", "different", or the fault that the host reports."""
    for threads, order in SCHEDULES:
        try:
            ran = run_on_device(HostDevice(order=order, folder=folder, variant=variant), threads)
            # All threads must hear of a stop alike, or some wait for others that have left.
            halted = run_on_device(HostDevice(order=order, folder=folder, variant=variant), threads, True)
        except HostError as problem:
            return f"fault: {problem}"
        if ran.state.tobytes() != expected or halted.state["K"][0] != 0:
            return "different"
    return "same"


if __name__ == "__main__":
    # A process of its own, for builds that need a runtime preloaded.
    print(verdict(Path(sys.argv[1]).read_bytes(), variant=sys.argv[2]))
