"""Damaged or dangerous files, files in a wrong format, and content that a format cannot store."""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix, save_npz

from rectitude.data.formats.convert import convert
from rectitude.data.read import read
from rectitude.errors import (
    BadGrades,
    BadIds,
    BadTable,
    DuplicateItems,
    MissingExtra,
    RectitudeError,
    UnreadableFile,
    UnwritableFile,
)

Writer = Callable[[str, str | bytes], Path]


class Trap:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


# damaged


@pytest.mark.parametrize("keep", [30, -20])
def test_truncated_arrow_is_noticed(write: Writer, tmp_path: Path, keep: int) -> None:
    pl.DataFrame({"user": range(1000), "item": range(1000)}).write_ipc(tmp_path / "t.arrow")
    whole = (tmp_path / "t.arrow").read_bytes()
    with pytest.raises(UnreadableFile, match="truncated or damaged"):
        read(write("cut.arrow", whole[:keep]), "truth")


def test_a_truncated_matrix_is_noticed(write: Writer, tmp_path: Path) -> None:
    save_npz(tmp_path / "m.npz", csr_matrix(np.eye(50)))
    whole = (tmp_path / "m.npz").read_bytes()
    with pytest.raises(UnreadableFile, match="truncated or damaged"):
        read(write("cut.npz", whole[:-40]), "truth")


@pytest.mark.parametrize(
    ("line", "message"),
    [('{"user": 1, "item"', "line 3 is not a JSON object"), ("[1, 2]", "it is another JSON value")],
)
def test_a_wrong_line_of_json_is_named(write: Writer, line: str, message: str) -> None:
    text = '{"user": 1, "item": 2}\n\n' + line + "\n"
    with pytest.raises(UnreadableFile, match=r"r\.jsonl, line 3") as caught:
        read(write("r.jsonl", text), "truth")
    assert message in str(caught.value)
    with pytest.raises(UnreadableFile, match=r"r\.jsonl\.gz, line 3"):
        read(write("r.jsonl.gz", gzip.compress(text.encode())), "truth")


def test_ids_of_two_types_are_not_merged(write: Writer) -> None:
    text = '{"user": "1", "item": "a"}\n{"user": 1, "item": "b"}\n'
    with pytest.raises(BadIds, match="'user' is the number 1 on line 2, but text elsewhere"):
        read(write("r.jsonl", text), "truth")


def test_a_repeated_key_is_not_lost_silently(write: Writer) -> None:
    with pytest.raises(BadTable, match="the key 'q1' appears twice"):
        read(write("r.json", '{"q1": {"a": 1.0}, "q1": {"b": 2.0}}'), "predictions")


@pytest.mark.parametrize(
    ("name", "form", "text", "message"),
    [
        ("a.negative", "ncf", "(0,1)\t2\n0,1\t3\n", "line 2 does not begin with"),
        ("a.txt", "sets", "1 2\t3\n4\n", "line 2 has 1 fields"),
        ("a.txt", "letor", "1 qid:1 1:2\n\nx qid:1\n", "line 3 is not a row of a query"),
        ("a.txt", "letor", "1 qid:1 1:2\n1 qid:1 oops\n", "line 2 is not a row of a query"),
        ("a.txt", "letor", "1 qid:1\n0.5 1 qid:1\n", "line 2 is not a row of a query"),
        ("a.dat", "movielens", "1::2::3::4\n1::2\n", "line 2 has 2 fields"),
        ("a.inter", "recbole", "user_id:token\titem_id:token\n1\t2\t3\n", "line 2 has 3 fields"),
    ],
)
def test_a_line_that_breaks_its_format_is_named(
    write: Writer, name: str, form: str, text: str, message: str
) -> None:
    with pytest.raises(BadTable, match=message):
        read(write(name, text), "truth", form=form)


