"""The same content in different files gives the same results and messages."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.data.read import read
from rectitude.errors import (
    BadArgument,
    BadIds,
    BadTable,
    DuplicateItems,
    NotComparable,
    UnknownName,
    UnreadableFile,
)

LISTS = pl.DataFrame({"user": [1, 1, 2, 3], "item": [1, 2, 3, 1], "score": [2.0, 1.0, 1.0, 1.0]})
TRUTH = pl.DataFrame({"user": [1, 1, 2, 3], "item": [1, 2, 3, 1], "rating": [1, 1, 1, 1]})
OTHER = TRUTH.with_columns(item=pl.Series([4, 2, 5, 2]))


def truth_in(kind: str, folder: Path, frame: pl.DataFrame) -> Path:
    path = folder / f"{kind}.{'parquet' if kind == 'parquet' else 'csv'}"
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "noted":
        frame.with_columns(note=pl.lit('"x"')).write_csv(path)
    else:
        frame.write_csv(path, quote_style="always" if kind == "quoted" else "necessary")
    return path


@pytest.mark.parametrize("kind", ["quoted", "noted", "parquet"])
def test_the_fingerprint_of_a_truth_does_not_depend_on_the_type_of_its_ids(
    kind: str, tmp_path: Path
) -> None:
    plain = rt.evaluate(LISTS, truth_in("plain", tmp_path, TRUTH), ["mrr"])
    other = rt.evaluate(LISTS, truth_in(kind, tmp_path, TRUTH), ["mrr"])
    prints = {
        evaluation.manifest["inputs"]["truth"]["fingerprint"] for evaluation in (plain, other)
    }
    assert len(prints) == 1
    rt.compare({"a": plain, "b": other})


@pytest.mark.parametrize("kind", ["quoted", "noted", "parquet"])
def test_a_different_truth_is_noticed_for_any_type_of_ids(kind: str, tmp_path: Path) -> None:
    plain = rt.evaluate(LISTS, truth_in("plain", tmp_path, TRUTH), ["mrr"])
    other = rt.evaluate(LISTS, truth_in(kind, tmp_path, OTHER), ["mrr"])
    with pytest.raises(NotComparable, match="different truths"):
        rt.compare({"a": plain, "b": other})


def test_users_of_different_widths_are_compared() -> None:
    narrow, truth = (frame.with_columns(pl.col("user").cast(pl.Int32)) for frame in (LISTS, TRUTH))
    comparison = rt.compare(
        {"a": rt.evaluate(narrow, truth, ["mrr"]), "b": rt.evaluate(LISTS, TRUTH, ["mrr"])}
    )
    assert "b" in str(comparison)


def test_users_of_different_types_are_refused_with_advice() -> None:
    text = [frame.with_columns(pl.col("user").cast(pl.String)) for frame in (LISTS, TRUTH)]
    with pytest.raises(BadIds, match="all ids as text, or use Parquet"):
        rt.compare({"a": rt.evaluate(LISTS, TRUTH, ["mrr"]), "b": rt.evaluate(*text, ["mrr"])})


@pytest.mark.parametrize("what", ["predictions", "truth", "train", "weights", "candidates", "log"])
def test_a_single_column_without_a_name_is_too_few(what: Any, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("1\n2\n")
    with pytest.raises(BadTable, match="has no column names and only 1 columns"):
        read(tmp_path / "one.csv", what)


def test_unknown_arguments_are_refused() -> None:
    wrong: Any = {"tarin": TRUTH}
    for call in (
        lambda: rt.explain(LISTS, TRUTH, "ndcg@2", "default", "rectools", **wrong),
        lambda: rt.identify(LISTS, TRUTH, "ndcg@2", "0.5", **wrong),
    ):
        with pytest.raises(UnknownName, match="train"):
            call()


def test_the_first_of_many_items_is_the_first_of_the_file(tmp_path: Path) -> None:
    names = [f"i{number}" for number in range(200)]
    (tmp_path / "items.csv").write_text("\n".join(["item", *names]) + "\n")
    for _ in range(3):
        with pytest.raises(BadIds, match="first: 'i0'"):
            rt.evaluate(LISTS, TRUTH, ["mrr"], items=tmp_path / "items.csv")


def test_carriage_returns_alone_do_not_end_lines(tmp_path: Path) -> None:
    (tmp_path / "mac.csv").write_bytes(b"user,item\r1,2\r3,4\r")
    with pytest.raises(UnreadableFile, match="only a carriage return"):
        read(tmp_path / "mac.csv", "truth")
    (tmp_path / "odd.csv").write_bytes(b"0,1\r,1e3,1\n\n")
    with pytest.raises(BadTable, match="line 1 cannot be split"):
        read(tmp_path / "odd.csv", "truth")


@pytest.mark.parametrize(
    ("members", "message"),
    [(["../a.csv"], "unsafe path"), ([], "holds 0 files"), (["a.csv", "b.csv"], "holds 2 files")],
)
def test_the_error_for_an_archive_says_why_it_is_not_read(
    members: list[str], message: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        for member in members:
            archive.writestr(member, "user,item\n1,2\n")
    with pytest.raises(UnreadableFile, match=message):
        read(tmp_path / "some.zip", "truth")


def test_pieces_of_a_table_must_have_the_same_columns(tmp_path: Path) -> None:
    folder = tmp_path / "log.parquet"
    folder.mkdir()
    TRUTH.write_parquet(folder / "part-0.parquet")
    TRUTH.with_columns(pl.col("item").cast(pl.String)).write_parquet(folder / "part-1.parquet")
    with pytest.raises(UnreadableFile, match=r"2 pieces .* have different columns"):
        read(folder, "truth")


def test_a_missing_validation_part_is_refused_with_advice() -> None:
    with pytest.raises(BadArgument, match="'how': 'leave_last'"):
        rt.split(TRUTH, "leave_last", validation=2)


def test_separators_in_quotes_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_text('"a\tb",x,1\n"c,d",y,2\n')
    table = read(path, "truth", form="headerless")
    assert table.frame.rows() == [("a\tb", "x", 1.0), ("c,d", "y", 2.0)]


def test_lists_of_several_models_in_one_table_are_detected_by_their_column() -> None:
    lists = pl.concat([LISTS.with_columns(model=pl.lit(name)) for name in ("a", "b")])
    with pytest.raises(DuplicateItems, match="if the column 'model' separates several runs"):
        rt.evaluate(lists, TRUTH, ["mrr"])
    with pytest.raises(DuplicateItems) as caught:
        rt.evaluate(lists.rename({"model": "colour"}), TRUTH, ["mrr"])
    assert "colour" not in str(caught.value)
