"""Cases of a table, run as Ray tasks or in this process, each kept in a file of its own.

A case is one data set, split and model with its settings. Its result is kept under a key made of all of
these: what is there is not run again, what was asked for with other settings is. The tidy table of a run is
made from the files of its cases.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["Case", "Store", "all_models", "run_cases", "size_of"]

COLUMNS = [
    "table",
    "data",
    "model",
    "split",
    "settings",
    "metric",
    "value",
    "detail",
    "key",
    "machine",
    "version",
]


@dataclass(frozen=True)
class Case:
    """What is run.

    Attributes
    ----------
    table : str
        Module of this package whose `run` does it.
    data, model : str
    split : int
        Number of the split, or the seed of simulated data.
    settings : dict
        All else that the result depends on, in JSON's types.
    """

    table: str
    data: str
    model: str
    split: int
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Digest of everything."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """In words."""
        return f"{self.table}: {self.data}, {self.model}, split {self.split}"


def size_of(options: Any) -> dict[str, Any]:
    """How long samplers run by the options of a command, as part of a case's settings."""
    return {name: getattr(options, name) for name in ("chains", "warmup", "draws")}


def all_models(table: str, options: Any, models: Sequence[str]) -> list[Case]:
    """Cases of every data set and split, all models of one after the other: they meet the same machine."""
    return [
        Case(table, name, model, number, size_of(options))
        for name in options.data
        for number in range(options.splits)
        for model in models
    ]


class Store:
    """Folder of results: `cases/TABLE/KEY.json` and `TABLE.parquet`."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, case: Case) -> Path:
        """File of a case."""
        return self.folder / "cases" / case.table / f"{case.key}.json"

    def has(self, case: Case) -> bool:
        """Whether a case was run."""
        return self.path(case).is_file()

    def write(self, case: Case, records: list[dict[str, Any]]) -> None:
        """Keep the result of a case; a file is there whole or not at all."""
        path = self.path(case)
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {"case": asdict(case), "records": records, "machine": machine(), "version": version()}
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False) as file:
            json.dump(told, file)
        os.replace(file.name, path)

    def collect(self, cases: Sequence[Case]) -> pd.DataFrame:
        """Tidy table of those cases that were run, a row a metric; merged into `TABLE.parquet` too."""
        rows = []
        for case in cases:
            if not self.has(case):
                continue
            told = json.loads(self.path(case).read_text())
            same = {"table": case.table, "data": case.data, "model": case.model, "split": case.split}
            same |= {"settings": json.dumps(case.settings, sort_keys=True), "key": case.key}
            same |= {"machine": told["machine"], "version": told["version"]}
            rows += [same | record for record in told["records"]]
        frame = pd.DataFrame(rows, columns=COLUMNS)
        for table, part in frame.groupby("table"):
            merged(self.folder / f"{table}.parquet", part)
        return frame


def merged(path: Path, part: pd.DataFrame) -> None:
    """Write a tidy table; cases of the same data set, model and split as new ones are replaced."""
    identity = ["data", "model", "split"]
    if path.is_file():
        before = pd.read_parquet(path)
        new = pd.MultiIndex.from_frame(part[identity].drop_duplicates())
        part = pd.concat([before[~pd.MultiIndex.from_frame(before[identity]).isin(new)], part])
    part = part.sort_values(identity, kind="stable")
    part.to_parquet(path, index=False)


def machine() -> str:
    """Processor and number of cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores"


def version() -> str:
    """Version of the package."""
    from importlib.metadata import version as installed

    return f"raytpnn {installed('raytpnn')}"


def run_one(case: Case, folder: str | None) -> list[dict[str, Any]]:
    """Run a case by the module of its table."""
    module = importlib.import_module(f"examples.paper.{case.table}")
    return module.run(case, Path(folder) if folder else None)


def run_cases(
    cases: Sequence[Case],
    store: Store,
    data_folder: Path | None,
    executor: str = "ray",
    jobs: int | None = None,
    address: str | None = None,
    say: Any = print,
) -> int:
    """Run the cases that are not there yet.

    Parameters
    ----------
    cases : sequence of Case
    store : Store
    data_folder : Path or None
    executor : {"ray", "threads"}
        "threads" runs one case after the other in this process, its chains side by side.
    jobs : int, optional
        Most cases at a time on Ray; as many as there are CPUs by default.
    address : str, optional
        Of a Ray cluster; its nodes must see the package, `examples` and the data.
    say : callable
        Told a line a case.

    Returns
    -------
    int
        How many were run.
    """
    waiting = [case for case in cases if not store.has(case)]
    if len(waiting) < len(cases):
        say(f"{len(cases) - len(waiting)} of {len(cases)} cases are there already")
    if not waiting:
        return 0
    folder = str(data_folder) if data_folder else None
    begin = time.monotonic()
    done = on_ray(waiting, folder, jobs, address) if executor == "ray" else here(waiting, folder)
    for number, (case, records) in enumerate(done, 1):
        store.write(case, records)
        say(f"{number}/{len(waiting)} {case.label} ({time.monotonic() - begin:.0f} s)")
    return len(waiting)


def here(cases: Sequence[Case], folder: str | None) -> Iterator[tuple[Case, list[dict[str, Any]]]]:
    """One after the other."""
    for case in cases:
        yield case, run_one(case, folder)


def on_ray(
    cases: Sequence[Case], folder: str | None, jobs: int | None, address: str | None
) -> Iterator[tuple[Case, list[dict[str, Any]]]]:
    """As Ray tasks, in the order in which they end; chains of a case share its CPUs."""
    from raytpnn.chains.executors.ray_session import RaySession
    from raytpnn.chains.executors.resources import Resources
    from raytpnn.chains.observe.progress import make_reporter
    from raytpnn.engine.precompile import compile_all
    from raytpnn.parallel.ray_tasks import cpus_per_task

    with RaySession(address, Resources(), make_reporter(False)):
        import ray

        # Else every worker would compile for itself.
        compile_all()
        chains = max(int(case.settings.get("chains", 1)) for case in cases)
        cpus = cpus_per_task(min(len(cases), jobs or len(cases)), chains)
        # Workers import this package from where it is here.
        environment = {"env_vars": {"PYTHONPATH": search_path(), "RAYTPNN_THREADS": str(cpus)}}
        remote = ray.remote(num_cpus=cpus, max_retries=2, runtime_env=environment)(run_one)
        queue, running = list(cases), {}
        try:
            while queue or running:
                while queue and len(running) < (jobs or len(cases)):
                    case = queue.pop(0)
                    running[remote.remote(case, folder)] = case
                (ended,), _ = ray.wait(list(running), num_returns=1)
                yield running.pop(ended), ray.get(ended)
        finally:
            for unfinished in running:
                ray.cancel(unfinished, force=True)


def search_path() -> str:
    """PYTHONPATH with the folder that holds `examples` in front."""
    root = str(Path(__file__).resolve().parents[2])
    before = os.environ.get("PYTHONPATH")
    return f"{root}{os.pathsep}{before}" if before else root
