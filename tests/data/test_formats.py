"""Every format: how it is detected, what is read, and how to override the detection."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix, save_npz

import rectitude as rt
from rectitude.data.formats.registry import ALIASES, FORMATS
from rectitude.data.read import read
from rectitude.data.table import Table, What
from rectitude.errors import BadTable, UnknownName

Writer = Callable[[str, str | bytes], Path]

INTER = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
TEXTS: list[tuple[str, str, str, What, list[tuple[object, ...]]]] = [
    ("recbole", "ml.inter", INTER + "1\t7\t4\t978300760\n", "truth", [(1, 7, 4.0)]),
    ("recbole", "ml.test.inter", INTER + "1\t7\t4\t9\n", "truth", [(1, 7, 4.0)]),
    ("tsv", "test.tsv", "1\t7\t4\t9\n2\t8\t3\t9\n", "truth", [(1, 7, 4.0), (2, 8, 3.0)]),
    (
        "tsv",
        "a_it=1.tsv",
        "1\t7\t0.5\n1\t8\t0.25\n",
        "predictions",
        [(1, 7, 0.5), (1, 8, 0.25)],
    ),
    ("tsv", "warp.tsv", "user_id\titem_id\trating\n1\t7\t0.5\n", "predictions", [(1, 7, 0.5)]),
    ("csv", "ms.csv", "userID,itemID,prediction\n1,7,0.5\n", "predictions", [(1, 7, 0.5)]),
    ("csv", "replay.csv", "query_id,item_id,rating\n1,7,0.5\n", "predictions", [(1, 7, 0.5)]),
    ("recpack", "rp.csv", "iid,uid,interactionid,ts\n7,1,0,99\n", "log", [(1, 7, 99)]),
    (
        "movielens",
        "ratings.dat",
        "1::7::5::978\n1::8::3::979\n",
        "truth",
        [(1, 7, 5.0), (1, 8, 3.0)],
    ),
    (
        "ncf",
        "ml.test.negative",
        "(0,25)\t10\t11\t10\n(1,3)\t4\n",
        "candidates",
        [("0", "25"), ("0", "10"), ("0", "11"), ("0", "10"), ("1", "3"), ("1", "4")],
    ),
    ("ncf", "ml.test.negative", "(0,25)\t10\t11\n(1,3)\n", "truth", [("0", "25"), ("1", "3")]),
    ("tsv", "ml.test.rating", "0\t25\t5\t978824351\n", "truth", [(0, 25, 5.0)]),
    ("adjacency", "train.txt", "0 5 6\n1\n2 7\n", "truth", [("0", "5"), ("0", "6"), ("2", "7")]),
    (
        "adjacency",
        "recs.txt",
        "0 5 6\n1\n2 7\n",
        "predictions",
        [("0", "5"), ("0", "6"), ("2", "7")],
    ),
    (
        "letor",
        "test.txt",
        "# two queries\n2 qid:1 1:0.3 2:0.1 # d7\n\n0 qid:1 #docid = d8 inc = 1\n1 qid:2 # d7\n",
        "truth",
        [("1", "d7", 2.0), ("1", "d8", 0.0), ("2", "d7", 1.0)],
    ),
    (
        "letor",
        "test.txt",
        "2 qid:b 1:0.3 # d7\n0 qid:b 1:0.2\n1 qid:a 1:0.1\n",
        "truth",
        [("b", "0", 2.0), ("b", "1", 0.0), ("a", "0", 1.0)],
    ),
    (
        "letor",
        "scored.txt",
        "0.5 2 qid:b 1:0.3\n-1e-3 qid:b\n",
        "predictions",
        [("b", "0", 0.5), ("b", "1", -0.001)],
    ),
    ("sets", "test.txt", "3 4\t9 8 \n5\t7\n", "truth", [("0", "9"), ("0", "8"), ("1", "7")]),
    (
        "json",
        "run.json",
        '{"q1": {"a": 0.5, "b": 0.25}}',
        "predictions",
        [("q1", "a", 0.5), ("q1", "b", 0.25)],
    ),
    ("json", "lists.json", '{"1": [7, 8]}', "predictions", [(1, 7), (1, 8)]),
    ("json", "rows.json", '[{"user": 1, "item": 7}]', "truth", [(1, 7)]),
    (
        "jsonl",
        "r.jsonl",
        '{"user": 1, "item": "a", "score": 2}\n\n{"user": 2, "item": "b", "score": 1.5}\n',
        "predictions",
        [(1, "a", 2.0), (2, "b", 1.5)],
    ),
    (
        "jsonl",
        "r.txt",
        '{"user": 1, "items": [7, 8]}\n{"user": 2, "items": []}\n',
        "predictions",
        [(1, 7), (1, 8)],
    ),
    ("trec", "x.txt", "q1 Q0 d1 1 0.5 t\n", "predictions", [("q1", "d1", 0.5, 1)]),
    ("trec", "qrels.txt", "q1 0 d1 2\n", "truth", [("q1", "d1", 2.0)]),
]


def name_of(table: Table) -> str:
    return table.recognised.partition(" ")[0]


@pytest.mark.parametrize(("form", "name", "text", "what", "rows"), TEXTS)
def test_text_formats_are_detected_by_content(
    write: Writer, form: str, name: str, text: str, what: What, rows: list[tuple[object, ...]]
) -> None:
    table = read(write(name, text), what)
    assert name_of(table) == form
    assert table.frame.rows() == rows
    assert table.recognised.endswith(")")


@pytest.mark.parametrize(("form", "name", "text", "what", "rows"), TEXTS)
def test_a_named_format_reads_the_same_as_a_detected_one(
    write: Writer, form: str, name: str, text: str, what: What, rows: list[tuple[object, ...]]
) -> None:
    table = read(write("other.bin", text), what, form=form)
    assert table.frame.rows() == rows
    assert "as requested" in table.recognised


def test_empty_lists_are_kept(write: Writer, tmp_path: Path) -> None:
    lines = read(write("recs.txt", "0 5 6\n1\n2 7\n"), "predictions")
    assert lines.handed is not None
    assert lines.handed.to_list() == ["0", "1", "2"]
    assert lines.given
    ranx = read(write("r.json", '{"a": {"x": 1.0}, "b": {}}'), "predictions")
    assert ranx.handed is not None
    assert ranx.handed.to_list() == ["a", "b"]
    objects = read(
        write("r.jsonl", '{"user": 1, "items": [7]}\n{"user": 2, "items": []}\n'), "predictions"
    )
    assert objects.handed is not None
    assert objects.handed.to_list() == [1, 2]


def test_native_lenskit_files_are_detected_and_keep_empty_lists(tmp_path: Path) -> None:
    items = [[{"item_id": 7, "score": 0.5}, {"item_id": 8, "score": 0.25}], []]
    pl.DataFrame({"user_id": [1, 2], "items": items}).write_parquet(tmp_path / "recs.parquet")
    table = read(tmp_path / "recs.parquet", "predictions")
    assert name_of(table) == "lenskit"
    assert table.frame.rows() == [(1, 7, 0.5), (1, 8, 0.25)]
    assert table.handed is not None
    assert table.handed.to_list() == [1, 2]


def test_arrow_files_and_streams_are_read_with_their_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1], "item": ["007"], "score": [0.5]})
    frame.write_ipc(tmp_path / "file.arrow")
    frame.write_ipc_stream(tmp_path / "stream")
    for name in ("file.arrow", "stream"):
        table = read(tmp_path / name, "predictions")
        assert name_of(table) == "arrow"
        assert table.frame.rows() == [(1, "007", 0.5)]


def test_a_sparse_matrix_is_read_by_rows_and_columns(tmp_path: Path) -> None:
    save_npz(tmp_path / "m.npz", csr_matrix(np.array([[0, 0.5], [0, 0], [2.0, 0]])))
    table = read(tmp_path / "m.npz", "predictions")
    assert name_of(table) == "csr"
    assert table.frame.rows() == [(0, 1, 0.5), (2, 0, 2.0)]
    assert table.handed is not None
    assert table.handed.to_list() == [0, 1, 2]
    assert read(tmp_path / "m.npz", "log").columns.keys() == {"list", "item", "grade"}
    assert read(tmp_path / "m.npz", "candidates").frame.rows() == [(0, 1), (2, 0)]


def test_rows_of_ids_are_lists_padded_with_negative_ids(tmp_path: Path) -> None:
    np.save(tmp_path / "top.npy", np.array([[7, 8], [9, -1]]))
    table = read(tmp_path / "top.npy", "predictions")
    assert name_of(table) == "daisyrec"
    assert table.frame.rows() == [(0, 7), (0, 8), (1, 9)]
    assert table.given
    assert "1 negative ids" in table.recognised
    np.savez(
        tmp_path / "top.npz",
        users=np.array(["u", "v"]),
        ids=np.array([[7, 8], [9, -1]]),
        scores=np.array([[0.5, 0.25], [1.0, -1e38]]),
    )
    scored = read(tmp_path / "top.npz", "predictions")
    assert scored.frame.rows() == [("u", 7, 0.5), ("u", 8, 0.25), ("v", 9, 1.0)]
    assert not scored.given


def test_a_recpack_properties_file_leads_to_its_table(write: Writer) -> None:
    write("p.csv", "iid,uid,interactionid,ts\n7,1,0,99\n")
    path = write("p_properties.yaml", "num_users: 2\nnum_items: 8\nhas_timestamps: true\n")
    table = read(path, "log")
    assert table.frame.rows() == [(1, 7, 99)]
    assert "num_users 2" in table.recognised


def test_the_wrappers_take_a_format(write: Writer) -> None:
    path = write("pairs.tsv", "ann\ttea\nbob\tjam\n")  # looks like a header and one row
    table = read(rt.Interactions(path, format="elliot"), "truth")
    assert table.frame.rows() == [("ann", "tea"), ("bob", "jam")]
    lists = rt.Lists(write("l.tsv", "ann\ttea\t2\n"), format="headerless")
    assert read(lists, "predictions").frame.rows() == [("ann", "tea", 2.0)]


@pytest.mark.parametrize(
    ("form", "text", "key", "what", "rows"),
    [
        ("sessions", "s1\ta\t9\ns1\tb\t8\n", "session", "truth", [("s1", "a"), ("s1", "b")]),
        ("sessions", "s1\ta\t9\n", "user", "log", [("s1", "a", 9)]),
        ("baskets", "u\tb1\ta\t9\n", "basket", "truth", [("b1", "u", "a")]),
        ("baskets", "u\tb1\ta\t9\n", "user", "log", [("u", "a", 9)]),
        ("baskets", "u\tb1\ta\n", "user", "truth", [("u", "a")]),
        ("cornac", "u\ta\t4\t9\n", "user", "log", [("u", "a", 4.0, 9)]),
    ],
)
def test_columns_of_sessions_and_baskets_are_read_by_position(
    write: Writer, form: str, text: str, key: str, what: What, rows: list[tuple[object, ...]]
) -> None:
    table = read(write("x.tsv", text), what, form=form, list_key=key)
    assert table.frame.rows() == rows


def test_a_named_format_decides_the_roles_of_its_columns(write: Writer) -> None:
    text = "user_id,item_id,score,rating\n1,7,0.5,3\n"
    assert read(write("a.csv", text), "predictions").columns["score"] == "score"
    named = read(write("a.csv", text), "predictions", form="warprec")
    assert named.columns["score"] == "rating"
    assert named.frame.rows() == [(1, 7, 3.0)]


def test_a_named_format_whose_columns_are_missing_is_an_error(write: Writer) -> None:
    with pytest.raises(BadTable, match=r"has the columns 'user', 'item'") as caught:
        read(write("a.csv", "user,item\n1,2\n"), "predictions", form="microsoft")
    assert "userID, itemID, prediction" in str(caught.value)
    with pytest.raises(BadTable, match="has the header"):
        read(write("a.inter", "user\titem\n1\t2\n"), "truth", form="recbole")


def test_an_unknown_format_names_the_nearest(write: Writer) -> None:
    with pytest.raises(UnknownName, match="no format 'recbol'") as caught:
        read(write("a.csv", "user,item\n1,2\n"), "truth", form="recbol")
    assert "'recbole'" in str(caught.value)


def test_the_name_of_a_library_stands_for_its_format(write: Writer) -> None:
    table = read(write("run", '{"q1": {"a": 0.5}}'), "predictions", form="ranx")
    assert table.frame.rows() == [("q1", "a", 0.5)]
    assert set(ALIASES.values()) <= set(FORMATS)


def test_only_files_have_a_format() -> None:
    with pytest.raises(BadTable, match="format='csv' is given, but truth is of type dict"):
        read(rt.Interactions({"u": ["a"]}, format="csv"), "truth")


def test_lines_of_equal_length_are_rows_and_not_adjacency_lists(write: Writer) -> None:
    table = read(write("r.txt", "1 7 5\n1 8 3\n"), "truth")
    assert table.frame.rows() == [(1, 7, 5.0), (1, 8, 3.0)]


def test_a_broken_row_does_not_turn_rows_into_adjacency_lists(write: Writer) -> None:
    with pytest.raises(BadTable, match="line 3 has 2 fields"):
        read(write("r.txt", "1 7 5\n1 8 3\n2 9\n"), "truth")


def test_pages_name_every_format() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text("utf-8")
    assert [name for name in [*FORMATS, *ALIASES] if f"`{name}`" not in page] == []


def test_json_keys_become_numbers_if_items_are_numbers(write: Writer) -> None:
    path = write("r.json", json.dumps({1: [7, 8], 2: [9]}))
    table = read(path, "predictions")
    assert table.frame["list"].to_list() == [1, 1, 2]
    assert (
        rt.evaluate(path, pl.DataFrame({"user": [1, 2], "item": [7, 9]}), ["hit@1"])["hit@1"] == 1
    )
