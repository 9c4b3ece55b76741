"""What is written in a format is read back: rows, ids, numbers, and empty lists if it keeps any."""

from __future__ import annotations

import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rectitude as rt
from rectitude.data.formats.convert import convert
from rectitude.data.formats.file import FileContent, Kind
from rectitude.data.formats.fit import fit
from rectitude.data.formats.registry import FORMATS
from rectitude.data.read import read
from rectitude.data.table import Table, What
from rectitude.errors import BadIds, UnwritableFile
from rectitude.storage import write_all

ENDINGS = {
    "lenskit": ".parquet",
    "parquet": ".parquet",
    "arrow": ".arrow",
    "csr": ".npz",
    "daisyrec": ".npz",
    "jsonl": ".jsonl",
    "json": ".json",
    "cbor": ".lz4",
    "trec": ".trec",
    "recpack": ".csv",
    "ncf": ".negative",
    "movielens": ".dat",
    "adjacency": ".txt",
    "recbole": ".inter",
    "tsv": ".tsv",
    "csv": ".csv",
    "headerless": ".tsv",
    "sessions": ".tsv",
    "elliot": ".tsv",
    "warprec": ".tsv",
    "lenskit_flat": ".parquet",
    "rectools": ".csv",
    "replay": ".parquet",
    "microsoft": ".csv",
}
NAMED = {
    "headerless",
    "sessions",
    "elliot",
    "warprec",
    "lenskit_flat",
    "rectools",
    "replay",
    "microsoft",
}
NUMBERS_ONLY = {"csr", "daisyrec", "recpack"}
TYPED = {"lenskit", "parquet", "arrow", "jsonl", "lenskit_flat", "replay"}
ORDERED = [
    name for name, form in FORMATS.items() if form.order == "kept" and "predictions" in form.holds
]
CASES = [(name, kind) for name, form in FORMATS.items() for kind in form.holds]
PACKED = [
    (name, end)
    for name in ("csv", "tsv", "trec", "json", "jsonl", "recbole", "adjacency")
    for end in (".gz", ".bz2", ".xz", ".zst", ".zip")
]

positions = st.integers(0, 300)
signed = st.integers(-(2**63), 2**63 - 1)
plain = st.text("abcXYZ019_-./é", min_size=1, max_size=5).filter(lambda word: word[0] != "#")
wild = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=5,
).filter(lambda word: word == word.strip())
scores = st.floats(allow_nan=False, allow_infinity=False, width=64)
grades = st.integers(0, 5).map(float)
times = st.integers(0, 2**40)
TEXTUAL = {
    "csv": wild,
    "parquet": wild,
    "arrow": wild,
    "jsonl": wild,
    "lenskit": wild,
    "json": wild,
    "cbor": wild,
}


@st.composite
def contents(draw: st.DrawFn, name: str, kind: Kind, ids: str) -> FileContent:
    """Generate distinct pairs, grouped by list, and one or two empty lists."""
    key = {"integer": positions, "signed": signed}.get(ids, TEXTUAL.get(name, plain))
    lists = draw(
        st.dictionaries(key, st.lists(key, unique=True, max_size=4), min_size=1, max_size=5)
    )
    rows: list[dict[str, Any]] = []
    for user, items in lists.items():
        for place, item in enumerate(items, 1):
            rows.append(
                {
                    "list": user,
                    "item": item,
                    "rank": place,
                    "score": draw(scores),
                    "grade": draw(grades),
                    "timestamp": draw(times),
                }
            )
    columns = {
        "predictions": draw(st.sampled_from([["score"], ["rank"], ["score", "rank"], []])),
        "truth": draw(st.sampled_from([["grade", "timestamp"], ["grade"], []])),
        "candidates": [],
    }[kind]
    dtype = pl.String if ids == "text" else pl.Int64
    schema = {
        "list": dtype,
        "item": dtype,
        "score": pl.Float64,
        "rank": pl.Int64,
        "grade": pl.Float64,
        "timestamp": pl.Int64,
    }
    frame = pl.DataFrame(rows, schema=schema).select("list", "item", *columns)
    handed = pl.Series("list", list(lists), dtype=dtype) if kind == "predictions" else None
    return FileContent(kind, frame, handed)


def write_and_read(
    content: FileContent, name: str, ending: str, form: str
) -> tuple[FileContent, Table]:
    """Return what was written, and what is read back."""
    fitted = fit(content, FORMATS[name])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{ending}"
        write = FORMATS[name].write
        assert write is not None
        write_all(dict(write(fitted.content, path)))
        what: What = "log" if content.kind == "truth" else content.kind
        return fitted.content, read(path, what, form=form)


