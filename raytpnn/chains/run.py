"""A run on disk while its chains run: begun, gone on with, ended."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from raytpnn.chains.plan import Length, Plan
from raytpnn.chains.store import DiskStore
from raytpnn.chains.tempering import Tempering
from raytpnn.data.encoder import Encoder
from raytpnn.data.rows_io import TrainingRows, read_rows, write_rows
from raytpnn.data.shard_io import read_shard, stripe_checksums
from raytpnn.engine.ladder_layout import LADDER
from raytpnn.engine.layout import SETTINGS, STATE
from raytpnn.engine.settings import Moves
from raytpnn.engine.setup import Problem, Scaling, build_problem, new_record_of
from raytpnn.engine.shards import as_shard
from raytpnn.model.families import get_family
from raytpnn.model.prior import Prior
from raytpnn.numerics.lanes import STRIPES, stripe_starts
from raytpnn.storage.checkpoint import Checkpoint, draws_name, good_blocks
from raytpnn.storage.errors import RunError
from raytpnn.storage.manifest import FORMAT, MANIFEST, VERSION, as_json, package_versions, read_manifest
from raytpnn.storage.place import Place, sha256_of_file

__all__ = ["Run"]

SETTINGS_FILE = "data/settings.npy"


@dataclass
class Run:
    """A run's folder.

    Attributes
    ----------
    place : Place
    manifest : dict
    """

    place: Place
    manifest: dict[str, Any]

    @staticmethod
    def begin(
        place: Place,
        plan: Plan,
        rows: TrainingRows,
        encoder: Encoder,
        classes: tuple[Any, ...] | None,
        config: dict[str, Any],
    ) -> Run:
        """Write everything that workers need; the folder appears whole."""
        with place.new_folder() as folder:
            write_rows(rows, folder)
            encoder.save(folder / "encoder")
            np.save(folder / SETTINGS_FILE, clean_copy(plan.settings))
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
            (folder / MANIFEST).write_bytes(as_json(manifest))
        return Run(place, json.loads(as_json(manifest)))

    @staticmethod
    def open(place: Place) -> Run:
        """Open a run; RunError if it cannot be gone on with."""
        manifest = read_manifest(place)
        if "plan" not in manifest:
            raise RunError(f"{place} holds a saved posterior, not a run: its chains cannot be gone on with")
        mine = layout_digest()
        if manifest["plan"]["layout"] != mine:
            writer = manifest["versions"]["raytpnn"]
            raise RunError(
                f"the run in {place} was begun by raytpnn {writer}, whose chains this version cannot go on "
                "with; install that version, or fit again"
            )
        return Run(place, manifest)

    @property
    def length(self) -> Length:
        """Chains and sweeps of the run."""
        return Length(**{name: self.manifest["plan"][name] for name in asdict(Length(1, 0, 1))})

    @property
    def store(self) -> DiskStore:
        """Where blocks go."""
        return DiskStore(self.place, self.manifest["plan"]["digest"])

    def lengthen(self, chains: int | None, draws: int | None) -> None:
        """Have more chains or draws than the run was begun with."""
        length = self.length
        wanted = replace(length, chains=chains or length.chains, draws=draws or length.draws)
        for name in ("chains", "draws"):
            if getattr(wanted, name) < getattr(length, name):
                raise ValueError(
                    f"the run in {self.place} has {name}={getattr(length, name)}; a run can be given more, "
                    f"not fewer, got {getattr(wanted, name)}"
                )
        if self.manifest["plan"]["adaptive"] and wanted.chains > length.chains:
            raise ValueError(
                f"the run in {self.place} has learned its feature weights from {length.chains} chains; it "
                "can have more draws, not more chains"
            )
        self.manifest["plan"] |= asdict(wanted)
        self.manifest["config"] |= {"chains": wanted.chains, "draws": wanted.draws}

    def rows(self) -> TrainingRows:
        """Training rows, verified, codes mapped into memory."""
        return read_rows(self.verified)

    def verified(self, name: str) -> Path:
        """Local path of one of the run's own files, its checksum compared."""
        expected = self.manifest["files"][name]
        try:
            path = self.place.local_file(name, expected)
            # A copy of a remote file was verified when it was made.
            if self.place.path is None or sha256_of_file(path) == expected:
                return path
        except FileNotFoundError:
            raise RunError(f"{self.place.name_of(name)} is missing; restore it or fit again") from None
        raise RunError(
            f"{self.place.name_of(name)} is damaged: its SHA-256 is not the one in {MANIFEST}; restore it "
            "or fit again"
        )

    def plan(self, rows: TrainingRows) -> Plan:
        """Plan of the chains, bit by bit that of the process that began the run."""
        return self._plan_of(self._problem_of(rows))

    def shard_plan(self, shards: int, shard: int) -> Plan:
        """Plan of the chains for one who has a shard of the rows and reads no others."""
        n = self.manifest["n_rows"]
        starts = stripe_starts(n)
        share = STRIPES // shards
        own = slice(share * shard, share * (shard + 1))
        sums = self.manifest["plan"].get("stripe_sha256")
        if sums is None:
            # Begun without shards: there is a checksum of the whole file only.
            sums = stripe_checksums(np.load(self.verified("data/codes.npy"), mmap_mode="r"), starts)
        bounds = starts[share * shard : share * (shard + 1) + 1]
        rows = read_shard(self.verified, self.place.large_file, bounds, sums[own])
        return self._plan_of(as_shard(self._problem_of(rows), n, shards, shard))

    def _problem_of(self, rows: TrainingRows) -> Problem:
        told = self.manifest["plan"]
        y, offset = (rows.y - told["location"]) / told["scale"], rows.offset / told["scale"]
        assert rows.proposal is not None
        return build_problem(rows.bins, y, rows.weight, offset, rows.proposal)

    def _plan_of(self, problem: Problem) -> Plan:
        told = self.manifest["plan"]
        family = get_family(self.manifest["family"])
        stored = np.load(self.verified(SETTINGS_FILE))[0]
        # The file does not tell that fields are aligned, which compiled code relies on.
        settings = new_record_of(SETTINGS)
        for name in SETTINGS.names or ():
            settings[name] = stored[name]
        return Plan(
            problem=problem,
            settings=settings,
            scaling=Scaling(told["location"], told["scale"]),
            family=family,
            prior=Prior(**self.manifest["config"]["prior"]),
            moves=Moves(**self.manifest["config"]["moves"]),
            noise_variance=told["noise_variance"],
            log_constant=told["log_constant"],
            seed=told["seed"],
            length=self.length,
            backend=told["backend"],
            adaptive=told["adaptive"],
            tempering=None if told["tempering"] is None else Tempering(**told["tempering"]),
            shards=told.get("shards", 1),
            watched_offset=np.array(told["watched_offset"]),
        )

    def good_blocks(self, watched: bool = True) -> tuple[dict[tuple[int, int], Checkpoint], list[str]]:
        """Blocks that are there and whole, and what is wrong with others."""
        length = self.length
        digest = self.manifest["plan"]["digest"]
        return good_blocks(self.place, digest, length.blocks(), length.chains, watched)

    def reopen(self) -> None:
        """Mark the run as under way."""
        self.manifest["state"] = "running"
        self.place.write(MANIFEST, as_json(self.manifest))

    def end(self, config: dict[str, Any], rounds: int | None) -> None:
        """Write the manifest that makes what was drawn a posterior.

        Parameters
        ----------
        config : dict
            What is to be known about how the run went.
        rounds : int or None
            Rounds that count; None for all blocks that are there.
        """
        good, _ = self.good_blocks(watched=False)
        counted = {
            place: checkpoint
            for place, checkpoint in good.items()
            if checkpoint.draws_sha256 is not None and (rounds is None or place[1] < rounds)
        }
        files = {name: sum_ for name, sum_ in self.manifest["files"].items() if not name.startswith("draws/")}
        files |= {draws_name(*place): str(checkpoint.draws_sha256) for place, checkpoint in counted.items()}
        self.manifest |= {
            "state": "finished" if config.get("stopped") in (None, "target") else "stopped",
            "n_draws": sum(checkpoint.draws for checkpoint in counted.values()),
            "config": self.manifest["config"] | config,
            "files": files,
        }
        self.place.write(MANIFEST, as_json(self.manifest))


