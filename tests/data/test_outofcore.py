"""Encoding from Parquet in two passes: the bins of the in-memory encoder, whoever does the work."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.encoding_cases import mixed_frame
from support.outofcore_cases import columns, few_values, same_fields, write

from raytpnn.data.encoding import streamed_fit, summary
from raytpnn.data.encoding.encoder import NUMERIC, Encoder
from raytpnn.data.encoding.summary import Numbers
from raytpnn.data.tables import parquet_pieces, streamed_table
from raytpnn.data.tables.streamed_table import StreamedTable
from raytpnn.parallel import ordered_map as piecework

N = 200_000
MAX_BINS = 255
SMALL = 4_096


@pytest.fixture(scope="module", autouse=True)
def small_batches():
    """Many pieces and batches, of no round size."""
    patch = pytest.MonkeyPatch()
    patch.setattr(streamed_table, "BATCH_ROWS", 5_000)
    patch.setattr(streamed_fit, "BATCH_ROWS", 3_333)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """File of columns with many distinct values, and its encodings: read at once, and streamed."""
    path = write(tmp_path_factory.mktemp("large") / "large.parquet", columns(N))
    return path, Encoder.fit(path, MAX_BINS), Encoder.fit_parquet(path, MAX_BINS)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """The same with fewer rows and much smaller summaries, which leave more out."""
    path = write(tmp_path_factory.mktemp("many") / "many.parquet", columns(N // 4), 2_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "EXACT_VALUES", SMALL)
        return path, Encoder.fit(path, MAX_BINS), Encoder.fit_parquet(path, MAX_BINS)


@pytest.fixture
def small_summaries(monkeypatch):
    """Summaries as small as those of `many`."""
    monkeypatch.setattr(summary, "EXACT_VALUES", SMALL)


def rank_error(path, encoder, feature, max_bins):
    """Largest distance of a cut from the border between two bins of n / max_bins rows each, in such bins."""
    x = np.asarray(pq.read_table(path)[encoder.names[feature]].to_numpy(), np.float64)
    ordered = np.sort(x[~np.isnan(x)])
    rank = np.searchsorted(ordered, encoder.bin_edges(feature)) * max_bins / len(ordered)
    return np.abs(rank - np.arange(1, len(rank) + 1)).max()


@pytest.mark.parametrize(("case", "steps", "moved"), [("large", 0.05, 0.02), ("many", 0.4, 0.1)])
def test_bins_are_those_of_the_encoder_in_memory_within_a_step(case, steps, moved, request):
    path, (encoder, bins), (streamed, codes) = request.getfixturevalue(case)
    assert streamed.names == encoder.names
    assert not streamed.exact.any()
    for feature, name in enumerate(encoder.names):
        apart = codes.codes[feature].astype(int) - bins.codes[feature]
        known = codes.codes[feature] != codes.missing_code
        np.testing.assert_array_equal(known, bins.codes[feature] != bins.missing_code)
        assert np.abs(apart[known]).max() <= 1, name
        assert len(streamed.bin_edges(feature)) == len(encoder.bin_edges(feature)) == MAX_BINS - 1, name
        # Cuts are off by a part of a bin: few rows go to a neighbour.
        assert rank_error(path, streamed, feature, MAX_BINS) < steps, name
        assert np.mean(apart != 0) < moved, name
    # Summaries did leave something out, or this would prove nothing.
    assert not np.array_equal(bins.codes, codes.codes)


def test_marginals_are_counts_of_all_rows(many):
    _, _, (_, bins) = many
    for feature in range(bins.n_features):
        known = bins.codes[feature][bins.codes[feature] != bins.missing_code]
        counts = np.bincount(known, minlength=MAX_BINS)
        np.testing.assert_array_equal(bins.weights_of(feature), counts / len(known))
        middle = (np.cumsum(counts) - 0.5 * counts) / len(known)
        np.testing.assert_array_equal(bins.values_of(feature), middle)


def test_codes_are_those_of_the_encoder(many):
    path, _, (encoder, bins) = many
    np.testing.assert_array_equal(encoder.transform(path), bins.codes)


@pytest.mark.parametrize("broken", ["weights", "order"])
def test_broken_summaries_are_seen(many, small_summaries, broken, monkeypatch):
    """Merging without weights, and thinning that takes the first value instead of the median."""
    path, (encoder, bins), _ = many
    merged, thinned = Numbers.merged, Numbers.thinned

    def forgetful(self, later, size):
        return merged(self, replace(later, counts=np.ones_like(later.counts)), size)

    def unweighted(self, size):
        found = thinned(self, size)
        kept = np.linspace(0, len(self.values) - 1, len(found.values)).astype(int)
        return replace(found, counts=self.counts[kept], values=self.values[kept])

    if broken == "weights":
        monkeypatch.setattr(Numbers, "merged", forgetful)
    else:
        monkeypatch.setattr(Numbers, "thinned", unweighted)
    table = StreamedTable.open(path).select(
        [encoder.names.index("sorted"), encoder.names.index("first half")]
    )
    _, codes = Encoder.fit_parquet(table, MAX_BINS, workers=1)
    apart = codes.codes[0].astype(int) - bins.codes[encoder.names.index("sorted")]
    assert np.abs(apart).max() > 1


@pytest.mark.parametrize("max_bins", [2, 16, 255, 1000])
def test_up_to_65536_distinct_values_are_encoded_exactly(max_bins, tmp_path):
    path = write(tmp_path / "few.parquet", few_values(N))
    for indicators in (False, True):
        encoder, bins = Encoder.fit(path, max_bins, indicators)
        streamed, codes = Encoder.fit_parquet(path, max_bins, indicators)
        assert same_fields(encoder, streamed) == []
        assert same_fields(bins, codes) == []


@pytest.mark.parametrize("max_bins", [16, 255, 300])
def test_every_kind_of_column(max_bins, tmp_path):
    mixed_frame(83).to_parquet(tmp_path / "mixed.parquet", row_group_size=37)
    encoder, bins = Encoder.fit(tmp_path / "mixed.parquet", max_bins, True)
    streamed, codes = Encoder.fit_parquet(tmp_path / "mixed.parquet", max_bins, True)
    assert same_fields(encoder, streamed) == []
    assert same_fields(bins, codes) == []


def test_atoms_among_many_values(tmp_path):
    """A heavy value leaves bins empty, and what lies beyond it still has its rank to within a bin."""
    rng = np.random.default_rng(84)
    x = np.where(rng.random(N) < 0.4, 0.0, rng.normal(size=N))
    x = np.where(rng.random(N) < 0.1, 1.5, x)
    path = write(tmp_path / "atoms.parquet", {"x": x})
    (encoder, bins), (streamed, codes) = Encoder.fit(path), Encoder.fit_parquet(path)
    ordered = np.sort(x)
    at_once, cuts = (np.searchsorted(ordered, one.bin_edges(0)) for one in (encoder, streamed))
    # Matched by rank: either may have left out one bin more.
    assert abs(len(at_once) - len(cuts)) <= 2
    for one, other in ((cuts, at_once), (at_once, cuts)):
        assert np.abs(one[:, None] - other).min(axis=1).max() < N / MAX_BINS
    for value in (0.0, 1.5):
        np.testing.assert_array_equal(np.unique(x[codes.codes[0] == codes.codes[0][x == value][0]]), [value])
    ranks = [found.values_of(0)[found.codes[0]] for found in (bins, codes)]
    # A neighbouring bin is about a bin's rows away.
    assert np.abs(ranks[0] - ranks[1]).max() < 1.2 / MAX_BINS


def test_the_number_of_workers_changes_nothing(many, small_summaries, tmp_path):
    path, _, (encoder, bins) = many
    for workers in (1, 2, 5):
        again, codes = Encoder.fit_parquet(path, workers=workers, codes=tmp_path / f"{workers}.npy")
        assert same_fields(encoder, again) == []
        assert same_fields(bins, codes) == []
    np.testing.assert_array_equal(np.load(tmp_path / "5.npy"), bins.codes)


def test_results_are_taken_in_the_order_of_the_rows(many, small_summaries, monkeypatch):
    """Pieces that come late change nothing."""
    path, _, (encoder, _) = many
    summarise_piece = streamed_fit.summarise_piece

    def late(*arguments):
        time.sleep(0.2 if arguments[-1].start == 0 else 0.0)
        return summarise_piece(*arguments)

    monkeypatch.setattr(streamed_fit, "summarise_piece", late)
    again, _ = Encoder.fit_parquet(path, workers=3)
    assert same_fields(encoder, again) == []


def test_columns_are_read_a_few_at_a_time(many, small_summaries, monkeypatch):
    path, _, (encoder, bins) = many
    monkeypatch.setattr(streamed_fit, "VALUES_TOGETHER", 3 * SMALL)
    monkeypatch.setattr(streamed_fit, "FEATURES_TOGETHER", 2)
    read = []

    def listed(piece, names, batch_rows):
        read.append(tuple(names))
        return parquet_pieces.read_batches(piece, names, batch_rows)

    monkeypatch.setattr(streamed_fit, "read_batches", listed)
    again, codes = Encoder.fit_parquet(path)
    assert max(len(names) for names in read) == 3
    assert same_fields(encoder, again) == []
    assert same_fields(bins, codes) == []


def test_a_folder_is_one_table(tmp_path):
    frame = mixed_frame(85)
    frame.to_parquet(tmp_path / "whole.parquet")
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, rows in enumerate((slice(0, 150), slice(150, 160), slice(160, None))):
        frame[rows].to_parquet(folder / f"part-{i}.parquet", row_group_size=40)
    encoder, bins = Encoder.fit(tmp_path / "whole.parquet")
    streamed, codes = Encoder.fit_parquet(folder)
    assert same_fields(encoder, streamed) == []
    assert same_fields(bins, codes) == []


def test_files_of_a_folder_must_agree(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2]}).to_parquet(tmp_path / "1.parquet")
    pd.DataFrame({"a": [1.0, 2.0]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet' lacks 'b'"):
        Encoder.fit_parquet(tmp_path)
    pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2], "c": [1, 2]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet' also has 'c'"):
        Encoder.fit_parquet(tmp_path)
    pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"column 'b' has the type .*string in .*2\.parquet"):
        Encoder.fit_parquet(tmp_path)
    # Of a file in which a column is empty Parquet does not know what it would have held.
    pq.write_table(pa.table({"a": pa.nulls(3), "b": pa.nulls(3)}), tmp_path / "2.parquet")
    pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet(tmp_path / "1.parquet")
    encoder, bins = Encoder.fit_parquet(tmp_path)
    assert encoder.names == ("a", "b=y")
    np.testing.assert_array_equal(bins.codes, [[0, 1, 255, 255, 255]] * 2)


def raised(make):
    """Type and text of an error."""
    with pytest.raises((ValueError, TypeError)) as error:
        make()
    return type(error.value), str(error.value)


@pytest.mark.parametrize(
    "given",
    [
        {"x": np.where(np.arange(500) == 321, np.inf, np.arange(500.0))},
        {"x": np.where(np.arange(500) == 7, -np.inf, 1.0).astype(np.float32)},
        {"a": np.arange(500), "id": np.array([f"sample {i}" for i in range(500)])},
        {"a": np.arange(500), "spoilt": np.array(["?", *map(str, range(499))])},
        {"a": np.arange(500), "when": np.arange(500).astype("datetime64[D]")},
        {"a": np.arange(500), "list": pa.array([[i] for i in range(500)])},
        {"a": np.ones(500), "b": pa.nulls(500), "c": pa.array(["u"] * 500)},
        {"a": pa.array(["u", "v", "w", None] * 125), "a=v": np.arange(500)},
        {"a": np.array([1.0])},
    ],
    ids=["infinite", "minus infinite", "identifier", "spoilt", "date", "list", "constant", "names", "rows"],
)
def test_errors_are_those_of_the_encoder_in_memory(given, tmp_path):
    path = write(tmp_path / "x.parquet", given, row_group_size=100)
    assert raised(lambda: Encoder.fit_parquet(path)) == raised(lambda: Encoder.fit(path))


def test_dropped_columns_warn_once(tmp_path):
    path = write(tmp_path / "x.parquet", {"a": np.arange(50), "b": np.ones(50), "c": pa.nulls(50)}, 20)
    with pytest.warns(UserWarning, match="dropped 2 constant or empty") as caught:
        encoder, _ = Encoder.fit_parquet(path)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert encoder.dropped == ("b", "c")


def test_identifiers_are_refused_before_all_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("raytpnn.data.encoding.summary.MOST_TEXTS", 400)
    path = write(tmp_path / "x.parquet", {"id": np.array([f"row {i}" for i in range(50_000)])}, 10_000)
    with pytest.raises(ValueError, match=r"column 'id' is text with more than .* in 10000 rows"):
        Encoder.fit_parquet(path, workers=1)


@pytest.mark.parametrize("damage", ["truncated", "page", "not parquet", "absent"])
def test_damaged_files_are_named(damage, tmp_path):
    rng = np.random.default_rng(86)
    path = tmp_path / "harmed.parquet"
    table = pa.table({"x": rng.normal(size=5000), "y": rng.normal(size=5000)})
    pq.write_table(table, path, row_group_size=1000, write_page_checksum=True)
    raw = bytearray(path.read_bytes())
    if damage == "truncated":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "page":
        raw[len(raw) // 2] ^= 0xFF
        path.write_bytes(raw)
    elif damage == "not parquet":
        path.write_text("a,b\n1,2\n")
    else:
        path.unlink()
    with pytest.raises(FileNotFoundError if damage == "absent" else ValueError, match=r"harmed\.parquet"):
        Encoder.fit_parquet(path)


def test_a_file_that_changes_between_the_passes_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "x.parquet", {"x": np.arange(500.0)}, 100)
    assemble = streamed_fit.assemble

    def meanwhile(*arguments):
        write(path, {"x": np.arange(400.0)}, 100)
        return assemble(*arguments)

    monkeypatch.setattr(streamed_fit, "assemble", meanwhile)
    with pytest.raises(ValueError, match=r"x\.parquet"):
        Encoder.fit_parquet(path)


def test_streamed_tables_are_tables(tmp_path):
    frame = mixed_frame(87)
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=37)
    table = StreamedTable.open(tmp_path / "x.parquet")
    whole, bins = Encoder.fit(frame)
    assert table.n_rows == len(frame)
    codes = whole.transform(table)
    np.testing.assert_array_equal(codes, bins.codes)
    chosen = table.drop(["normal", "pair"])
    assert "normal" not in chosen.names
    np.testing.assert_array_equal(chosen.column(chosen.index("narrow")), frame["narrow"])
    np.testing.assert_array_equal(chosen.block([0, 1])[0], frame["narrow"])
    assert np.sum(whole.kind == NUMERIC) > 5


def test_ray_changes_nothing(cluster, many, small_summaries):
    path, _, (encoder, bins) = many
    again, codes = Encoder.fit_parquet(path, executor="ray")
    assert same_fields(encoder, again) == []
    assert same_fields(bins, codes) == []


def test_errors_come_back_from_ray(cluster, tmp_path):
    path = write(tmp_path / "x.parquet", {"x": np.where(np.arange(500) == 321, np.inf, 1.0)}, 100)
    with pytest.raises(ValueError, match="column 'x' is inf in row 321"):
        Encoder.fit_parquet(path)


def test_ray_must_be_connected(tmp_path, monkeypatch):
    path = write(tmp_path / "x.parquet", {"x": np.arange(500.0)})
    monkeypatch.setattr("raytpnn.parallel.ray_tasks.ray_is_connected", lambda: False)
    with pytest.raises(ValueError, match="needs a connection to Ray"):
        Encoder.fit_parquet(path, executor="ray")
    with pytest.raises(ValueError, match="unknown executor 'dask'"):
        Encoder.fit_parquet(path, executor="dask")


def test_what_a_node_does_not_see_is_done_here(monkeypatch):
    def unseen(reference):
        raise FileNotFoundError(f"no file {reference}")

    monkeypatch.setattr("raytpnn.parallel.ray_tasks.result_of", unseen)
    with pytest.warns(UserWarning, match="does not see the data"):
        assert piecework.result_or_run_here(str.upper, "task", "there") == "TASK"


def test_work_in_order_stops_at_the_first_error():
    done = []

    def work(task):
        done.append(task)
        if task == 3:
            raise ValueError("task 3")
        return task

    found = []
    with pytest.raises(ValueError, match="task 3"):
        found.extend(piecework.in_order(work, range(1000), "threads", 4))
    assert len(done) < 100
    results = piecework.in_order(work, [0, 1, 2], "threads", 2)
    assert list(results) == [0, 1, 2]
