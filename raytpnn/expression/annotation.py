"""What probes are called: gene symbols and accessions from an annotation file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from raytpnn.data.gene_symbols import Annotation
from raytpnn.data.tables.tables import quoted

__all__ = ["read_annotation"]

# Names of columns, compared in lower case without anything but letters and digits.
ID_COLUMNS = (
    "probeid",
    "id",
    "probesetid",
    "probeset",
    "probe",
    "featureid",
    "idref",
    "ensemblgeneid",
    "geneid",
)
SYMBOL_COLUMNS = ("genesymbol", "symbol", "hgncsymbol", "genename", "geneassignment", "featurename", "gene")
ACCESSION_COLUMNS = ("genbankaccession", "gbacc", "accession", "representativepublicid", "refseq", "gblist")


def read_annotation(path: str | os.PathLike[str]) -> Annotation:
    """Read an annotation file.

    Parameters
    ----------
    path : path
        CSV, TSV or tab-separated text (also gzip) with a column of probe ids and one of gene symbols, of
        accessions, or both; GEO platform tables (GPL...) with their lines of comment are such files.

    Returns
    -------
    Annotation

    Raises
    ------
    ValueError
        If there is no such column: the message names those that are there.
    """
    import pandas as pd

    from raytpnn.data.tables.files import ending_of
    from raytpnn.expression.series_matrix import opened

    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no annotation file {str(file)!r}")
    try:
        with opened(file) as raw:
            skipped, line = 0, raw.readline()
            # Comments of GEO's platform files.
            while line[:1] in (b"#", b"!", b"^") or (line and not line.strip()):
                skipped, line = skipped + 1, raw.readline()
        separator = "," if ending_of(file) == ".csv" and b"\t" not in line else "\t"
        frame = pd.read_csv(
            file, sep=separator, dtype=str, keep_default_na=False, skiprows=skipped, index_col=False
        )
    except (OSError, EOFError, ValueError) as problem:
        raise ValueError(f"cannot read annotation file {str(file)!r}: {problem}") from None
    names = {re.sub(r"[^a-z0-9]", "", str(name).lower()): str(name) for name in reversed(frame.columns)}
    found = [
        next((names[plain] for plain in wanted if plain in names), None)
        for wanted in (ID_COLUMNS, SYMBOL_COLUMNS, ACCESSION_COLUMNS)
    ]
    ids, symbol, accession = found
    if ids is None or (symbol is None and accession is None) or ids == symbol:
        raise ValueError(
            f"annotation file {str(file)!r} needs a column of probe ids (such as 'probe_id' or 'ID') and one "
            "of symbols or accessions (such as 'gene_symbol' or 'GB_ACC'); it has "
            f"{quoted(list(frame.columns), 12)}"
        )
    keys = frame[ids].str.strip().tolist()

    def known(column: str | None) -> dict[str, str]:
        cells = [""] * len(keys) if column is None else frame[column].str.strip().tolist()
        return {
            key: cell for key, cell in zip(keys, cells, strict=True) if cell and cell not in ("---", "NA")
        }

    return Annotation(known(symbol), known(accession))