def describe_plan(plan: Plan, files: dict[str, str]) -> dict[str, Any]:
    """What workers must know beside the data; `digest` says which run a checkpoint belongs to."""
    told: dict[str, Any] = {
        "seed": plan.seed,
        "location": plan.scaling.location,
        "scale": plan.scaling.scale,
        "noise_variance": plan.noise_variance,
        "log_constant": plan.log_constant,
        "layout": layout_digest(),
        "adaptive": plan.adaptive,
        "tempering": None if plan.tempering is None else asdict(plan.tempering),
    }
    length = asdict(plan.length)
    # More chains or draws are still the same run.
    fixed = told | {name: length[name] for name in ("warmup", "thin", "block_sweeps")} | {"files": files}
    digest = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()
    how = {"backend": plan.backend, "shards": plan.shards}
    if plan.shards > 1:
        how["stripe_sha256"] = stripe_checksums(plan.problem.codes, stripe_starts(plan.problem.n_all))
    offset = plan.problem.offset[plan.watched] if plan.watched_offset is None else plan.watched_offset
    return told | length | how | {"watched_offset": offset.tolist(), "digest": digest}


def clean_copy(settings: np.record) -> np.ndarray:
    """Copy settings so that the bytes between fields are zero: equal settings then make equal files."""
    copy = np.zeros(1, SETTINGS)
    for name in SETTINGS.names or ():
        copy[name][0] = settings[name]
    return copy


def layout_digest() -> str:
    """Tells whether a state written by one version means the same to another."""
    described = repr((package_versions()["raytpnn"], STATE.descr, SETTINGS.descr, LADDER.descr))
    return hashlib.sha256(described.encode()).hexdigest()[:16]
