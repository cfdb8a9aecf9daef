"""`raytpnn doctor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

__all__ = ["doctor"]


def doctor(
    start_ray: Annotated[
        bool, typer.Option("--start-ray", help="Also start Ray on this machine and stop it again.")
    ] = False,
    gpu_selftest: Annotated[
        bool,
        typer.Option(
            "--gpu-selftest", help="Instead: check the CUDA kernels on the GPUs here, and time them."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Report on the machine and the installation, in a form fit for a bug report."""
    from raytpnn.cli.machine import facts as machine

    if gpu_selftest:
        check_gpus()
        return
    told = {
        "system": examined(machine.system),
        "packages": examined(machine.packages),
        "compiled code": examined(machine.compiled_code),
        "ray": examined(lambda: machine.ray_state(start_ray)),
        "gpu": examined(machine.gpus),
        "environment": examined(machine.environment),
    }
    if json:
        from json import dumps

        print(dumps(told, indent=1))
        return
    for heading, facts in told.items():
        print(heading)
        width = max((len(name) for name in facts), default=0)
        for name, fact in facts.items():
            print(f"  {name:{width}}  {fact}")
        if not facts:
            print("  nothing set")


def check_gpus() -> None:
    """Print what the self-test finds as it goes on; exit 1 if something is not as it should be."""
    from raytpnn.cli.machine import facts as machine
    from raytpnn.cli.machine.gpu_selftest import selftest
    from raytpnn.engine.gpu.device import DeviceError

    print(f"{machine.NOT_YET_ON_A_GPU}.")
    print("Please send in what follows, whatever it says.")
    failed = False
    try:
        for name, outcome, good in selftest():
            print(f"  {name:20}  {outcome}", flush=True)
            failed |= not good
    except DeviceError as problem:
        print(f"  cannot be run: {problem}")
        failed = True
    if failed:
        raise typer.Exit(1)


def examined(facts: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Facts, or why there are none: an installation that is broken is what a doctor is for."""
    try:
        return facts()
    except Exception as problem:
        return {"cannot be told": f"{type(problem).__name__}: {' '.join(str(problem).split())}"}
