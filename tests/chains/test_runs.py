"""A run on disk: stopped, killed, damaged or made longer, it ends with the draws of an undisturbed one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support.run_cases import SIZE, assert_same_draws, files_of, fit, manifest_of

import raytpnn
from raytpnn import RunError
from raytpnn.storage.formats.checkpoint import Checkpoint


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing happened to."""
    run = tmp_path_factory.mktemp("whole") / "run"
    fit(run)
    return run


def copy_of(run, target):
    for name, content in files_of(run, "").items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content)
    return target


def test_a_run_on_disk_has_the_draws_of_one_in_memory(whole):
    memory = fit(None).draws
    disk = raytpnn.load(whole).draws
    for name in ("chain", "draw", "loglik", "beta", "feature", "b", "gamma", "nuisance", "term_start"):
        assert np.array_equal(getattr(memory, name), getattr(disk, name)), name
    assert memory.n_draws == SIZE["chains"] * SIZE["draws"]


def test_blocks_do_not_depend_on_who_ran_the_one_before(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("RAYTPNN_THREADS", "1")
    fit(tmp_path / "one")
    monkeypatch.setenv("RAYTPNN_THREADS", "3")
    fit(tmp_path / "three")
    assert_same_draws(whole, tmp_path / "one")
    assert_same_draws(whole, tmp_path / "three")


def test_time_limit_then_resume(whole, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(ValueError, match="time limit ended the run before its first draw"):
        fit(run, time_limit=1e-6)
    assert json.loads((run / "manifest.json").read_text())["state"] == "stopped"
    assert json.loads((run / "manifest.json").read_text())["config"]["stopped"] == "time limit"
    post = raytpnn.resume(run)
    assert_same_draws(whole, run)
    assert post.config["stopped"] is None
    assert post.draws.n_draws == 4 * 470


def test_more_draws_and_chains_are_those_of_a_longer_run(whole, tmp_path):
    fit(tmp_path / "long", draws=620, chains=5)
    run = copy_of(whole, tmp_path / "run")
    post = raytpnn.resume(run, draws=620, chains=5)
    assert_same_draws(tmp_path / "long", run)
    assert post.config["draws"] == 620
    with pytest.raises(ValueError, match=r"draws=620.*more, not fewer, got 100"):
        raytpnn.resume(run, draws=100)


DRIVER = """
import sys
from support.run_cases import fit
fit(sys.argv[1])
"""


def start_driver(run):
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(run)],
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,
    )


def wait_for_files(run, count, process):
    """Wait until a run has so many checkpoints or its process has ended."""
    while process.poll() is None and len(list(run.glob("checkpoint/*/block=*"))) < count:
        time.sleep(0.001)


