"""The notebooks run from top to bottom."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs nbformat, nbclient and ipykernel")
nbclient = pytest.importorskip("nbclient", reason="needs nbformat, nbclient and ipykernel")
pytest.importorskip("ipykernel", reason="needs nbformat, nbclient and ipykernel")

GUIDE = Path(__file__).parents[2] / "examples" / "guide"
NEEDED = {"geo_to_figure": ("GSE4107_series_matrix.txt.gz", "gpl570_annotation.csv.gz")}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", sorted(GUIDE.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path, monkeypatch):
    folder = Path(os.environ.get("RAYTPNN_DATA", "nowhere"))
    for name in NEEDED.get(path.stem, ()):
        if not (folder / name).is_file():
            pytest.skip(f"RAYTPNN_DATA holds no {name}")
    monkeypatch.setenv("NOTEBOOK_SWEEPS", "400")
    monkeypatch.setenv("RAYTPNN_DATA", str(folder.resolve()))
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in shown), "a figure is shown"
    assert any("text/html" in out.get("data", {}) for out in shown), "a table is shown"
