"""The tabular data sets of the paper, by name, from a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["NAMES", "SETS", "DataSet", "Source", "folder_of", "present", "read"]


@dataclass(frozen=True)
class Source:
    """Where a data set is and how it is read.

    Attributes
    ----------
    title : str
        Name in the paper.
    file : str
        File in the data folder; the target is its last column.
    family : str
        "gaussian" or "bernoulli".
    positive : str
        Of two classes: the one that counts as 1.
    drop : tuple of str
        Columns that are no features.
    numeric : tuple of str
        Columns of numbers that a file may hold as text with blanks.
    """

    title: str
    file: str
    family: str
    positive: str = ""
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()


SETS = {
    "abalone": Source("Abalone", "abalone.csv", "gaussian"),
    "boston_housing": Source("Boston", "boston_housing.csv", "gaussian"),
    "auto_mpg": Source("Mpg", "auto_mpg.csv", "gaussian", drop=("car_name", "car name", "name")),
    "servo": Source("Servo", "servo.csv", "gaussian"),
    "heloc": Source("Fico", "heloc.csv", "bernoulli", positive="Bad"),
    "breast_cancer_wdbc": Source("Breast", "breast_cancer_wdbc.csv", "bernoulli", positive="malignant"),
    "telco_churn": Source(
        "Churn", "telco_churn.csv", "bernoulli", "Yes", drop=("customerID",), numeric=("TotalCharges",)
    ),
    "madelon": Source("Madelon", "madelon.parquet", "bernoulli", positive="1", drop=("split",)),
}
NAMES = tuple(SETS)


@dataclass(frozen=True)
class DataSet:
    """A table and its response.

    Attributes
    ----------
    name : str
        As in `SETS`, or that of a simulated set.
    X : DataFrame
    y : (n,) float64
        Numbers; 0 and 1 of two classes.
    family : str
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    family: str

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return self.family == "bernoulli"


def folder_of(given: str | os.PathLike[str] | None) -> Path | None:
    """Folder of the data: the one given, or that of the environment variable RAYTPNN_DATA."""
    place = given or os.environ.get("RAYTPNN_DATA")
    return Path(place) if place else None


def present(folder: Path | None, names: tuple[str, ...] = NAMES) -> tuple[list[str], list[str]]:
    """Names of the data sets that are there, and a line for each that is not."""
    there, missing = [], []
    for name in names:
        if folder is not None and (folder / SETS[name].file).is_file():
            there.append(name)
        else:
            where = f"{folder} has no {SETS[name].file}" if folder else "give --data-dir or set RAYTPNN_DATA"
            missing.append(f"skipped {SETS[name].title}: {where}")
    return there, missing


def read(folder: Path | None, name: str) -> DataSet:
    """Read a data set.

    Raises
    ------
    FileNotFoundError
        If the folder or the file is not there.
    """
    source = SETS[name]
    if folder is None:
        raise FileNotFoundError("no folder of data: give --data-dir or set RAYTPNN_DATA")
    path = folder / source.file
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    target = table.columns[-1]
    X = table.drop(columns=[target, *(column for column in source.drop if column in table.columns)])
    for column in set(source.numeric) & set(X.columns):
        X[column] = pd.to_numeric(X[column], errors="coerce")
    if source.family == "bernoulli":
        y = (table[target].astype(str) == source.positive).to_numpy(np.float64)
        if y.min() == y.max():
            raise ValueError(
                f"{path}: column {target!r} does not have the two classes; 1 is {source.positive!r}"
            )
    else:
        y = table[target].to_numpy(np.float64)
    return DataSet(name, X, y, source.family)
