"""Files that are compressed, truncated, missing, or not what their name says."""

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


def test_a_file_named_as_compressed_must_be_compressed(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match="is not compressed with gzip"):
        read(write("r.csv.gz", CSV), "predictions")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only Unix has named pipes")
def test_a_pipe_is_refused_before_anything_is_read_from_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lists.csv")
    with pytest.raises(UnreadableFile, match="is a pipe or a device") as caught:
        read(tmp_path / "lists.csv", "predictions")
    assert "to a file" in str(caught.value)


def test_parquet_compressed_with_gzip_is_refused(write: Writer, tmp_path: Path) -> None:
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(tmp_path / "t.parquet")
    packed = gzip.compress((tmp_path / "t.parquet").read_bytes())
    with pytest.raises(UnreadableFile, match="is a Parquet file compressed with gzip"):
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


# files that are missing or not text


def test_the_error_for_a_missing_file_names_the_nearest(write: Writer, tmp_path: Path) -> None:
    write("predictions.csv", CSV)
    with pytest.raises(UnreadableFile, match="does not exist") as caught:
        read(tmp_path / "prediction.csv", "predictions")
    assert "did you mean 'predictions.csv'?" in str(caught.value)
    assert isinstance(caught.value, OSError)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"the folder .*none does not exist either"):
        read(tmp_path / "none" / "r.csv", "predictions")


def test_a_folder_is_not_a_file(write: Writer, tmp_path: Path) -> None:
    write("r.csv", CSV)
    with pytest.raises(UnreadableFile, match="is a folder") as caught:
        read(tmp_path, "predictions")
    assert "r.csv" in str(caught.value)


def test_an_empty_file_is_unreadable(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match=r"is empty \(0 bytes\)"):
        read(write("r.csv", b""), "predictions")
    with pytest.raises(UnreadableFile, match="empty after decompression"):
        read(write("r.csv.gz", gzip.compress(b"")), "predictions")
    with pytest.raises(UnreadableFile, match="contains only blank lines"):
        read(write("r.csv", b"\n\n"), "predictions")


@pytest.mark.parametrize("name", ["r.csv", "x.run"])
def test_the_error_for_text_that_is_not_utf8_names_the_line_and_byte(
    write: Writer, name: str
) -> None:
    good = CSV if name == "r.csv" else RUN
    bad = good.encode() + good.splitlines()[1].replace("1", "\xe9").encode("latin1") + b"\n"
    number = len(good.splitlines()) + 1
    with pytest.raises(UnreadableFile, match=f"is not UTF-8 .line {number}, byte {len(good) + 1}"):
        read(write(name, bad), "predictions")


def test_utf16_is_not_utf8(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match="UTF-16"):
        read(write("r.csv", CSV.encode("utf-16")), "predictions")


def test_binary_data_is_not_text(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match="is not text") as caught:
        read(write("model.bin", b"\x01\x04\x95\x00\x00"), "predictions")
    assert "csv" in str(caught.value)


def test_the_error_for_truncated_json_names_the_line(write: Writer) -> None:
    with pytest.raises(UnreadableFile, match=r"is not JSON \(line 2, column"):
        read(write("r.json", '{"u":\n ["a"'), "predictions")


# odd texts


def test_a_header_of_any_length_is_read_whole(write: Writer) -> None:
    names = ["user", "item", *(f"column {number:05}" for number in range(6_000))]
    rows = [[str(row % 3), str(row), *["1"] * 6_000] for row in range(5)]
    text = "".join(",".join(fields) + "\n" for fields in (names, *rows))
    assert text.index("\n") > 1 << 16
    for name, content in (("w.csv", text.encode()), ("w.csv.gz", gzip.compress(text.encode()))):
        table = read(write(name, content), "truth")
        assert table.frame.rows() == [(row % 3, row) for row in range(5)]


@pytest.mark.parametrize(
    ("name", "line", "wrong"),
    [
        ("a.csv", "u{0},i{0}\n", "u\0,i\n"),
        ("a.csv", "{0},{0}\n", "1\0,2\n"),
        ("a.csv", " {0} , {0}\n", "\0,2\n"),
        ("a.txt", "{0} 7 7 7 7 7\n", "1\0 2\n"),
        ("a.tsv", "u{0}\ti{0}\n", "u\0\ti\n"),
    ],
)
def test_a_zero_byte_is_noticed_however_late(
    write: Writer, name: str, line: str, wrong: str
) -> None:
    header = {".csv": "user,item\n", ".tsv": "user\titem\n"}.get(Path(name).suffix, "")
    text = header + "".join(line.format(number) for number in range(9_000))
    assert len(text) > 1 << 16
    assert read(write(name, text), "truth").frame.height >= 9_000
    position = len(text) + wrong.index("\0")
    with pytest.raises(UnreadableFile, match=f"is not text: byte {position} is zero"):
        read(write(name, text + wrong), "truth")


def test_half_of_a_surrogate_pair_is_no_text(write: Writer) -> None:
    good, bad = '{"user": "\\ud83d\\ude00", "item": 1}\n', '{"user": "\\ud800", "item": 1}\n'
    assert read(write("a.jsonl", good), "truth").frame.rows() == [("😀", 1)]
    with pytest.raises(UnreadableFile, match=r"a\.jsonl, line 2 contains half of a surrogate pair"):
        read(write("a.jsonl", good + bad), "truth")
    for text in ('{"\\ud800": ["a"]}', '{"u": ["\\udc00"]}', '[{"user": "\\udfff", "item": 1}]'):
        with pytest.raises(UnreadableFile, match="half of a surrogate pair"):
            read(write("a.json", text), "truth")
    with pytest.raises(BadTable, match="half of a surrogate pair"):
        read({"u": ["\ud800"]}, "truth")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", '{"u":' * 100_000, "nested too deeply"),
        ("a.json", f'{{"u": {{"i": {"9" * 400}}}}}', "more than 308 digits"),
        ("a.json", f'{{"u": {{"i": {"9" * 5_000}}}}}', "more than 4,300 digits"),
        ("a.jsonl", f'{{"user": {"[" * 100_000}', "line 1 is not a JSON object"),
        ("a.jsonl", f'{{"user": {"9" * 400}, "item": 1}}\n', "cannot be read as JSON lines"),
    ],
)
def test_absurd_json_is_refused(write: Writer, name: str, text: str, said: str) -> None:
    with pytest.raises((UnreadableFile, BadTable), match=said):
        read(write(name, text), "predictions")


def test_a_panic_of_polars_means_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame({"user": [1], "item": [2]})
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_parquet(tmp_path / "a.parquet")

    def panic(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("out of bounds")

    monkeypatch.setattr(pl, "read_ipc", panic)
    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    for name in ("a.arrow", "a.parquet"):
        with pytest.raises(UnreadableFile, match=r"truncated or damaged .*: out of bounds"):
            read(tmp_path / name, "truth")


def test_a_whole_file_that_memory_cannot_hold_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(path)

    def refuse(*_: object, **__: object) -> None:
        raise OSError("Cannot allocate memory (os error 12)")

    monkeypatch.setattr(pl.LazyFrame, "collect_schema", refuse)
    with pytest.raises(UnreadableFile, match=r"cannot be read: there is not enough memory") as told:
        read(path, "predictions")
    assert "damaged" not in str(told.value)
