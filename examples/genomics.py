"""From a GEO series matrix to ranked genes: one command, one folder with everything a person looks at.

    python examples/genomics.py GSE4107_series_matrix.txt.gz --target title --positive '~patient' \
        --annotation gpl570_annotation.csv.gz --out run --cv 5x2 --permute 10
    ray job submit --address http://head:8265 --working-dir examples -- python genomics.py \
        /shared/GSE4107_series_matrix.txt.gz --target title --positive '~patient' --out /shared/run \
        --gpus 1 --workers 8 --wait

It reads the file (also .h5ad, 10x .h5, or a matrix with --samples), says which samples and classes it took,
samples the posterior, cross-validates if asked to, and writes to the folder

    report.html     what was fitted, did the chains agree, how good is it, which genes, how do effects look
    genes.csv       ranked genes and combinations of genes, with accession, interval, inclusion and direction
    cv/summary.md   scores on samples held out, what chance looks like, which genes are found every time

beside the run itself, which `raytpnn predict`, `diagnose` and `resume` take. Chains run in threads of this
machine; on a Ray cluster if the script runs there (`ray submit`, `ray job submit`, or --address), where all
nodes must see the folder, which may be s3:// or gs:// like the data; with --gpus on its GPUs. A cluster that
grows on demand needs --workers and --wait. --executor ray starts a Ray of its own. Only the installed package
is needed (with the extra "report"; "h5ad" for h5 files).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import raytpnn
from raytpnn.chains.executors.ray_session import RaySession, ray_is_meant
from raytpnn.chains.observe.progress import make_reporter
from raytpnn.report.page.write import write_report
from raytpnn.report.plots.canvas import matplotlib_module
from raytpnn.storage.places.fetch import local_copy
from raytpnn.storage.places.place import Place
from raytpnn.validation.text import to_markdown

BEGIN = time.monotonic()


def tell(text: str) -> None:
    """Print a line with the time since the start."""
    print(f"[{time.monotonic() - BEGIN:5.1f} s] {text}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    """What the user asks for."""
    parser = argparse.ArgumentParser(description="From expression data to ranked genes.")
    parser.add_argument("data", help="GEO series matrix, .h5ad, 10x .h5, or a matrix with --samples")
    parser.add_argument("--samples", help="sample sheet")
    parser.add_argument("--target", required=True, help="characteristic of the samples; see raytpnn inspect")
    parser.add_argument("--positive", help="a level, or ~PATTERN for free text")
    parser.add_argument("--annotation", help="table with gene symbols and accessions of the probes")
    parser.add_argument("--out", required=True, help="folder for the results; must be new")
    parser.add_argument("--chains", type=int, default=8)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument(
        "--feature-weights", choices=["auto", "uniform", "marginal", "adaptive"], default="auto"
    )
    parser.add_argument("--report-draws", type=int, default=2000, help="draws that report.html looks at")
    parser.add_argument("--cv", help="cross-validate: folds, or folds x repeats, as 5x2")
    parser.add_argument("--permute", type=int, default=0, help="control: permutations of the target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--executor", choices=["auto", "threads", "ray"], default="auto")
    parser.add_argument("--address", help="of a Ray cluster")
    parser.add_argument(
        "--gpus", type=float, default=0.0, help="GPUs a worker on Ray; a fraction shares one, 0 takes CPUs"
    )
    parser.add_argument("--workers", type=int, help="workers on Ray to ask for, so that a cluster grows")
    parser.add_argument(
        "--wait", action="store_true", help="begin while no node of the cluster can hold a worker yet"
    )
    return parser.parse_args()


def resources(options: argparse.Namespace) -> raytpnn.Resources:
    """What chains ask of Ray."""
    return raytpnn.Resources(workers=options.workers, gpus=options.gpus, wait=options.wait)


def session(options: argparse.Namespace) -> AbstractContextManager[Any]:
    """One Ray for all steps, if they run on Ray."""
    if not ray_is_meant(options.executor, options.address):
        return nullcontext()
    return RaySession(options.address, resources(options), make_reporter(True))


def put_report(place: Place, post: raytpnn.Posterior, title: str, found: Any) -> None:
    """Write the page to where the run is, also in a bucket."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(post, page, title=title, validation=found)
        place.write("report.html", page.read_bytes())


def main() -> None:
    """Do all of it."""
    options = arguments()
    # What the report needs shows now, not after hours of sampling.
    matplotlib_module()
    tell(f"reading {options.data}")
    data = raytpnn.read_expression(local_copy(options.data), samples=options.samples)
    y, usable, text = data.target(options.target, options.positive)
    tell(f"{data.n_samples:,} samples, {data.n_features:,} features; target {text}")
    if y.classes is None:
        raise SystemExit(f"target {options.target!r} holds numbers: --positive makes two classes of them")
    data = data.take(usable)
    annotation = None if options.annotation is None else raytpnn.read_annotation(options.annotation)
    chains = {
        "chains": options.chains,
        "warmup": options.warmup,
        "draws": options.draws,
        "feature_weights": options.feature_weights,
    }
    where = {"out": options.out, "executor": options.executor, "address": options.address}
    place, asked = Place(options.out), resources(options)
    with session(options):
        table = raytpnn.prepare(data, annotation=annotation)
        for line in table.preparation.sentences():
            tell(line)
        post = raytpnn.sample(
            table, y, family="bernoulli", seed=options.seed, progress=True, resources=asked, **chains, **where
        )
        tell(f"{post.draws.n_draws:,} draws of {options.chains} chains")
        genes = post.genes()
        place.write("genes.csv", genes.to_csv(index=False).encode())
        tell(f"genes.csv: {len(genes):,} genes and combinations")
        found = None
        if options.cv:
            found = raytpnn.cross_validate(
                data,
                y,
                family="bernoulli",
                cv=options.cv,
                permute=options.permute,
                seed=options.seed,
                preparation={},
                annotation=annotation,
                progress=True,
                **chains,
                **where,
            )
    put_report(place, post.thin(options.report_draws), f"{options.target} in {data.source}", found)
    tell(f"everything is in {options.out}: report.html, genes.csv" + (", cv/summary.md" if found else ""))
    shown = [
        "rank",
        "gene",
        "accession",
        "importance",
        "share_of_draws_any",
        "direction",
        "direction_probability",
    ]
    print(genes[shown].head(20).to_string(index=False, float_format="{:.3f}".format))
    if found is not None:
        print("\n" + to_markdown(found))


if __name__ == "__main__":
    main()
