"""Mpg and Churn as the tables want them, from packages that hold a copy.

    pip install vega_datasets
    Rscript -e 'write.csv(modeldata::wa_churn, "wa_churn.csv", row.names = FALSE)'   # R package modeldata
    python -m examples.paper.more_data FOLDER [--churn wa_churn.csv]

Writes FOLDER/auto_mpg.csv (398 cars, 6 without horsepower, as in UCI's Auto MPG) and FOLDER/telco_churn.csv
(7,043 customers, 19 features: the paper's 20 less the customer's number; yes and no are 1 and 0 there).
Neither is part of this repository.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

MPG_COLUMNS = {
    "Cylinders": "cylinders",
    "Displacement": "displacement",
    "Horsepower": "horsepower",
    "Weight_in_lbs": "weight",
    "Acceleration": "acceleration",
    "Year": "model_year",
    "Origin": "origin",
    "Name": "car_name",
    "Miles_per_Gallon": "mpg",
}


def mpg(cars: pd.DataFrame) -> pd.DataFrame:
    """Cars with a known consumption, columns named and ordered as in UCI's file, the target last."""
    table = cars[list(MPG_COLUMNS)].rename(columns=MPG_COLUMNS)
    table["model_year"] = pd.to_datetime(table["model_year"]).dt.year - 1900
    return table.dropna(subset="mpg").reset_index(drop=True)


def churn(customers: pd.DataFrame) -> pd.DataFrame:
    """Customers with the target last."""
    return customers[[*customers.columns.drop("churn"), "churn"]]


def main(arguments: list[str] | None = None) -> None:
    """Write what the sources allow."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--churn", type=Path, help="the CSV file that R wrote")
    given = options.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    try:
        from vega_datasets import data as shipped
    except ImportError:
        print("no auto_mpg.csv: pip install vega_datasets")
    else:
        mpg(shipped.cars()).to_csv(given.folder / "auto_mpg.csv", index=False)
    if given.churn is None:
        print("no telco_churn.csv: give --churn, see --help")
    else:
        churn(pd.read_csv(given.churn)).to_csv(given.folder / "telco_churn.csv", index=False)


if __name__ == "__main__":
    main()