def test_killed_at_ten_moments_and_resumed(whole, tmp_path):
    """Chains are so fast that the moments are best told in finished blocks, with a random delay on top."""
    rng = np.random.default_rng(11)
    ended_early = 0
    for moment, blocks in enumerate(sorted(rng.integers(0, 38, 10))):
        run = tmp_path / f"run{moment}"
        process = start_driver(run)
        wait_for_files(run, int(blocks), process)
        time.sleep(float(rng.random()) * 0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not (run / "manifest.json").exists():
            # Killed before the run was there: nothing that looks like one may be left.
            assert not run.exists()
            continue
        manifest = manifest_of(run)
        if manifest["state"] == "running":
            ended_early += 1
            with pytest.raises(RunError, match=r"has not ended: \d+ of 40 blocks"):
                raytpnn.load(run)
        raytpnn.resume(run)
        assert_same_draws(whole, run)
        assert not list(run.rglob("*.part")), "what the killed process left behind is swept up"
    assert ended_early >= 5, "the test should have caught runs half-way"


def spoil(path, how):
    content = path.read_bytes()
    if how == "flip":
        place = len(content) // 2
        content = content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :]
    path.write_bytes(content[: len(content) // 2] if how == "truncate" else content)


@pytest.mark.parametrize("how", ["flip", "truncate", "remove"])
@pytest.mark.parametrize(
    "name",
    [
        "draws/chain=1/block=7.parquet",
        "checkpoint/chain=2/block=3",
        "checkpoint/chain=0/block=0",
        "checkpoint/chain=3/block=9",
    ],
)
def test_a_damaged_block_is_named_and_only_it_is_run_again(whole, tmp_path, name, how):
    run = copy_of(whole, tmp_path / "run")
    before = {path: path.stat().st_ino for path in run.rglob("block=*")}
    if how == "remove":
        (run / name).unlink()
    else:
        spoil(run / name, how)
    if name.startswith("draws"):
        with pytest.raises(RunError, match=f"{name} is (damaged|missing).*raytpnn resume"):
            raytpnn.load(run)
    if how == "remove" and name.startswith("checkpoint"):
        raytpnn.resume(run)
    else:
        with pytest.warns(UserWarning, match=f"{name} is (damaged|missing).*run again"):
            raytpnn.resume(run)
    assert_same_draws(whole, run)
    assert files_of(whole, "checkpoint") == files_of(run, "checkpoint")
    written = {
        path.relative_to(run).as_posix() for path, inode in before.items() if inode != path.stat().st_ino
    }
    place = name.removesuffix(".parquet").split("/", 1)[1]
    assert {part.removesuffix(".parquet").split("/", 1)[1] for part in written} <= {place}


@pytest.mark.parametrize("how", ["flip", "truncate", "remove"])
def test_damage_to_any_other_file_is_named(whole, tmp_path, how):
    names = [name for name in files_of(whole, "") if name.split("/")[0] in ("data", "encoder")]
    assert len(names) == 7
    for name in names:
        run = copy_of(whole, tmp_path / f"{how}-{name.replace('/', '-')}")
        if how == "remove":
            (run / name).unlink()
        else:
            spoil(run / name, how)
        if name != "data/settings.npy":  # which only chains need
            with pytest.raises(RunError, match=f"{name} is (damaged|missing)"):
                raytpnn.load(run)
        if name.startswith("data"):
            with pytest.raises(RunError, match=f"{name} is (damaged|missing)"):
                raytpnn.resume(run, draws=600)


def test_a_damaged_manifest_is_named(whole, tmp_path):
    run = copy_of(whole, tmp_path / "run")
    spoil(run / "manifest.json", "truncate")
    for read in (raytpnn.load, raytpnn.resume):
        with pytest.raises(RunError, match=r"manifest.json is damaged"):
            read(run)


def test_a_checkpoint_of_another_run_does_not_count(whole, tmp_path):
    run = copy_of(whole, tmp_path / "run")
    fit(tmp_path / "other", seed=6)
    name = "checkpoint/chain=0/block=2"
    (run / name).write_bytes((tmp_path / "other" / name).read_bytes())
    with pytest.warns(UserWarning, match=f"{name} belongs to another run"):
        raytpnn.resume(run)
    assert files_of(whole, "checkpoint") == files_of(run, "checkpoint")


def test_unfinished_runs_can_be_looked_at(whole, tmp_path):
    run = copy_of(whole, tmp_path / "run")
    manifest = manifest_of(run)
    manifest["state"] = "running"
    manifest["files"] = {k: v for k, v in manifest["files"].items() if not k.startswith("draws")}
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / "checkpoint/chain=1/block=9").unlink()
    with pytest.raises(RunError, match=r"39 of 40 blocks are there.*resume.*unfinished=True"):
        raytpnn.load(run)
    part = raytpnn.load(run, unfinished=True)
    assert np.bincount(part.draws.chain).tolist() == [470, 400, 470, 470]


def test_a_saved_posterior_is_no_run(whole, tmp_path):
    raytpnn.load(whole).save(tmp_path / "saved")
    with pytest.raises(RunError, match="saved posterior, not a run"):
        raytpnn.resume(tmp_path / "saved")


def test_a_place_that_cannot_be_written_is_an_error_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        fit(tmp_path / "file" / "run")
    with pytest.raises(FileExistsError, match=r"holds a run already|not a saved run"):
        fit(tmp_path)


FULL_DISK = """
import sys
from support.run_cases import fit
fit(sys.argv[1], draws=100_000, warmup=0)
"""


def test_a_full_disk_ends_the_run_and_leaves_nothing_that_looks_whole(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here: mount needs the right to")
    try:
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        ended = subprocess.run(
            [sys.executable, "-c", FULL_DISK, str(disk / "run")],
            env=os.environ | {"PYTHONPATH": path, "RAYTPNN_STORAGE_PATIENCE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ended.returncode == 1
        assert "No space left on device" in ended.stderr.splitlines()[-1]
        with pytest.raises(RunError, match="has not ended"):
            raytpnn.load(disk / "run")
        part = raytpnn.load(disk / "run", unfinished=True)
        assert part.draws.n_draws > 0
        assert not list(disk.rglob("*.part"))
    finally:
        # Lazily: the posterior that was loaded has its bins mapped.
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fit_noise(out, **options):
    """Chains that agree soon: there is little to find."""
    rng = np.random.default_rng(0)
    size = {"chains": 4, "warmup": 200, "draws": 6000, "prior": raytpnn.Prior(K_max=3)}
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    return raytpnn.sample(X, y, out=out, executor="threads", **size, **options)


def test_target_stops_at_a_round_whatever_the_number_of_workers(tmp_path, monkeypatch):
    fits = {}
    for workers in ("1", "3"):
        monkeypatch.setenv("RAYTPNN_THREADS", workers)
        fits[workers] = fit_noise(tmp_path / workers, target_rhat=1.1)
    one, three = fits["1"], fits["3"]
    assert one.config["stopped"] == "target"
    assert one.config["converged"]
    assert one.draws.n_draws == three.draws.n_draws < 4 * 6000
    assert np.array_equal(one.draws.loglik, three.draws.loglik)
    assert one.diagnostics()["rhat"].max() < 1.1
    again = raytpnn.load(tmp_path / "1")
    assert np.array_equal(again.draws.loglik, one.draws.loglik)


def test_target_not_reached_is_said():
    post = fit(None, target_rhat=1.0001)
    assert post.config["converged"] is False
    assert post.config["stopped"] is None


def test_effective_draws_as_target():
    few, many = (fit_noise(None, target_ess=ess) for ess in (100, 800))
    assert few.config["stopped"] == many.config["stopped"] == "target"
    assert few.draws.n_draws < many.draws.n_draws
    assert many.diagnostics()[["ess_bulk", "ess_tail"]].min().min() > 700


def test_watched_quantities_agree_with_the_posterior(whole):
    """What the scheduler sees while sampling is what the posterior says afterwards."""
    from raytpnn.chains.monitoring.monitor import Monitor
    from raytpnn.chains.run.ledger import read_ledger
    from raytpnn.chains.run.run import Run
    from raytpnn.convergence.diagnostics import convergence_table
    from raytpnn.posterior.compared import compared_quantities
    from raytpnn.storage.places.place import Place

    run = Run.open(Place(whole))
    rows = run.rows()
    plan = run.plan(rows)
    ledger, problems = read_ledger(run)
    assert problems == []
    monitor = Monitor(4, rows.bins.names, plan.watched)
    for chain, reports in enumerate(ledger.reports):
        for block, report in reports.items():
            monitor.add(chain, block, report.watched)
    seen = monitor.assess(9)
    post = raytpnn.load(whole)
    table = convergence_table(post.draws, compared_quantities(post)).set_index("quantity")
    assert set(seen.rhat) | set(seen.notes) == set(table.index)
    effects = [name for name in seen.rhat if name.startswith(("importance[", "component["))]
    assert len(effects) > 2
    for name in ("loglik", "K", "nuisance", "mean order", "f[0]", "f[79]", *effects):
        assert seen.rhat[name] == pytest.approx(table.loc[name, "rhat"], rel=1e-4), name
        assert seen.ess_bulk[name] == pytest.approx(table.loc[name, "ess_bulk"], rel=1e-3), name
    kept = post.diagnostics().set_index("quantity")
    assert {name: kept.loc[name, "rhat"] for name in seen.rhat} == seen.rhat, "what is kept is the monitor's"


def test_checkpoints_notice_every_flipped_byte():
    whole = Checkpoint("plan", 0, 1, 100, 100, 0, None, {"terms": 3}, b"state" * 50, b"")
    packed = whole.pack()
    assert Checkpoint.unpack(packed, "x") == whole
    for place in range(len(packed)):
        spoiled = packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]
        with pytest.raises(RunError, match="x is damaged"):
            Checkpoint.unpack(spoiled, "x")
