"""What a manifest says, checked: a run may come from a stranger."""

from __future__ import annotations

import re
from typing import Any

from raytpnn.storage.checks import checksum, flag, item, list_of, mapping, number, text, whole

__all__ = ["check_length", "check_manifest", "check_plan"]

# Names that files of a run have. Nothing else is ever opened: no path leads out of the run's folder.
FILE_NAME = re.compile(
    r"encoder/encoder\.(json|parquet)"
    r"|data/(features|marginals|rows)\.parquet"
    r"|data/(codes|settings|probe)\.npy"
    r"|draws/chain=(0|[1-9]\d{0,8})/block=(0|[1-9]\d{0,8})\.parquet"
)
NEEDED = (
    *("encoder/encoder.json", "encoder/encoder.parquet"),
    *("data/features.parquet", "data/marginals.parquet", "data/rows.parquet", "data/codes.npy"),
)
STATES = ("running", "stopped", "finished")
MOST_ROWS, MOST_FEATURES = 1 << 40, 1 << 27
MOST_CHAINS, MOST_SWEEPS, MOST_BLOCKS = 1 << 20, 1 << 40, 1 << 23
MOST_BLOCK_SWEEPS = 1 << 20
MOST_DRAWS = (1 << 31) - 1
WATCHED_ROWS = 64
STRIPES = 16


def check_manifest(manifest: dict[str, Any]) -> None:
    """Raise ValueError if something in a manifest is not what it must be to be relied on."""
    text(item(manifest, "family"), "family")
    check_classes(item(manifest, "classes"))
    whole(item(manifest, "n_rows"), "n_rows", 1, MOST_ROWS)
    whole(item(manifest, "n_draws"), "n_draws", 0, MOST_DRAWS)
    mapping(item(manifest, "config"), "config")
    mapping(manifest.get("versions", {}), "versions")
    list_of(item(manifest, "feature_names"), "feature_names", text, MOST_FEATURES)
    files = mapping(item(manifest, "files"), "files")
    for name, sum_ in files.items():
        if not FILE_NAME.fullmatch(name):
            raise ValueError(f"files has {name!r:.100}, which is no name of a run's file")
        checksum(sum_, f"files[{name!r}]")
    absent = [name for name in NEEDED if name not in files]
    if absent:
        raise ValueError(f"files lacks {absent[0]!r}")
    if "plan" in manifest:
        if manifest.get("state") not in STATES:
            raise ValueError(
                f"state is {manifest.get('state')!r:.60}, but must be one of {', '.join(STATES)}"
            )
        check_length(mapping(manifest["plan"], "plan"))
    elif "state" in manifest:
        raise ValueError("it has a state, but no plan")


def check_classes(classes: Any) -> None:
    """Raise unless classes are two or more labels, or none."""
    if classes is None:
        return
    plain = isinstance(classes, list) and all(isinstance(one, str | int | float) for one in classes)
    if not plain or len(classes) < 2:
        raise ValueError(
            f"classes is {classes!r:.60}, but must be null or at least two texts, numbers or truth values"
        )


def check_length(plan: dict[str, Any]) -> None:
    """Raise unless the chains of a plan have a length that can be worked with."""
    text(item(plan, "digest"), "plan.digest")
    chains = whole(item(plan, "chains"), "plan.chains", 1, MOST_CHAINS)
    warmup = whole(item(plan, "warmup"), "plan.warmup", 0, MOST_SWEEPS)
    thin = whole(item(plan, "thin"), "plan.thin", 1, MOST_SWEEPS)
    step = whole(item(plan, "block_sweeps"), "plan.block_sweeps", 1, MOST_BLOCK_SWEEPS)
    if item(plan, "draws") is None:
        sweeps = whole(plan.get("max_sweeps"), "plan.max_sweeps", warmup + 1, MOST_SWEEPS)
    else:
        draws = whole(plan["draws"], "plan.draws", 1, MOST_DRAWS)
        sweeps = whole(warmup + draws * thin, "plan: sweeps of a chain", 1, MOST_SWEEPS)
    whole(chains * -(-sweeps // step), "plan: blocks of all chains", 1, MOST_BLOCKS)


def check_plan(plan: dict[str, Any]) -> None:
    """Raise ValueError if the rest of a plan, which chains need to go on, is not what it must be."""
    whole(item(plan, "seed"), "plan.seed", 0, (1 << 64) - 1)
    number(item(plan, "location"), "plan.location")
    number(item(plan, "scale"), "plan.scale", above=0.0)
    number(item(plan, "noise_variance"), "plan.noise_variance", least=0.0)
    number(item(plan, "log_constant"), "plan.log_constant")
    flag(item(plan, "adaptive"), "plan.adaptive")
    for name in ("screened", "weighted_births"):
        flag(plan.get(name, False), f"plan.{name}")
    text(item(plan, "backend"), "plan.backend")
    whole(plan.get("shards", 1), "plan.shards", 1, STRIPES)
    list_of(item(plan, "watched_offset"), "plan.watched_offset", number, WATCHED_ROWS)
    if item(plan, "tempering") is not None:
        mapping(plan["tempering"], "plan.tempering")
    if "stripe_sha256" in plan:
        sums = list_of(plan["stripe_sha256"], "plan.stripe_sha256", checksum, STRIPES)
        whole(len(sums), "plan.stripe_sha256: their number", STRIPES, STRIPES)