def test_svmlight_without_rows_or_utf8_is_refused(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match="has no rows"):
        read(write("a.txt", "# nothing\n"), "truth", form="letor")
    with pytest.raises(UnreadableFile, match=r"is not UTF-8 \(line 2\)"):
        read(write("b.txt", b"1 qid:1\n1 qid:\xe9\n"), "truth", form="letor")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (None, "no row names its query .*no file next to it"),
        ("2\n2\n", "add up to 4, but a.txt has 3 rows"),
        ("2\nx\n", "a.txt.query, line 2 is not the size of a query: 'x'"),
        ("-1\n4\n", "line 1 is not the size"),
    ],
)
def test_rows_without_queries_need_sizes_that_fit(
    write: Writer, sizes: str | None, message: str
) -> None:
    if sizes is not None:
        write("a.txt.query", sizes)
    with pytest.raises(BadTable, match=message):
        read(write("a.txt", "1 1:2\n0 1:3\n2 1:1\n"), "truth", form="letor")


def test_queries_are_named_in_all_rows_or_in_none(write: Writer) -> None:
    write("a.txt.query", "2\n")
    with pytest.raises(BadTable, match=r"1 of 2 rows name no query \(first: line 2\)"):
        read(write("a.txt", "1 qid:1 1:2\n0 1:3\n"), "truth", form="letor")


@pytest.mark.parametrize("form", ["adjacency", "ncf", "sets", "json"])
def test_lines_that_are_not_utf8_are_named(write: Writer, form: str) -> None:
    with pytest.raises(UnreadableFile, match=r"is not UTF-8 .*byte 4"):
        read(write("a.txt", b"1 2\n\xe9 3\n"), "truth", form=form)


def test_properties_that_contradict_their_table_are_an_error(write: Writer) -> None:
    write("p_properties.yaml", "num_users: 2\nnum_items: 8\nhas_timestamps: true\n")
    with pytest.raises(BadTable, match="its properties say has_timestamps"):
        read(write("p.csv", "iid,uid,interactionid\n7,1,0\n"), "log")


# dangerous


def test_objects_in_arrays_are_never_loaded(tmp_path: Path) -> None:
    bad = np.array([[Trap(tmp_path / "sprung")]], dtype=object)
    np.save(tmp_path / "bad.npy", bad, allow_pickle=True)
    np.savez(tmp_path / "bad.npz", ids=bad)
    np.savez(tmp_path / "csr.npz", data=bad, shape=bad, indices=bad, indptr=bad, format=b"csr")
    for name in ("bad.npy", "bad.npz", "csr.npz"):
        with pytest.raises(UnreadableFile):
            read(tmp_path / name, "predictions")
    assert not (tmp_path / "sprung").exists()


def test_a_pickle_is_not_a_table(write: Writer) -> None:
    with pytest.raises(RectitudeError):
        read(write("m.pkl", b"\x80\x04\x95\x00\x00\x8c\x05posix\x94"), "predictions")


def test_properties_do_not_create_objects(write: Writer, tmp_path: Path) -> None:
    write("p.csv", "iid,uid,interactionid\n7,1,0\n")
    trap = f"!!python/object/apply:os.mkdir ['{tmp_path / 'sprung'}']\n"
    with pytest.raises(
        UnreadableFile, match=r"p_properties\.yaml, line 1: could not determine a constructor"
    ):
        read(write("p_properties.yaml", trap), "log")
    assert not (tmp_path / "sprung").exists()


