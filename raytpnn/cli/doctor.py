"""`raytpnn doctor`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

__all__ = ["doctor"]


def doctor(
    start_ray: Annotated[
        bool, typer.Option("--start-ray", help="Also start Ray on this machine and stop it again.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Report on the machine and the installation, in a form fit for a bug report."""
    from raytpnn.cli import machine

    told: dict[str, dict[str, Any]] = {
        "system": machine.system(),
        "packages": machine.packages(),
        "compiled code": machine.compiled_code(),
        "ray": machine.ray_state(start_ray),
        "gpu": machine.gpus(),
        "environment": machine.environment(),
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
