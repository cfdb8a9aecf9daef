"""A run from a stranger is data: whatever its files hold, it is loaded, or refused in words."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from support.mutations import closed, opened, read_files, sealed
from support.run_cases import manifest_of

import raytpnn
from raytpnn.chains.run.repair import repair
from raytpnn.chains.run.run import Run
from raytpnn.chains.work.choose_worker import chain_worker
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.engine.ladder_records import LADDER
from raytpnn.engine.records import STATE
from raytpnn.storage.checks import named
from raytpnn.storage.errors import RunError
from raytpnn.storage.formats.chain_format import CHAIN_FORMAT
from raytpnn.storage.formats.parquet_files import read_columns
from raytpnn.storage.lease import Record
from raytpnn.storage.places import cache
from raytpnn.storage.places.place import Place
from raytpnn.storage.places.retry import given_up

HERE = Path(__file__).parents[1]
FIXTURES = HERE / "fixtures"
FINISHED = FIXTURES / "run-0.1"
UNFINISHED = FIXTURES / f"unfinished-{CHAIN_FORMAT}-gaussian"
TEMPERED = FIXTURES / f"unfinished-{CHAIN_FORMAT}-tempered"


def fuzz(target: str, seed: int, first: int, count: int) -> dict:
    """Have a process load mutations; it must live, and find nothing wrong."""
    command = [
        sys.executable,
        str(HERE / "support" / "fuzz.py"),
        target,
        str(seed),
        str(first),
        str(count),
        str(FIXTURES),
    ]
    environment = os.environ | {
        "MALLOC_ARENA_MAX": "2",
        "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    last = done.stderr.strip().splitlines()[-1:]
    assert done.returncode == 0, (
        f"{target}, seed {seed}: exit {done.returncode} {last}\n{done.stdout[-4000:]}"
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("target", "count"), [("encoder", 400), ("run", 250), ("checkpoint", 150), ("repair", 100)]
)
def test_mutated_files_are_loaded_or_refused_by_name(target, count):
    told = fuzz(target, 17, 0, count)
    assert sum(told["outcomes"].values()) == count
    # What lies twice beside a lost manifest must be wrong twice before it is refused.
    least = count // 20 if target == "repair" else count // 4
    assert told["outcomes"]["RunError"] > least, "mutations are read, and refused"
    assert told["peak_bytes"] < 2 * 1024**3
    if target == "encoder":
        assert told["threads"] == 0, "a thread of Arrow's may abort a process that ends"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "count"), [("encoder", 65_000), ("run", 20_000), ("checkpoint", 10_000), ("repair", 5_000)]
)
def test_a_hundred_thousand_mutations(target, count):
    """A hundred thousand in all, five thousand in a process."""
    step = 5_000
    for first in range(0, count, step):
        told = fuzz(target, 2026, first, step)
        print(told)
        assert sum(told["outcomes"].values()) == step
        assert told["peak_bytes"] < 2 * 1024**3


def changed(base: Path, target: Path, **files) -> Path:
    """Copy of a run with other files, their checksums made right."""
    before = read_files(base)
    for name, data in sealed(before, before | files).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
    return target


def with_manifest(base: Path, target: Path, change) -> Path:
    """Copy of a run whose manifest was changed."""
    shutil.copytree(base, target)
    manifest = manifest_of(target)
    change(manifest)
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("K", 1025, r"a state has 1025 terms"),
        ("K", -1, r"a state has -1 terms"),
        ("order", 17, r"an order that is not from 1"),
        ("order", 0, r"an order that is not from 1"),
        ("features", 10**6, r"a feature that is not from 0 to"),
        ("features", -1, r"a feature that is not from 0 to"),
        ("gamma", 0.0, r"a scale of 0 or less"),
        ("b", np.nan, r"a location or a scale that is not finite"),
        ("beta", np.inf, r"a coefficient is not finite"),
        ("log_step", np.nan, r"log_step of a state is not finite"),
    ],
)
def test_a_state_that_compiled_code_has_no_room_for_is_refused(tmp_path, field, value, words):
    name = "checkpoint/chain=1/block=2"
    header, content = opened(read_files(UNFINISHED)[name])
    state = np.array(np.frombuffer(content[: header["state"]], STATE))
    assert state["K"][0] > 0
    if field == "K":
        state[field] = value
    else:
        state[field].reshape(-1)[0] = value
    data = closed(header, state.tobytes() + content[header["state"] :])
    run = Run.open(Place(changed(UNFINISHED, tmp_path / "run", **{name: data})))
    worker = chain_worker(run.plan(run.rows()), run.store)
    with pytest.raises(RunError, match=rf"{name} is damaged: .*{words}"):
        worker.state_before(1, 3)
    with pytest.raises(RunError, match=words):
        raytpnn.resume(run.place.uri, executor="threads")


def test_a_ladder_that_is_none_is_refused(tmp_path):
    name = "checkpoint/chain=1/block=2"
    header, content = opened(read_files(TEMPERED)[name])
    for field, value in (("levels", 200), ("replica_at", 7), ("temperature", 2.0), ("swap_every", 0)):
        ladder = np.array(np.frombuffer(content, LADDER, 1))
        ladder[field].reshape(-1)[0] = value
        data = closed(header, ladder.tobytes() + content[LADDER.itemsize :])
        run = Run.open(Place(changed(TEMPERED, tmp_path / field, **{name: data})))
        worker = chain_worker(run.plan(run.rows()), run.store)
        with pytest.raises(RunError, match=rf"{name} is damaged: the ladder"):
            worker.state_before(1, 3)


def test_settings_and_weights_are_checked(tmp_path):
    settings = np.load(UNFINISHED / "data/settings.npy")
    for field, value in (
        ("K_max", 5000),
        ("max_order", 40),
        ("family", 9),
        ("a_gamma", -1.0),
        ("batch", 10**9),
    ):
        other = settings.copy()
        other[field] = value
        np.save(tmp_path / "x.npy", other)
        data = (tmp_path / "x.npy").read_bytes()
        run = Run.open(Place(changed(UNFINISHED, tmp_path / field, **{"data/settings.npy": data})))
        with pytest.raises(RunError, match=rf"settings\.npy is damaged: {field} is"):
            run.plan(run.rows())
    adaptive = FIXTURES / f"unfinished-{CHAIN_FORMAT}-bernoulli"
    weights = sorted((adaptive / "checkpoint").glob("weights=*"))[0]
    body = weights.read_bytes()[32:-8]
    data = hashlib.sha256(body).digest() + body
    place = Place(changed(adaptive, tmp_path / "short", **{f"checkpoint/{weights.name}": data}))
    run = Run.open(place)
    worker = chain_worker(run.plan(run.rows()), run.store)
    with pytest.raises(RunError, match=r"weights=\d+ is damaged: there are \d+ weights of \d+ features"):
        worker.weights(int(weights.name.partition("=")[2]))


def test_a_checkpoint_that_would_fill_the_memory_is_not_unpacked(tmp_path):
    name = "checkpoint/chain=1/block=2"
    header, content = opened(read_files(UNFINISHED)[name])
    large = closed(header | {"state": 2**40}, content)
    moved = closed(header | {"chain": 0}, content)
    for i, data in enumerate((large, moved)):
        run = Run.open(Place(changed(UNFINISHED, tmp_path / str(i), **{name: data})))
        good, problems = run.good_blocks()
        assert (1, 2) not in good
        assert [name in problem for problem in problems] == [True]


def test_codes_beyond_the_bins_and_other_arrays_are_refused(tmp_path):
    codes = np.load(FINISHED / "data/codes.npy")
    beyond = codes.copy()
    beyond[2, 5] = 254
    wrong = {
        "beyond": (beyond, "but the feature has"),
        "narrow": (codes[:, :-1], "not codes of 90 rows"),
        "real": (codes.astype(float), "not codes of 90 rows"),
        "flat": (codes.reshape(-1), "not codes of 90 rows"),
        "fewer": (codes[:-1], "it has 12 rows, more than 11"),
    }
    for name, (array, words) in wrong.items():
        np.save(tmp_path / "x.npy", np.ascontiguousarray(array))
        data = (tmp_path / "x.npy").read_bytes()
        run = changed(FINISHED, tmp_path / name, **{"data/codes.npy": data})
        with pytest.raises(
            RunError, match=rf"(codes\.npy|features\.parquet|marginals\.parquet) is damaged: .*{words}"
        ):
            raytpnn.load(run)


def test_draws_of_features_that_there_are_not_are_refused(tmp_path):
    name = "draws/chain=0/block=0.parquet"
    table = pq.ParquetFile(FINISHED / name).read()
    terms = table["features"].to_pylist()
    place = next(i for i, draw in enumerate(terms) if draw)
    for i, feature in enumerate((-1, 10**6)):
        terms[place][0] = [feature]
        other = [draw if j != place else draw[:1] for j, draw in enumerate(terms)]
        kept = {
            column: [row if j != place else row[:1] for j, row in enumerate(table[column].to_pylist())]
            for column in ("beta", "b", "gamma")
        }
        kept["b"][place], kept["gamma"][place] = [[0.5]], [[0.1]]
        changed_table = table
        for column, cells in (kept | {"features": other}).items():
            at = table.schema.get_field_index(column)
            changed_table = changed_table.set_column(at, column, pa.array(cells, table.schema.field(at).type))
        pq.write_table(changed_table, tmp_path / "x.parquet")
        run = changed(FINISHED, tmp_path / str(i), **{name: (tmp_path / "x.parquet").read_bytes()})
        with pytest.raises(RunError, match=rf"{name} is damaged: a term has feature .*{feature}"):
            raytpnn.load(run)


def test_small_files_that_would_fill_the_memory_are_refused(tmp_path):
    """Two hundred million equal rows, or lists with as many values, are next to nothing in Parquet."""
    schema = pa.schema([("y", pa.float64()), ("sample_weight", pa.float64()), ("offset", pa.float64())])
    rows = pa.table({name: np.zeros(2**20) for name in schema.names})
    with pq.ParquetWriter(tmp_path / "rows.parquet", schema, compression="zstd") as writer:
        for _ in range(200):
            writer.write_table(rows)
    data = (tmp_path / "rows.parquet").read_bytes()
    assert len(data) < 2**22
    run = changed(FINISHED, tmp_path / "rows", **{"data/rows.parquet": data})
    with pytest.raises(RunError, match=r"rows\.parquet is damaged: it has 209,715,200 rows, more than 90"):
        raytpnn.load(run)
    name = "data/marginals.parquet"
    marginals = pa.table({"value": [np.zeros(2**22)], "weight": [np.zeros(2**22)]})
    with pq.ParquetWriter(tmp_path / "lists.parquet", marginals.schema, compression="zstd") as writer:
        for _ in range(12):
            writer.write_table(pa.concat_tables([marginals] * 6))
    data = (tmp_path / "lists.parquet").read_bytes()
    assert len(data) < 2**22
    run = changed(FINISHED, tmp_path / "lists", **{name: data})
    with pytest.raises(RunError, match=rf"{name} is damaged: (it has 72 rows|it would take more than)"):
        raytpnn.load(run)
    with pytest.raises(RunError, match="x is damaged: it would take more than"):
        read_columns(data, "x", {"value": "list number", "weight": "list number"}, {}, 100)


def test_names_of_files_do_not_lead_out_of_the_run(tmp_path):
    outside = tmp_path / "outside.parquet"
    shutil.copy(FINISHED / "draws/chain=0/block=0.parquet", outside)
    checksum = hashlib.sha256(outside.read_bytes()).hexdigest()

    def add(manifest):
        manifest["files"]["draws/chain=9/../../../outside.parquet"] = checksum

    run = with_manifest(FINISHED, tmp_path / "run", add)
    with pytest.raises(RunError, match=r"manifest\.json is damaged: files has .* no name of a run's file"):
        raytpnn.load(run)


def test_links_and_pipes_in_a_run_are_not_followed(tmp_path):
    run = Path(shutil.copytree(FINISHED, tmp_path / "run"))
    shutil.move(run / "draws", tmp_path / "elsewhere")
    (run / "draws").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match=r"draws/chain=0/block=0\.parquet leads out of the folder"):
        raytpnn.load(run)
    with pytest.raises(RunError, match="leads out of the folder"):
        Place(run).write("draws/chain=0/block=1.parquet", b"")
    assert not (tmp_path / "elsewhere/chain=0/block=1.parquet").exists()
    (run / "manifest.json").unlink()
    os.mkfifo(run / "manifest.json")
    with pytest.raises(RunError, match=r"manifest\.json is not a file"):
        raytpnn.load(run)
    # A run may itself be reached by a link, and hold links to its own files.
    own = Path(shutil.copytree(FINISHED, tmp_path / "own"))
    (own / "draws/chain=0").rename(own / "real")
    (own / "draws/chain=0").symlink_to(own / "real")
    (tmp_path / "link").symlink_to(own)
    assert raytpnn.load(tmp_path / "link").draws.n_draws


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("plan", "chains"), 10**9),
        (("plan", "draws"), 10**30),
        (("plan", "block_sweeps"), 0),
        (("plan", "scale"), 0.0),
        (("plan", "seed"), -1),
        (("plan", "shards"), 3),
        (("plan", "tempering"), {"replicas": 10**9}),
        (("config", "prior"), {"K_max": 10**9, "no such": 1}),
        (("n_rows",), 10**30),
        (("classes",), [1, 2, 3]),
        (("family",), "cauchy"),
        (("files",), {}),
    ],
)
def test_a_manifest_is_checked(tmp_path, where, value):
    def change(manifest):
        *path, last = where
        for name in path:
            manifest = manifest[name]
        manifest[last] = value

    run = with_manifest(UNFINISHED, tmp_path / "run", change)
    with pytest.raises(RunError, match=r"manifest\.json is damaged: "):
        raytpnn.resume(run, executor="threads")


def test_encoders_are_checked(tmp_path):
    folder = FINISHED / "encoder"
    told = json.loads((folder / "encoder.json").read_text())
    for name, value in (("max_bins", 10**9), ("levels", {"nobody": []}), ("input_names", 5)):
        place = Path(shutil.copytree(folder, tmp_path / name))
        (place / "encoder.json").write_text(json.dumps(told | {name: value}))
        with pytest.raises(RunError, match=r"encoder\.json' is damaged"):
            Encoder.load(place)
    place = Path(shutil.copytree(folder, tmp_path / "points"))
    table = pq.read_table(place / "encoder.parquet")
    at = table.schema.get_field_index("points64")
    points = [cells or [3.0, 1.0, 2.0] for cells in table["points64"].to_pylist()]
    kind = table.schema.field(at).type
    pq.write_table(table.set_column(at, "points64", pa.array(points, kind)), place / "encoder.parquet")
    with pytest.raises(RunError, match=r"encoder\.parquet' is damaged"):
        Encoder.load(place)


def test_a_lease_of_a_stranger_is_that_of_somebody(tmp_path):
    run = Path(shutil.copytree(UNFINISHED, tmp_path / "run"))
    (run / "lease").mkdir()
    file = run / "lease/000003.json"
    owner = {"user": "a\x1b[2Jb", "host": "c", "machine": "", "pid": 5, "started": 6}
    good = {"token": "t", "owner": owner, "count": 0, "time": 0.0, "renew": 1.0, "expire": 2.0}
    good["released"] = False
    file.write_text(json.dumps(good))
    assert str(Record.read(Place(run), 3).owner) == "a[2Jb, process 5 on c"
    for name, wrong in (("count", 1e999), ("owner", []), ("owner", owner | {"pid": -1}), ("time", 10**400)):
        file.write_text(json.dumps(good | {name: wrong}))
        assert Record.read(Place(run), 3).owner.user == "somebody"
    file.write_text("[" * 100_000)
    assert Record.read(Place(run), 3).owner.user == "somebody"


def test_a_folder_of_leases_that_leads_out_is_not_used(tmp_path):
    run = Path(shutil.copytree(UNFINISHED, tmp_path / "run"))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "000001.json").write_text("{}")
    (run / "lease").symlink_to(outside)
    with pytest.raises(RunError, match="leads out of the folder"):
        raytpnn.resume(run, executor="threads")
    with pytest.raises(RunError, match="leads out of the folder"):
        Place(run).remove("lease/000001.json")
    with pytest.raises(RunError, match="leads out of the folder"):
        Place(run).create("lease/000002.json", b"")
    assert [path.name for path in outside.iterdir()] == ["000001.json"]


def test_a_run_is_not_rebuilt_from_what_is_no_manifest(tmp_path):
    run = Path(shutil.copytree(UNFINISHED, tmp_path / "run"))
    manifest = manifest_of(run)
    (run / "manifest.json").unlink()
    for name, wrong, words in (
        ("plan", manifest["plan"] | {"chains": 10**9}, "plan.chains is 1000000000"),
        ("plan", manifest["plan"] | {"adaptive": 1}, "plan.adaptive is 1"),
        ("files", manifest["files"] | {"../outside": "0" * 64}, "no name of a run's file"),
    ):
        (run / "begun.json").write_text(json.dumps(manifest | {name: wrong}))
        with pytest.raises(RunError, match=rf"cannot be rebuilt: .*begun\.json is damaged: .*{words}"):
            repair(Place(run))
    assert not (run / "lease").exists()
    # A checkpoint that says that there are very many chains, or sweeps, is not one of the run.
    (run / "begun.json").write_text(json.dumps(manifest))
    name = "checkpoint/chain=1/block=2"
    header, content = opened((run / name).read_bytes())
    (run / name).write_bytes(closed(header | {"sweeps": 2**50}, content))
    assert "3 of 10 blocks are there and whole" in repair(Place(run))


def test_errors_of_a_store_are_not_taken_for_damage():
    with pytest.raises(RunError, match="x is damaged: Couldn't deserialize"), named("x"):
        raise OSError("Couldn't deserialize thrift: TProtocolException")
    for words in ("When reading information for key 'a': AWS Error NETWORK_CONNECTION", "HTTP status 503"):
        with pytest.raises(OSError, match=words), named("x"):
            raise OSError(words)
    with pytest.raises(OSError, match="tried again"), named("x"):
        raise given_up(OSError("no words that are known"), 1.0)


# The cache of remote files.


class Far(Place):
    """A folder of this machine that is treated as an object store."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.uri, self.path = f"far://{folder}", None
        self.remote, self.base = fs.LocalFileSystem(), str(folder)