def test_archives_are_never_written_to_disk(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    for name, member in (("a.zip", "../out.csv"), ("b.npz", "../out.npy")):
        with zipfile.ZipFile(inside / name, "w") as archive:
            archive.writestr(member, "user,item\n1,2\n")
        with pytest.raises(UnreadableFile, match="is a zip archive"):
            read(inside / name, "truth")
    with zipfile.ZipFile(inside / "c.zip", "w") as archive:
        archive.writestr("in/it.csv", "user,item\n1,2\n")
    assert read(inside / "c.zip", "truth").frame.rows() == [(1, 2)]
    with zipfile.ZipFile(inside / "c.zip", "a") as archive:
        archive.writestr("other.csv", "user,item\n1,2\n")
    with pytest.raises(UnreadableFile, match="is a zip archive"):
        read(inside / "c.zip", "truth")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside"]


def test_a_truncated_archive_is_noticed(write: Writer, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.csv.zip", "w") as archive:
        archive.writestr("a.csv", "user,item\n1,2\n")
    whole = (tmp_path / "a.csv.zip").read_bytes()
    with pytest.raises(UnreadableFile, match="truncated or damaged"):
        read(write("cut.csv.zip", whole[:-20]), "truth")


@pytest.mark.skipif(importlib.util.find_spec("lz4") is not None, reason="lz4 is installed")
def test_lz4_without_its_package_says_what_to_install(write: Writer) -> None:
    with pytest.raises(MissingExtra, match="pip install lz4"):
        read(write("r.json.lz4", b"\x04\x22\x4d\x18rest"), "predictions")


def test_arrays_of_scores_are_not_lists(tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", np.eye(3))
    with pytest.raises(BadTable, match=r"array of float64 with the shape \(3, 3\)") as caught:
        read(tmp_path / "s.npy", "predictions")
    assert "rt.Scores" in str(caught.value)


# content that a format cannot store

FULL = "user,item,score\nann,tea,2\nann,green tea,1\n"


@pytest.mark.parametrize(
    ("text", "name", "error", "message"),
    [
        (
            FULL,
            "r.run",
            BadTable,
            "1 item ids cannot be written in a TREC file (first: 'green tea')",
        ),
        (FULL, "r.npz", BadIds, "user ids are String (first: 'ann')"),
        (FULL, "r.dat", UnwritableFile, "predictions cannot be written as MovieLens'"),
        (FULL, "r.xyz", UnwritableFile, "the name 'r.xyz' does not indicate a format"),
        ("user,item,score\n1,2,1\n1,2,3\n", "r.json", DuplicateItems, "1 of 2 rows repeat"),
        ("user,item,score\n1,2,1\n1,2,3\n", "r.npz", BadTable, "some rows repeat"),
        ("user,item,rating\n1,2,1.5\n", "r.qrels", BadGrades, "1 grades are not whole numbers"),
        ("user,item,rank\n5,2,1\n", "r.npy", BadTable, "users are not 0, 1, 2, ..."),
        (
            "user,item,score\n-1,2,1\n",
            "r.npz",
            BadIds,
            "1 user ids cannot be used in a matrix (first: -1)",
        ),
    ],
)
def test_content_that_a_format_cannot_store_is_refused_and_nothing_is_written(
    write: Writer, tmp_path: Path, text: str, name: str, error: type[Exception], message: str
) -> None:
    source = write("a.csv", text)
    with pytest.raises(error) as caught:
        convert(source, tmp_path / name)
    assert message in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_is_not_converted_onto_itself(write: Writer) -> None:
    source = write("a.csv", FULL)
    with pytest.raises(UnwritableFile, match="is both the source and the target"):
        convert(source, source, to="tsv")
    assert source.read_text() == FULL


def test_properties_with_nested_aliases_are_refused(write: Writer) -> None:
    write("p.csv", "iid,uid,interactionid\n7,1,0\n")
    nested = [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    for text in ("\n".join(["a0: &a0 [1]", *nested]), "&a [*a]", "num_users: &a {b: *a}"):
        write("p_properties.yaml", text)
        with pytest.raises(UnreadableFile, match="with its aliases"):
            read(write("p.csv", "iid,uid,interactionid\n7,1,0\n"), "truth")


@pytest.mark.parametrize(
    ("place", "size"), [(6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (42, 4)]
)
@pytest.mark.parametrize("value", [0, 0x7FFFFFFE])
def test_archives_with_absurd_headers_are_refused_or_read(
    write: Writer, place: int, size: int, value: int
) -> None:
    """The version, flags, method, checksum, both sizes, and where the member begins."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", "user,item\n1,2\n")
    whole = bytearray(raw.getvalue())
    begin = whole.index(b"PK\x01\x02") + place
    whole[begin : begin + size] = value.to_bytes(4, "little")[:size]
    with suppress(UnreadableFile):
        assert read(write("a.csv.zip", bytes(whole)), "truth").frame.rows() == [(1, 2)]