def as_text(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """Return rows sorted by list and item, with ids as text and numbers as numbers."""
    rows = frame.with_columns(pl.col("list", "item").cast(pl.String))
    if "timestamp" in rows.columns:
        rows = rows.with_columns(pl.col("timestamp").cast(pl.Float64))
    return sorted(rows.rows())


@pytest.mark.usefixtures("lz4")
@pytest.mark.parametrize("ids", ["integer", "signed", "text"])
@pytest.mark.parametrize(("name", "kind"), CASES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_written_is_read_back(data: st.DataObject, name: str, kind: Kind, ids: str) -> None:
    if ids != "integer" and name in NUMBERS_ONLY:
        ids = "integer"
    content = data.draw(contents(name, kind, ids))
    if not content.frame.height:
        return
    written, table = write_and_read(content, name, ENDINGS[name], name)
    shared = [role for role in written.frame.columns if role in table.frame.columns]
    assert shared == written.frame.columns
    assert as_text(table.frame.select(shared)) == as_text(written.frame)
    if name in TYPED:
        assert table.frame["item"].dtype == content.frame["item"].dtype
    if FORMATS[name].empty == "kept" and written.list_keys is not None:
        assert table.handed is not None
        keys = {str(key) for key in table.handed}
        assert {str(key) for key in written.list_keys} <= keys
        assert name == "csr" or len(keys) == written.list_keys.n_unique()


@pytest.mark.usefixtures("lz4")
@pytest.mark.parametrize("name", [n for n in ENDINGS if n not in NAMED and n != "adjacency"])
def test_what_is_written_is_detected(name: str) -> None:
    kind = next(iter(FORMATS[name].holds))
    frame = pl.DataFrame({"list": [1, 1, 2], "item": [7, 8, 7]})
    extra = {
        "predictions": pl.Series("score", [0.5, 0.25, 1.0]),
        "truth": pl.Series("grade", [1.0, 2.0, 1.0]),
    }
    content = FileContent(kind, frame.with_columns(*[extra[kind]] if kind in extra else []))
    written, table = write_and_read(content, name, ENDINGS[name], "")
    assert table.recognised.startswith(f"{name} (")
    assert as_text(table.frame.select(written.frame.columns)) == as_text(written.frame)


@pytest.mark.parametrize("name", ORDERED)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_formats_of_lists_keep_their_order(data: st.DataObject, name: str) -> None:
    content = data.draw(contents(name, "predictions", "integer"))
    if not content.frame.height:
        return
    _, table = write_and_read(content, name, ENDINGS[name], name)
    by = "rank" if "rank" in content.frame.columns else "score"
    if by in content.frame.columns and by not in table.frame.columns:
        expected = content.frame.sort(by, descending=by == "score", maintain_order=True)
    else:
        expected = content.frame
    for key in content.frame["list"].unique():
        written_items = expected.filter(pl.col("list") == key)["item"].cast(pl.String).to_list()
        read_items = table.frame.filter(pl.col("list").cast(pl.String) == str(key))["item"]
        assert read_items.cast(pl.String).to_list() == written_items


@pytest.mark.parametrize(("name", "packing"), PACKED)
def test_compressed_text_is_written_and_read(name: str, packing: str) -> None:
    if packing == ".zst":
        pytest.importorskip("zstandard")
    frame = pl.DataFrame({"list": [1, 1, 2], "item": [7, 8, 7], "score": [0.5, 0.25, 1.0]})
    written, table = write_and_read(
        FileContent("predictions", frame), name, ENDINGS[name] + packing, ""
    )
    shared = written.frame.columns
    assert as_text(table.frame.select(shared)) == as_text(written.frame)


@pytest.mark.parametrize("ending", [".parquet.gz", ".arrow.zip", ".npz.gz", ".npy.bz2"])
def test_binary_files_are_not_compressed_again(ending: str, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("user,item,score\n0,7,1\n")
    with pytest.raises(UnwritableFile, match="would be"):
        convert(source, tmp_path / f"b{ending}")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


TYPES = {
    "unsigned": pl.Series([2**64 - 1, 3], dtype=pl.UInt64),
    "negative": pl.Series([-(2**63), 3]),
    "small": pl.Series([-5, 3], dtype=pl.Int8),
    "flags": pl.Series([True, False]),
    "dates": pl.Series([date(2020, 1, 1), date(2021, 1, 1)]),
    "text like numbers": pl.Series(["007", "7"]),
    "uuid": pl.Series([f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2)]),
}


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("name", TYPES)
def test_ids_keep_their_type_in_typed_files(name: str, ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": TYPES[name], "item": TYPES[name], "rating": [1.0, 2.0]})
    frame.write_parquet(tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / f"b{ending}")
    table = read(tmp_path / f"b{ending}", "truth")
    assert table.frame["item"].dtype == TYPES[name].dtype
    assert table.frame["item"].to_list() == TYPES[name].to_list()


@pytest.mark.parametrize("name", ["unsigned", "negative", "small", "text like numbers", "uuid"])
def test_ids_in_text_are_read_back(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": TYPES[name], "item": TYPES[name], "score": [1.0, 2.0]})
    frame.write_parquet(tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.csv")
    evaluation = rt.evaluate(tmp_path / "b.csv", frame.select("user", "item"), "hit@1")
    assert evaluation["hit@1"] == 1.0


@pytest.mark.parametrize("ids", [[b"a", b"b"], [timedelta(1), timedelta(2)], [{"a": 1}, {"a": 2}]])
def test_ids_that_text_cannot_store_are_refused(ids: list[Any], tmp_path: Path) -> None:
    pl.DataFrame({"user": ids, "item": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    for name in ("b.csv", "b.jsonl"):
        with pytest.raises(BadIds, match="ids are of type"):
            convert(tmp_path / "a.parquet", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_upper_case_in_a_compressed_ending_selects_the_same_format(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("user,item,score\n1,2,0.5\n")
    written = convert(source, tmp_path / "B.JSONL.gz").written
    assert (written, read(tmp_path / "B.JSONL.gz", "predictions").frame.rows()) == (
        "jsonl",
        [(1, 2, 0.5)],
    )


def test_equal_content_makes_equal_compressed_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"list": [1], "item": [7]})
    for name in ("a.csv.gz", "b.csv.gz"):
        form = FORMATS["csv"]
        assert form.write is not None
        write_all(dict(form.write(FileContent("truth", frame), tmp_path / name)))
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
