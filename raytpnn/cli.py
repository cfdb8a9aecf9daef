"""The command line: `raytpnn demo` and `raytpnn report`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Bayesian tensor product neural networks: interpretable regression with credible bands.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def main() -> None:
    """Bayesian tensor product neural networks: interpretable regression with credible bands."""


@app.command()
def demo(
    chains: Annotated[int, typer.Option(min=1, help="Independent chains.")] = 4,
    warmup: Annotated[int, typer.Option(min=0, help="Sweeps before the first draw.")] = 1000,
    draws: Annotated[int, typer.Option(min=1, help="Draws kept of each chain.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of the chains.")] = 0,
) -> None:
    """Fit the diabetes data that ship with scikit-learn, and show what was found."""
    say("loading: the first run on a machine compiles the sampler, which takes some seconds")
    begin = time.monotonic()
    import numpy as np
    from sklearn.datasets import load_diabetes

    import raytpnn

    data = load_diabetes(as_frame=True, scaled=False)
    X, y = data.data, data.target
    order = np.random.default_rng(seed).permutation(len(y))
    cut = int(0.8 * len(y))
    train, test = order[:cut], order[cut:]
    say(f"diabetes: {cut} patients to learn from, {len(test)} held out, {X.shape[1]} features")
    post = raytpnn.sample(
        X.iloc[train], y.iloc[train], chains=chains, warmup=warmup, draws=draws, seed=seed, progress=True
    )
    print_result(post, X.iloc[test], y.iloc[test], float(y.iloc[train].mean()))
    say(f"{time.monotonic() - begin:.1f} seconds in all")


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="Folder of a saved run.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the page; RUN/report.html if not given.")
    ] = None,
) -> None:
    """Write one HTML page about a saved run: what was fitted, did it converge, what matters."""
    from raytpnn.posterior.storage import load
    from raytpnn.report.page import write_report

    target = out or run / "report.html"
    try:
        write_report(load(run), target)
    except (ValueError, OSError, ImportError) as problem:
        say(f"error: {problem}")
        raise typer.Exit(1) from None
    print(target)


def say(text: str) -> None:
    """A line to standard error, at once."""
    print(text, file=sys.stderr, flush=True)


def print_result(post: Any, X: Any, y: Any, mean: float) -> None:
    """Convergence, score on held-out rows and leading components."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    console = Console()
    diagnostics = post.diagnostics()
    fits = diagnostics[diagnostics["quantity"].str.startswith("f[")]
    seconds = post.config["sampling_seconds"]
    console.print(f"\n{post.draws.n_draws} draws in {seconds:.1f} s")
    if fits["rhat"].notna().any():
        median, worst = fits["rhat"].median(), fits["rhat"].max()
        verdict = "converged" if worst < 1.05 else "not converged: run longer chains for final numbers"
        console.print(
            f"R-hat of the fitted values: median {median:.3f}, worst {worst:.3f} ({verdict}); "
            f"effective draws: median {fits['ess_bulk'].median():.0f}"
        )
    else:
        console.print(f"R-hat: {fits['note'].iloc[0]}")
    error = float(np.sqrt(np.mean((post.predict(X) - y) ** 2)))
    plain = float(np.sqrt(np.mean((mean - y) ** 2)))
    low, high = post.interval(X, level=0.9).T
    covered = float(np.mean((low <= y) & (y <= high)))
    console.print(f"held-out RMSE {error:.2f} (predicting the mean: {plain:.2f})")
    console.print(f"90% predictive intervals hold {covered:.0%} of the held-out responses\n")
    table = Table(title="Leading components")
    for heading in ("component", "order", "importance", "95% interval", "in the model"):
        table.add_column(heading, justify="left" if heading == "component" else "right")
    for row in post.components().head(10).itertuples():
        table.add_row(
            " x ".join(row.component),
            str(row.order),
            f"{row.importance:.2f}",
            f"{row.importance_low:.2f} to {row.importance_high:.2f}",
            f"{row.inclusion:.0%}",
        )
    console.print(table)
    console.print(
        "importance: root mean square of the component over the training rows, in units of the response"
    )


if __name__ == "__main__":
    app()
