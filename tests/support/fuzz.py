"""Load mutated runs, checkpoints and encoders in a process whose memory is limited; see test_strangers.py.

    python tests/support/fuzz.py TARGET SEED FIRST COUNT FOLDER

TARGET is run, checkpoint, encoder or repair; FOLDER holds the fixtures. The last line of output is a summary
in JSON.
An error is good if it is a ValueError (which RunError is) that names a file. What is found else is printed
with the number by which it can be made again.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from support.mutations import Files, mutated, read_files

MEMORY_BYTES = 2 * 1024**3
PATIENCE_SECONDS = 60
# One of these must stand in an error.
NAMES = (
    *("manifest.json", "encoder.json", "encoder.parquet", "features.parquet", "marginals.parquet"),
    *("rows.parquet", "codes.npy", "settings.npy", "block=", "weights="),
    *("begun.json", "manifest.previous.json", "lease/"),
)


def load_run(folder: Path) -> None:
    """Load a posterior, and use it."""
    import raytpnn

    post = raytpnn.load(folder, unfinished=True)
    frame = pd.DataFrame({name: [None, 1.0, 40.0] for name in post.encoder.input_names})
    for column, levels in post.encoder.levels.items():
        frame[post.encoder.input_names[column]] = [None, levels[0] if levels else "x", "no such level"]
    if post.encoder.named:
        post.predict(frame)
    post.components()


def load_checkpoint(folder: Path) -> None:
    """Open a run, and have every chain go on from every state of it for a sweep."""
    from raytpnn.chains.monitoring.monitor import Monitor
    from raytpnn.chains.run.ledger import read_ledger
    from raytpnn.chains.run.run import Run
    from raytpnn.chains.work.choose_worker import chain_worker
    from raytpnn.storage.places.place import Place

    run = Run.open(Place(folder))
    plan = run.plan(run.rows())
    ledger, problems = read_ledger(run)
    if any(not any(name in problem for name in NAMES) for problem in problems):
        raise AssertionError(f"a problem names no file: {problems}")
    monitor = Monitor(plan.length.chains, run.manifest["feature_names"], plan.watched)
    for chain, reports in enumerate(ledger.reports):
        for block, report in reports.items():
            monitor.add(chain, block, report.watched)
    worker = chain_worker(plan, run.store)
    own = worker.strategy.chain
    for chain, reports in enumerate(ledger.reports):
        for block in reports:
            if block + 1 < len(worker.blocks):
                if reachable(run, worker, block + 1):
                    own.problem = worker.problem_of(block + 1)
                own.restore(worker.state_before(chain, block + 1))
                own.run(worker.blocks[block + 1][0], 1, plan.length.warmup, plan.length.thin)


def reachable(run, worker, block: int) -> bool:
    """Whether the feature weights of a block are there."""
    from raytpnn.chains.work.adaptive_weights import round_of_weights
    from raytpnn.storage.formats.checkpoint import weights_name

    at = round_of_weights(worker.plan.length, block) if worker.plan.adaptive else None
    return at is None or run.place.holds(weights_name(at))


def load_encoder(folder: Path) -> None:
    """Load an encoder, and encode two rows."""
    from raytpnn.data.encoding.encoder import Encoder

    encoder = Encoder.load(folder)
    frame = pd.DataFrame({name: [1.0, None, 40.0] for name in encoder.input_names})
    for column, levels in encoder.levels.items():
        frame[encoder.input_names[column]] = [None, levels[0] if levels else "x", "no such level"]
    if encoder.named and len(set(encoder.input_names)) == len(encoder.input_names) and encoder.n_features:
        codes = encoder.transform(frame)
        beyond = (codes >= encoder.n_bins[:, None]) & (codes != encoder.missing_code)
        assert not beyond.any(), "a code is beyond the bins"


def load_repair(folder: Path) -> None:
    """Look at the lease of a run, and rebuild its manifest from what lies beside it."""
    import raytpnn
    from raytpnn.chains.run.repair import repair
    from raytpnn.storage.lease import LeaseReader, in_use
    from raytpnn.storage.places.place import Place

    reader = LeaseReader(Place(folder))
    assert reader.look() in ("released", "alive", "dead", "unknown")
    assert reader.record is not None
    assert str(in_use(Place(folder), reader.record)).isprintable()
    with tempfile.TemporaryDirectory(dir=folder.parent) as room:
        # Without the lease: whether its owner is alive would be seen after a minute.
        run = Path(shutil.copytree(folder, Path(room) / "run", ignore=shutil.ignore_patterns("lease")))
        repair(Place(run))
        raytpnn.load(run, unfinished=True)
        raytpnn.status(run)


TARGETS = {"run": load_run, "checkpoint": load_checkpoint, "encoder": load_encoder, "repair": load_repair}
LEASE = {
    "owner": {"user": "a", "host": "b", "machine": "0123456789ab", "pid": 4711, "started": 99},
    "generation": 7,
    "token": "c" * 32,
    "count": 3,
    "time": 1.0,
    "renew": 5.0,
    "expire": 60.0,
    "released": False,
}


def bases(target: str, fixtures: Path) -> list[Files]:
    """What is mutated."""
    if target == "run":
        folders = [*fixtures.glob("run-*"), *fixtures.glob("unfinished-*")]
    elif target == "checkpoint":
        from raytpnn.storage.formats.chain_format import CHAIN_FORMAT

        folders = [*fixtures.glob(f"unfinished-{CHAIN_FORMAT}-*")]
    elif target == "repair":
        return [lost(files) for files in bases("checkpoint", fixtures)]
    else:
        folders = [path / "encoder" for path in fixtures.glob("run-*") if path.is_dir()]
    return [read_files(folder) for folder in sorted(folders) if folder.is_dir()]


def lost(files: Files) -> Files:
    """Files of a run whose manifest was lost, and whose owner was killed."""
    kept = {name: data for name, data in files.items() if name != "manifest.json"}
    beside = dict.fromkeys(("begun.json", "manifest.previous.json"), files["manifest.json"])
    return kept | beside | {"lease/000007.json": json.dumps(LEASE).encode()}


def write(folder: Path, before: Files, files: Files) -> None:
    """Write what differs from what is there."""
    for name in {*before, *files}:
        if before.get(name) != files.get(name):
            if name in files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(files[name])
            else:
                (folder / name).unlink()


def attempt(load, folder: Path, patience: int = PATIENCE_SECONDS) -> tuple[str, str]:
    """Load once: how it ended, and what was wrong if it was not as it should be."""
    signal.alarm(patience)
    try:
        load(folder)
    except ValueError as problem:
        told = str(problem)
        if "more memory than there is" in told:
            return "memory", told
        if any(name in told for name in NAMES):
            return type(problem).__name__, ""
        return "nameless", traceback.format_exc()
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt):
            raise
        return "wrong error", traceback.format_exc()
    finally:
        signal.alarm(0)
    return "loaded", ""


def limit_memory() -> None:
    """Let this process take 2 GiB beyond what it has: an allocation above that fails."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def peak_bytes() -> int:
    """The most memory that this process had; `ru_maxrss` would count what its parent had before it began."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def main(target: str, seed: int, first: int, count: int, fixtures: Path) -> int:
    """Run mutations first ... first + count - 1."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("it took too long")))
    load, originals = TARGETS[target], bases(target, fixtures)
    outcomes: Counter[str] = Counter()
    begin = time.monotonic()
    room = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        for i, files in enumerate(originals):
            write(room / str(i), {}, files)
            # The first one compiles.
            ended, told = attempt(load, room / str(i), 20 * PATIENCE_SECONDS)
            assert ended == "loaded", told
        limit_memory()
        threads = len(os.listdir("/proc/self/task"))
        for number in range(first, first + count):
            rng = np.random.default_rng([seed, number])
            i = int(rng.integers(len(originals)))
            files, names = mutated(rng, originals[i])
            # Should it crash, this is what at.
            print(f"at {number}: {names}", file=sys.stderr, flush=True)
            write(room / str(i), originals[i], files)
            ended, told = attempt(load, room / str(i))
            write(room / str(i), files, originals[i])
            outcomes[ended] += 1
            if told:
                print(f"mutation {number} of {names}: {ended}\n{told}", flush=True)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    told = {"target": target, "outcomes": outcomes, "peak_bytes": peak_bytes()}
    told["threads"] = len(os.listdir("/proc/self/task")) - threads
    told["seconds"] = round(time.monotonic() - begin, 1)
    print(json.dumps(told))
    return int(any(outcomes[wrong] for wrong in ("memory", "nameless", "wrong error")))


if __name__ == "__main__":
    kind, *numbers, where = sys.argv[1:]
    sys.exit(main(kind, *map(int, numbers), Path(where)))
