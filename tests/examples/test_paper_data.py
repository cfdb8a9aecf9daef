"""Data sets of the paper's tables: from other packages' copies, rows from elsewhere, and rows left out."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from support import paper_cases  # noqa: F401

from examples.paper import more_data, worst_rows
from examples.paper.data import read
from examples.paper.models.base import Size, on_scale_of


def cars():
    return pd.DataFrame(
        {
            "Name": ["one", "two", "three"],
            "Miles_per_Gallon": [18.0, None, 31.5],
            "Cylinders": [8, 4, 4],
            "Displacement": [307.0, 133.0, 98.0],
            "Horsepower": [130.0, 115.0, None],
            "Weight_in_lbs": [3504, 3090, 2045],
            "Acceleration": [12.0, 17.5, 18.5],
            "Year": ["1970-01-01", "1970-01-01", "1977-01-01"],
            "Origin": ["USA", "Europe", "Japan"],
        }
    )


def test_cars_become_the_table_of_consumption(tmp_path):
    more_data.mpg(cars()).to_csv(tmp_path / "auto_mpg.csv", index=False)
    data = read(tmp_path, "auto_mpg")
    assert data.y.tolist() == [18.0, 31.5]
    assert list(data.X.columns) == [
        "cylinders",
        "displacement",
        "horsepower",
        "weight",
        "acceleration",
        "model_year",
        "origin",
    ]
    assert data.X["model_year"].tolist() == [70, 77]
    assert np.isnan(data.X["horsepower"][1])


@pytest.mark.parametrize("charges", ["total_charges", "TotalCharges"])
def test_customers_have_their_target_last(charges, tmp_path):
    customers = pd.DataFrame(
        {"churn": ["No", "Yes", "No"], "tenure": [1, 2, 3], charges: ["29.85", " ", "7"]}
    )
    more_data.churn(customers).to_csv(tmp_path / "telco_churn.csv", index=False)
    data = read(tmp_path, "telco_churn")
    assert data.y.tolist() == [0.0, 1.0, 0.0]
    assert list(data.X.columns) == ["tenure", charges]
    # Under the name of the original file, blanks are missing numbers.
    assert pd.api.types.is_numeric_dtype(data.X[charges]) == (charges == "TotalCharges")


def test_a_source_that_is_not_there_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "vega_datasets", None)
    more_data.main([str(tmp_path)])
    told = capsys.readouterr().out
    assert "no auto_mpg.csv: pip install vega_datasets" in told
    assert "no telco_churn.csv: give --churn" in told
    assert not list(tmp_path.iterdir())


def test_rows_from_elsewhere_look_like_rows_of_the_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"number": rng.normal(5.0, 3.0, 400), "level": rng.choice(list("abc"), 400)})
    made = on_scale_of(X, pd.DataFrame(rng.normal(size=(3000, 2))))
    assert made["number"].mean() == pytest.approx(X["number"].mean(), abs=0.3)
    assert made["number"].std() == pytest.approx(X["number"].std(), rel=0.1)
    # Levels in equal shares, in the order of the standardised values.
    assert made["level"].value_counts(normalize=True).to_numpy() == pytest.approx(1 / 3, abs=0.05)
    ends = on_scale_of(X, pd.DataFrame([[0.0, -40.0], [0.0, 0.0], [0.0, 40.0]]))
    assert ends["level"].tolist() == ["a", "b", "c"]


def test_a_row_is_left_out_of_the_splits_that_test_it(tmp_path):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    X["y"] = X["a"] + 0.1 * rng.normal(size=60)
    X.loc[7, "y"] = 50.0
    X.to_csv(tmp_path / "boston_housing.csv", index=False)
    text = worst_rows.without(read(tmp_path, "boston_housing"), 7, Size(1, 20, 20))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:-1]]
    assert {row[1] for row in rows} == {"yes", "no"}
    for row in rows:
        ours, theirs, fewer, fewer_theirs = map(float, row[2:])
        if row[1] == "yes":
            assert fewer < 0.5 * ours
            assert fewer_theirs < 0.5 * theirs
        else:
            assert (ours, theirs) == (fewer, fewer_theirs)
