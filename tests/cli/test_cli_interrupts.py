"""Ctrl-C, SIGTERM and SIGKILL of the command line: nothing is lost, and the message says how to go on."""

from __future__ import annotations

import json
import os
import pty
import re
import signal

import pytest
from support.cli_cases import PATIENCE_SECONDS, call, draws_of, frame, run, start, wait_for, wait_until, write

CHAINS, WARMUP, DRAWS = 2, 100, 600
# So many that a signal sent when the first draws are there comes long before the end.
END = 30_000


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    table = frame(200)[["size", "kind", "age", "price"]]
    return write(table, tmp_path_factory.mktemp("data") / "homes.csv")


def arguments(data, out, draws=DRAWS):
    return (
        *("fit", data, "--target", "price", "--out", out, "--executor", "threads"),
        *("--chains", CHAINS, "--warmup", WARMUP, "--draws", draws),
    )


def interrupted(data, out, number):
    """Send a signal to a fit when its first draws are written; its exit code, and what it said."""
    process = start(*arguments(data, out, END))
    heard = wait_for(process, "sampling:")
    wait_until(lambda: any((out / "draws").rglob("block=2.parquet")), "the third block")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, stdout, heard + stderr


def state_of(run_folder):
    return json.loads((run_folder / "manifest.json").read_text())["state"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_runs_are_saved_and_say_how_to_go_on(data, tmp_path, number):
    out = tmp_path / "run"
    code, stdout, heard = interrupted(data, out, number)
    assert code == 130, heard
    assert "interrupt: finishing the blocks at hand" in heard
    assert any(line.startswith("warning: stopped by interrupt") for line in heard.splitlines())
    assert "Traceback" not in heard
    assert f"raytpnn resume {out}" in stdout
    assert state_of(out) == "stopped"
    told = json.loads(call("diagnose", out, "--json").stdout)
    assert told["blocks"] < told["blocks_planned"]
    assert any(f"raytpnn resume {out}" in advice for advice in told["advice"])


def test_a_second_interrupt_loses_the_blocks_at_hand(tmp_path):
    """Of so many rows that a block takes seconds; the interrupts are far less apart."""
    data = write(frame(400_000)[["size", "kind", "age", "price"]], tmp_path / "many.parquet")
    out = tmp_path / "run"
    process = start(*arguments(data, out))
    wait_for(process, "sampling:")
    process.send_signal(signal.SIGINT)
    wait_for(process, "once more to stop at once")
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, rest
    assert not any((out / "checkpoint").rglob("block=*")), "not even the first block was finished"
    assert f"there is no draw yet; `raytpnn resume {out}` goes on" in rest


def test_a_resumed_run_has_the_draws_of_an_undisturbed_one(data, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert call(*arguments(data, whole)).returncode == 0
    process = start(*arguments(data, cut))
    wait_for(process, "sampling:")
    wait_until(lambda: any((cut / "checkpoint").rglob("block=1")), "the second block")
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_SECONDS) in (130, 0)
    process.communicate()
    again = call("resume", cut)
    assert again.returncode == 0, again.stderr
    assert draws_of(cut) == draws_of(whole)


def test_a_killed_run_can_be_looked_at_and_resumed(data, tmp_path):
    out = tmp_path / "run"
    process = start(*arguments(data, out, 500), "--target-rhat", "1.0001")
    wait_for(process, "sampling:")
    wait_until(lambda: any((out / "draws").rglob("block=1.parquet")), "a block of draws")
    process.kill()
    process.communicate()
    assert state_of(out) == "running"
    looked = call("diagnose", out)
    assert looked.returncode == 3
    assert "was killed, or ended by an error" in looked.stdout
    assert f"raytpnn resume {out}" in looked.stdout
    again = run("resume", out)
    assert "target: R-hat 1.0001 as before" in again.stderr
    assert again.returncode == 3, "the target is that of the fit, though it was killed"
    assert state_of(out) == "finished"


def test_interrupted_before_there_is_anything_to_save(data, tmp_path):
    process = start(*arguments(data, tmp_path / "run"))
    wait_for(process, "reading")
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, rest
    assert rest.splitlines()[-1] == "interrupted: nothing was saved"
    assert not (tmp_path / "run").exists()


def test_interrupted_in_warm_up(data, tmp_path):
    out = tmp_path / "run"
    process = start(
        *("fit", data, "--target", "price", "--out", out, "--executor", "threads"),
        *("--warmup", END, "--draws", DRAWS),
    )
    wait_for(process, "sampling:")
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, rest
    assert f"there is no draw yet; `raytpnn resume {out}` goes on" in rest
    looked = call("diagnose", out)
    assert looked.returncode == 3
    assert "there is no draw yet" in looked.stdout


def test_a_terminal_shows_a_table_and_ctrl_c_reaches_it(data, tmp_path):
    out = tmp_path / "run"
    ours, theirs = pty.openpty()
    process = start(*arguments(data, out, END), stderr=theirs)
    os.close(theirs)
    shown = ""
    interrupts = 0
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk.decode(errors="replace")
            if not interrupts and any((out / "draws").rglob("block=2.parquet")):
                interrupts = 1
                process.send_signal(signal.SIGINT)
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    stdout, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    for text in (
        "reading",
        "chain",
        "sweeps/s",
        "log-likelihood",
        "accepted",
        "to the last draw",
        "threads",
    ):
        assert text in plain
    assert "\x1b[" in shown, "it changes in place"
    assert "raytpnn resume" in stdout
