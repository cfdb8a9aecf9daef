"""What `test_shards_ray` and other tests share: Killer, shared_files."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from raytpnn.chains.observe.progress import Reporter


class Killer(Reporter):
    """Kills one shard of a gang, for good, when its chain has run for a while."""

    def __init__(self, shard, after):
        super().__init__()
        self.shard, self.after = shard, after
        self.killed = None
        self.said = []

    def update(self, chains, where):
        if self.killed is None and any(status.sweeps >= self.after for status in chains):
            self.killed, self.when = kill_shard(self.shard), time.time()

    def say(self, text):
        self.said.append(text)


def kill_shard(shard):
    """SIGKILL the process of one of the shards, in the order of process numbers; returns its number."""
    import psutil

    mine = [
        process
        for process in psutil.process_iter(["cmdline", "pid"])
        if process.info["cmdline"]
        and process.info["cmdline"][0].startswith("ray::BlockWorker")
        and os.environ.get("RAYTPNN_SHARDS_TEST", "?") == process.environ().get("RAYTPNN_SHARDS_TEST")
    ]
    if len(mine) < 2:
        return None
    target = sorted(mine, key=lambda process: process.info["pid"])[shard]
    os.kill(target.info["pid"], signal.SIGKILL)
    return target.info["pid"]


def shared_files():
    folder = Path("/dev/shm")
    return {path.name for path in folder.glob("raytpnn-*")} if folder.is_dir() else set()
