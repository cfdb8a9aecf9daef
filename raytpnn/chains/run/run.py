"""A run on disk while its chains run: begun, gone on with, ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from raytpnn.chains.block_report import BlockReport
from raytpnn.chains.plan import Length, Plan
from raytpnn.chains.run.store import DiskStore
from raytpnn.data.encoding.bins import Bins
from raytpnn.data.encoding.encoder import Encoder
from raytpnn.data.encoding.encoder_io import read_run_encoder
from raytpnn.data.rows.rows_check import check_response
from raytpnn.data.rows.rows_io import TrainingRows, read_rows, write_rows
from raytpnn.data.rows.shard_io import read_shard, stripe_checksums
from raytpnn.draws.draws import Draws
from raytpnn.draws.files import REMAKE, read_draws
from raytpnn.engine.backends import check_backend
from raytpnn.engine.moves.options import Moves
from raytpnn.engine.older_records import moves_of_today, settings_of_today
from raytpnn.engine.problem import Problem, Scaling, build_problem, with_weighted_births
from raytpnn.engine.record_check import settings_of
from raytpnn.engine.records import STORED_SETTINGS
from raytpnn.engine.sharded_chain import as_shard, check_shards
from raytpnn.engine.tempering.options import Tempering
from raytpnn.families import get_family
from raytpnn.forward.probe import probe_of, probe_rows
from raytpnn.model.prior import Prior
from raytpnn.numerics.lanes import STRIPES, stripe_starts
from raytpnn.storage.checks import flag, item, named, whole
from raytpnn.storage.errors import NodeTrouble, RunError
from raytpnn.storage.formats.chain_format import CHAIN_FORMAT, refuse_other_format
from raytpnn.storage.formats.checkpoint import Checkpoint, checkpoint_name, draws_name, good_blocks
from raytpnn.storage.formats.length import length_of
from raytpnn.storage.formats.manifest import (
    BEGUN,
    FORMAT,
    MANIFEST,
    VERSION,
    as_json,
    package_versions,
    parse_manifest,
    read_manifest,
    write_manifest,
)
from raytpnn.storage.formats.manifest_check import check_plan
from raytpnn.storage.formats.npy_files import mapped_array
from raytpnn.storage.lease import Fence, Lease
from raytpnn.storage.places.place import Place, sha256_of_file
from raytpnn.storage.places.retry import patiently
from raytpnn.storage.places.uris import shown
from raytpnn.storage.places.verified import verified_file

__all__ = ["Run", "check_to_go_on", "resumable"]

SETTINGS_FILE = "data/settings.npy"
PROBE_FILE = "data/probe.npy"


@dataclass
class Run:
    """A run's folder.

    Attributes
    ----------
    place : Place
    manifest : dict
    lease : Lease or None
        That of this process, if it owns the run.
    fence : Fence or None
        How a worker sees whether the run is still that of the owner who sent it.
    """

    place: Place
    manifest: dict[str, Any]
    lease: Lease | None = None
    fence: Fence | None = None
    # Files of draws that were read and verified when the run was opened to go on.
    contents: dict[str, bytes] = field(default_factory=dict)

    @staticmethod
    def begin(
        place: Place,
        plan: Plan,
        rows: TrainingRows,
        encoder: Encoder,
        classes: tuple[Any, ...] | None,
        config: dict[str, Any],
        codes: Path | None = None,
        lease: Lease | None = None,
    ) -> Run:
        """Write everything that workers need; the run appears whole.

        `codes`, if there is such a file, already holds the codes of the rows: it is moved.
        """

        def write() -> dict[str, Any]:
            return Run._write(place, plan, rows, encoder, classes, config, codes)

        # An object store is borne with file by file. Of a failed attempt nothing stays; codes that were moved
        # are still mapped, and written again.
        manifest = write() if place.path is None else patiently(write, place.patience)
        return Run(place, parse_manifest(as_json(manifest)), lease)

    @staticmethod
    def _write(
        place: Place,
        plan: Plan,
        rows: TrainingRows,
        encoder: Encoder,
        classes: tuple[Any, ...] | None,
        config: dict[str, Any],
        codes: Path | None,
    ) -> dict[str, Any]:
        """Write a run that begins; its manifest."""
        with place.new_folder() as folder:
            write_rows(rows, folder, codes)
            encoder.save(folder / "encoder")
            np.save(folder / SETTINGS_FILE, clean_copy(plan.settings))
            if plan.shards > 1:
                # For those who have some of the rows: components are watched at rows of all shards.
                np.save(folder / PROBE_FILE, probe_of(rows.bins).codes)
            files = {
                path.relative_to(folder).as_posix(): sha256_of_file(path)
                for path in sorted(folder.rglob("*"))
                if path.is_file()
            }
            manifest = {
                "format": FORMAT,
                "version": VERSION,
                "state": "running",
                "family": plan.family.name,
                "classes": classes,
                "n_rows": rows.bins.n_rows,
                "n_draws": 0,
                "versions": package_versions(),
                "config": config,
                "feature_names": list(rows.bins.names),
                "plan": describe_plan(plan, files),
                "files": files,
            }
            for name in (BEGUN, MANIFEST):
                (folder / name).write_bytes(as_json(manifest))
        return manifest

    @staticmethod
    def open(place: Place, lease: Lease | None = None, fence: Fence | None = None) -> Run:
        """Open a run; RunError if it cannot be gone on with."""
        manifest = read_manifest(place)
        if "plan" not in manifest:
            raise RunError(
                f"{place} holds a saved posterior, not a run: its {MANIFEST} has no plan to go on with"
            )
        where = place.name_of(MANIFEST)
        refuse_other_format(manifest, where)
        check_to_go_on(manifest, where)
        return Run(place, manifest, lease, fence)

    @property
    def length(self) -> Length:
        """Chains and sweeps of the run."""
        return length_of(self.manifest["plan"])

    @property
    def store(self) -> DiskStore:
        """Where blocks go."""
        fence = self.fence if self.lease is None else self.lease.fence
        return DiskStore(self.place, self.manifest["plan"]["digest"], fence)

    def lengthen(self, chains: int | None, draws: int | None, max_sweeps: int | None = None) -> None:
        """Have more chains, draws or sweeps than the run was begun with."""
        length = self.length
        if draws is not None and length.until:
            raise ValueError(
                f"the run in {self.place} goes on until it has converged, for at most {length.max_sweeps} "
                f"sweeps: give max_sweeps to let it go on for longer, not draws, got draws={draws}"
            )
        if max_sweeps is not None and not length.until:
            raise ValueError(
                f"the run in {self.place} has draws={length.draws}: give draws to make it longer, not "
                f"max_sweeps, got max_sweeps={max_sweeps}"
            )
        asked = {"chains": chains, "draws": draws, "max_sweeps": max_sweeps}
        wanted = replace(length, **{name: value for name, value in asked.items() if value is not None})
        for name, value in asked.items():
            if value is not None and value < getattr(length, name):
                raise ValueError(
                    f"the run in {self.place} has {name}={getattr(length, name)}; a run can be given more, "
                    f"not fewer, got {value}"
                )
        stated = self.manifest["plan"]
        if (stated["adaptive"] or stated.get("screened", False)) and wanted.chains > length.chains:
            raise ValueError(
                f"the run in {self.place} has learned its feature weights from {length.chains} chains; it "
                "can have more draws, not more chains"
            )
        self.manifest["plan"] |= asdict(wanted)
        self.manifest["config"] |= {name: getattr(wanted, name) for name in asked}

    def rows(self) -> TrainingRows:
        """Training rows, verified, codes mapped into memory."""
        rows = read_rows(self.verified, self.manifest["n_rows"], self.place.name_of)
        with named(self.place.name_of(MANIFEST)):
            check_response(get_family(self.manifest["family"]).with_classes(self.manifest["classes"]), rows.y)
        return rows

    def encoder(self) -> Encoder:
        """Encoder of the run, verified."""
        return read_run_encoder(self.place, self.manifest["files"])

    def verified(self, name: str) -> Path:
        """Local path of one of the run's own files, its checksum compared."""
        return verified_file(self.place, name, self.manifest["files"][name])

    def plan(self, rows: TrainingRows) -> Plan:
        """Plan of the chains, bit by bit that of the process that began the run."""
        return self._plan_of(self._problem_of(rows), probe_of(rows.bins))

    def shard_plan(self, shards: int, shard: int) -> Plan:
        """Plan of the chains for one who has a shard of the rows and reads no others."""
        n = self.manifest["n_rows"]
        starts = stripe_starts(n)
        share = STRIPES // shards
        own = slice(share * shard, share * (shard + 1))
        sums = self.manifest["plan"].get("stripe_sha256")
        if sums is None:
            # Begun without shards: there is a checksum of the whole file only.
            name = "data/codes.npy"
            sums = stripe_checksums(mapped_array(self.verified(name), self.place.name_of(name)), starts)
        bounds = starts[share * shard : share * (shard + 1) + 1]
        rows = read_shard(self.verified, self.place.large_file, bounds, sums[own])
        probe = probe_of(rows.bins, codes=self._probe_codes(n))
        return self._plan_of(as_shard(self._problem_of(rows), n, shards, shard), probe)

    def _probe_codes(self, n: int) -> np.ndarray:
        """Codes of the watched rows, for one who does not have all rows."""
        if PROBE_FILE in self.manifest["files"]:
            return np.load(self.verified(PROBE_FILE))
        codes = np.load(self.verified("data/codes.npy"), mmap_mode="r")
        return np.ascontiguousarray(codes[:, probe_rows(n)])

    def _problem_of(self, rows: TrainingRows) -> Problem:
        plan = self.manifest["plan"]
        y, offset = (rows.y - plan["location"]) / plan["scale"], rows.offset / plan["scale"]
        if rows.proposal is None:
            name = self.place.name_of("data/features.parquet")
            raise RunError(f"{name} does not say how often features are proposed: fit again")
        problem = build_problem(rows.bins, y, rows.weight, offset, rows.proposal)
        return with_weighted_births(problem) if plan.get("weighted_births", False) else problem

    def _plan_of(self, problem: Problem, probe: Bins) -> Plan:
        stated = self.manifest["plan"]
        with named(self.place.name_of(MANIFEST)):
            family = get_family(self.manifest["family"]).with_classes(self.manifest["classes"])
            prior = Prior(**self.manifest["config"]["prior"])
            moves = Moves(**moves_of_today(self.manifest["config"]["moves"]))
            tempering = None if stated["tempering"] is None else Tempering(**stated["tempering"])
        name = self.place.name_of(SETTINGS_FILE)
        stored = mapped_array(self.verified(SETTINGS_FILE), name)
        with named(name):
            settings = settings_of(settings_of_today(stored), family, problem.n_all, len(problem.codes))
        return Plan(
            problem=problem,
            settings=settings,
            scaling=Scaling(stated["location"], stated["scale"]),
            family=family,
            prior=prior,
            moves=moves,
            noise_variance=stated["noise_variance"],
            log_constant=stated["log_constant"],
            seed=stated["seed"],
            length=self.length,
            backend=stated["backend"],
            adaptive=stated["adaptive"],
            screened=stated.get("screened", False),
            weighted_births=stated.get("weighted_births", False),
            tempering=tempering,
            shards=stated.get("shards", 1),
            watched_offset=np.array(stated["watched_offset"]),
            probe=probe,
        )

    def good_blocks(
        self, keep: bool = False, draws: bool = True
    ) -> tuple[dict[tuple[int, int], Checkpoint], list[str]]:
        """Blocks that are there and whole, and what is wrong with others.

        With `keep`, draws that are read on the way are kept in `contents`, not to be read again at the end;
        without `draws` none are read.
        """
        length = self.length
        digest = self.manifest["plan"]["digest"]
        dropped = self.dropped_sweeps if draws else length.sweeps
        contents = self.contents if keep else None
        return good_blocks(
            self.place, digest, length.blocks(), length.chains, dropped=dropped, contents=contents
        )

    @property
    def dropped_rounds(self) -> int:
        """Rounds after which a run until convergence had ended: what did not count then is gone for good.

        0 if nothing is gone.
        """
        return int(self.manifest.get("dropped_rounds", 0))

    @property
    def dropped_sweeps(self) -> int:
        """Sweeps at the start of a chain whose draws are gone for good."""
        length, rounds = self.length, self.dropped_rounds
        return length.counted(length.sweeps_of(rounds)).warmup if rounds else 0

    def reopen(self) -> None:
        """Mark the run as under way."""
        self.manifest["state"] = "running"
        self.write_manifest()

    def write_manifest(self) -> None:
        """Write the manifest, unless another process has taken the run over."""
        if self.lease is not None:
            self.lease.check(look=True)
        write_manifest(self.place, self.manifest)

    def end(self, config: dict[str, Any], rounds: int | None, reports: list[dict[int, BlockReport]]) -> None:
        """Write the manifest that makes what was drawn a posterior.

        Parameters
        ----------
        config : dict
            What is to be known about how the run went.
        rounds : int or None
            Rounds that count; None for all blocks that are there.
        reports : list of dict of int to BlockReport
            The blocks that are there, by chain and number.
        """
        with resumable(self.place):
            self._end(config, rounds, reports)

    def _end(self, config: dict[str, Any], rounds: int | None, reports: list[dict[int, BlockReport]]) -> None:
        length = self.length
        counted = None if rounds is None else length.counted(length.sweeps_of(rounds))
        files = {name: sum_ for name, sum_ in self.manifest["files"].items() if not name.startswith("draws/")}
        self.manifest.pop("counted", None)
        n_draws = 0
        held = []
        for report in (own[block] for own in reports for block in sorted(own)):
            if report.draws_sha256 is None or (rounds is not None and report.block >= rounds):
                continue
            kept = report.draws
            if counted is not None and length.until:
                kept = int(counted.among(length.numbers_of(report.block)).sum())
            if kept:
                where = report.chain, report.block
                files[draws_name(*where)] = report.draws_sha256
                held += [draws_name(*where), checkpoint_name(*where)]
                n_draws += kept
        if counted is not None and length.until:
            self.manifest["counted"] = asdict(counted)
        self.manifest |= {
            "state": "finished" if config.get("stopped") in (None, "target") else "stopped",
            "n_draws": n_draws,
            "config": self.manifest["config"] | config,
            "files": files,
        }
        if length.until and rounds and self.manifest["state"] == "finished":
            self.manifest["dropped_rounds"] = rounds
        # What the manifest speaks of must be there before it.
        self.place.sync(held)
        self.write_manifest()
        self.drop_draws()
        self.place.remove_leftovers()

    def draws(self, n_features: int) -> Draws | None:
        """Draws that count of a run that has ended; None if there is none."""
        if not self.manifest["n_draws"]:
            return None
        files, counted = self.manifest["files"], self.manifest.get("counted")
        return read_draws(self.place, files, REMAKE, n_features, counted, self.contents)

    def drop_draws(self) -> None:
        """Remove the draws of blocks that a run until convergence threw away as warm-up, if it has ended."""
        length = self.length
        if not self.dropped_rounds:
            return
        last = self.dropped_sweeps // length.block_sweeps
        for chain in range(length.chains):
            for block in range(last):
                self.place.remove(draws_name(chain, block))