@pytest.fixture
def far(tmp_path, monkeypatch):
    monkeypatch.setenv("RAYTPNN_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "x").write_bytes(b"content")
    return Far(tmp_path / "store")


SUM = hashlib.sha256(b"content").hexdigest()


def test_the_cache_is_private(far, tmp_path, monkeypatch):
    copy = far.local_file("x", SUM)
    assert copy.read_bytes() == b"content"
    folder = copy.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    far.local_file("x", SUM)
    assert folder.stat().st_mode & 0o777 == 0o700
    # One that somebody else put there, or a link, is not used.
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(RunError, match=r"is not a folder of yours.*RAYTPNN_CACHE_DIR"):
        far.local_file("x", SUM)
    folder.unlink()
    folder.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    (tmp_path / "cache" / "raytpnn-12345").mkdir()
    with pytest.raises(RunError, match=r"is not a folder of yours"):
        cache.node_cache()


def test_a_copy_is_verified_whenever_it_is_used(far):
    copy = far.local_file("x", SUM)
    copy.write_bytes(b"changed")
    assert far.local_file("x", SUM).read_bytes() == b"content"
    copy.unlink()
    copy.symlink_to("/etc/hostname")
    assert far.local_file("x", SUM).read_bytes() == b"content"
    assert not copy.is_symlink()
    far.remote.open_output_stream(f"{far.base}/x").close()
    copy.write_bytes(b"changed")
    with pytest.raises(RunError, match=r"store/x .*SHA-256 is not"):
        far.local_file("x", SUM)
    assert not [path for path in copy.parent.iterdir() if path.name.endswith(".part")]


def test_names_in_the_cache_are_ours(far, tmp_path):
    with pytest.raises(RunError):
        far.local_file("x", "../../escaped")
    with pytest.raises(RunError):
        far.local_file("x", str(tmp_path / "escaped"))
    assert not list(tmp_path.rglob("escaped*"))
    folder = far.local_file("x", SUM).parent
    (tmp_path / "store" / "deep").mkdir()
    (tmp_path / "store" / "deep" / "y").write_bytes(b"content")
    copies = {far.local_file(name, SUM) for name in ("x", "deep/y", "deep/../x")}
    assert {copy.parent for copy in copies} == {folder}
    assert all(re.fullmatch("[0-9a-f]{40}", copy.name) for copy in copies)


def test_the_cache_is_evicted(far, monkeypatch):
    monkeypatch.setenv("RAYTPNN_CACHE_GIB", str(2500 / 1024**3))
    copies = []
    for i in range(4):
        content = bytes([i]) * 1000
        Path(far.base, f"f{i}").write_bytes(content)
        copies.append(far.local_file(f"f{i}", hashlib.sha256(content).hexdigest()))
        # Used some hours ago, the first one last.
        os.utime(copies[i], (1000.0 + i if i else 5000.0,) * 2)
    assert [copy.exists() for copy in copies] == [True, False, False, True]
    assert len(list(copies[0].parent.iterdir())) == 4, "notes of evicted copies go too"


def test_a_note_of_the_command_line_is_checked(tmp_path):
    from raytpnn.cli.note import noted_targets

    run = Path(shutil.copytree(UNFINISHED, tmp_path / "run"))
    for wrong in ("x", 0.5, [], float("nan")):
        (run / "command.json").write_text(json.dumps({"target_rhat": wrong, "target_ess": None}))
        with pytest.raises(RunError, match=r"command\.json is damaged: target_rhat is"):
            noted_targets(Place(run))
    (run / "command.json").write_text(json.dumps({"target_rhat": 1.05, "target_ess": 100}))
    assert noted_targets(Place(run)) == (1.05, 100.0)
