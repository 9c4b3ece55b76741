"""Files that are compressed, cut short, missing, or not what their name says."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rectitude.data.read import read
from rectitude.errors import BadTable, UnreadableFile

CSV = "user,item,score\nu1,a,0.5\nu1,b,0.25\nu2,a,1\n"
ROWS = [("u1", "a", 0.5), ("u1", "b", 0.25), ("u2", "a", 1.0)]
RUN = "q1 Q0 d1 1 0.5 bm25\nq1 Q0 d2 2 0.25 bm25\n"
Writer = Callable[[str, str | bytes], Path]


# compressed


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_compressed_text_is_read_and_truncation_noticed(
    write: Writer, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(CSV.encode() * 50)
    assert read(write(f"r.csv{suffix}", pack(CSV.encode())), "predictions").frame.rows() == ROWS
    assert read(write(f"x.run{suffix}", pack(RUN.encode())), "predictions").frame.height == 2
    with pytest.raises(UnreadableFile, match="truncated or damaged"):
        read(write(f"cut.csv{suffix}", packed[:-12]), "predictions")


def test_zstd_is_read_and_truncation_noticed(write: Writer) -> None:
    arrow = pytest.importorskip("pyarrow")
    text = CSV + "\n" + "u3,é,2\n" * 1000
    packed = arrow.compress(text.encode(), codec="zstd", asbytes=True)
    assert read(write("r.csv.zst", packed), "predictions").frame.head(3).rows() == ROWS
    with pytest.raises(UnreadableFile, match="truncated or damaged"):
        read(write("cut.csv.zst", packed[:-9]), "predictions")


def test_a_wrong_line_in_compressed_text_is_named(write: Writer) -> None:
    packed = gzip.compress(CSV.encode() + b"u,i,x\n")
    with pytest.raises(BadTable, match=r"r\.csv\.gz, line 5 has 'x' for the score"):
        read(write("r.csv.gz", packed), "predictions")


def test_a_name_that_promises_compression_must_keep_it(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match="is not gzip"):
        read(write("r.csv.gz", CSV), "predictions")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are there on Unix only")
def test_a_pipe_is_refused_before_anything_is_read_from_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lists.csv")
    with pytest.raises(UnreadableFile, match="is a pipe or a device") as caught:
        read(tmp_path / "lists.csv", "predictions")
    assert "to a file" in str(caught.value)


def test_parquet_within_gzip_is_refused(write: Writer, tmp_path: Path) -> None:
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(tmp_path / "t.parquet")
    packed = gzip.compress((tmp_path / "t.parquet").read_bytes())
    with pytest.raises(UnreadableFile, match="holds a Parquet file in gzip"):
        read(write("t.csv.gz", packed), "truth")


# parquet


@pytest.mark.parametrize("name", ["r.parquet", "r.pq", "r[1].parquet", "part-000"])
def test_parquet_keeps_types_and_takes_only_what_is_needed(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame({"user_id": [1, 2], "item_id": [3, 4], "extra": ["x", "y"]})
    frame.write_parquet(tmp_path / name)
    table = read(tmp_path / name, "truth")
    assert table.frame.rows() == [(1, 3), (2, 4)]
    assert not table.text
    assert read(tmp_path / name, "items").frame.columns == ["item", "user_id", "extra"]


@pytest.mark.parametrize("keep", [100, -10])
def test_truncated_parquet_is_noticed(write: Writer, tmp_path: Path, keep: int) -> None:
    pl.DataFrame({"user": range(1000), "item": range(1000)}).write_parquet(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    with pytest.raises(UnreadableFile, match="truncated or damaged"):
        read(write("cut.parquet", whole[:keep]), "truth")


def test_parquet_by_name_only_is_refused(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match="is not a Parquet file: it begins with b'user,ite'"):
        read(write("r.parquet", CSV), "truth")


# files that are not there, or not text


def test_a_missing_file_names_the_nearest(write: Writer, tmp_path: Path) -> None:
    write("predictions.csv", CSV)
    with pytest.raises(UnreadableFile, match="does not exist") as caught:
        read(tmp_path / "prediction.csv", "predictions")
    assert "did you mean 'predictions.csv'?" in str(caught.value)
    assert isinstance(caught.value, OSError)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"the folder .*none does not exist either"):
        read(tmp_path / "none" / "r.csv", "predictions")


def test_a_folder_is_no_file(write: Writer, tmp_path: Path) -> None:
    write("r.csv", CSV)
    with pytest.raises(UnreadableFile, match="is a folder") as caught:
        read(tmp_path, "predictions")
    assert "r.csv" in str(caught.value)


def test_an_empty_file_is_unreadable(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match=r"is empty \(0 bytes\)"):
        read(write("r.csv", b""), "predictions")
    with pytest.raises(UnreadableFile, match="empty once decompressed"):
        read(write("r.csv.gz", gzip.compress(b"")), "predictions")
    with pytest.raises(UnreadableFile, match="holds no lines"):
        read(write("r.csv", b"\n\n"), "predictions")


@pytest.mark.parametrize("name", ["r.csv", "x.run"])
def test_text_that_is_not_utf8_names_the_place(write: Writer, name: str) -> None:
    good = CSV if name == "r.csv" else RUN
    bad = good.encode() + good.splitlines()[1].replace("1", "\xe9").encode("latin1") + b"\n"
    number = len(good.splitlines()) + 1
    with pytest.raises(UnreadableFile, match=f"is not UTF-8 .line {number}, byte {len(good) + 1}"):
        read(write(name, bad), "predictions")


def test_utf16_is_not_utf8(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match="UTF-16"):
        read(write("r.csv", CSV.encode("utf-16")), "predictions")


def test_binary_data_is_no_text(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match="is not text") as caught:
        read(write("model.pkl", b"\x80\x04\x95\x00\x00"), "predictions")
    assert "csv" in str(caught.value)


def test_json_that_is_cut_short_names_the_place(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match=r"is not JSON \(line 2, column"):
        read(write("r.json", '{"u":\n ["a"'), "predictions")