def check_to_go_on(manifest: dict[str, Any], where: str) -> None:
    """Raise RunError unless a manifest has all that chains rely on; `where` is the name of its file."""
    plan, config = manifest["plan"], manifest["config"]
    with named(where):
        check_plan(plan)
        item(manifest["files"], SETTINGS_FILE)
        check_backend(plan["backend"])
        check_shards(plan.get("shards", 1))
        if config.get("minibatch") is not None:
            whole(config["minibatch"], "config.minibatch", 1, manifest["n_rows"])
        flag(config.get("delayed_acceptance", False), "config.delayed_acceptance")


@contextmanager
def resumable(place: Place | None) -> Iterator[None]:
    """Have errors of storage and of nodes say that nothing is lost, and how to go on."""
    try:
        yield
    except (OSError, NodeTrouble) as problem:
        if place is None:
            raise
        raise RunError(
            f"the run in {place} has stopped: {shown(str(problem))}. Its finished blocks are "
            f"kept: when the cause is gone, `raytpnn resume {place}` goes on"
        ) from None


def describe_plan(plan: Plan, files: dict[str, str]) -> dict[str, Any]:
    """What workers must know beside the data; `digest` says which run a checkpoint belongs to."""
    described: dict[str, Any] = {
        "seed": plan.seed,
        "location": plan.scaling.location,
        "scale": plan.scaling.scale,
        "noise_variance": plan.noise_variance,
        "log_constant": plan.log_constant,
        "chain_format": CHAIN_FORMAT,
        "adaptive": plan.adaptive,
        # Runs of earlier versions have no such lines.
        **({"screened": True} if plan.screened else {}),
        **({"weighted_births": True} if plan.weighted_births else {}),
        "tempering": None if plan.tempering is None else asdict(plan.tempering),
    }
    length = asdict(plan.length)
    # More chains or draws are still the same run.
    fixed = described | {name: length[name] for name in ("warmup", "thin", "block_sweeps")}
    # The probe repeats rows of the data for those who have a shard of them.
    fixed["files"] = {name: checksum for name, checksum in files.items() if name != PROBE_FILE}
    if plan.length.until:
        # Draws are thinned on the way.
        fixed["until"] = True
    digest = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()
    how = {"backend": plan.backend, "shards": plan.shards}
    if plan.shards > 1:
        how["stripe_sha256"] = stripe_checksums(plan.problem.codes, stripe_starts(plan.problem.n_all))
    offset = plan.problem.offset[plan.watched] if plan.watched_offset is None else plan.watched_offset
    return described | length | how | {"watched_offset": offset.tolist(), "digest": digest}


def clean_copy(settings: np.record) -> np.ndarray:
    """Copy settings so that the bytes between fields are zero: equal settings then make equal files."""
    copy = np.zeros(1, STORED_SETTINGS)
    for name in STORED_SETTINGS.names or ():
        copy[name][0] = settings[name]
    return copy
