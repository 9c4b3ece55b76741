"""A small Parquet or Arrow file cannot make us allocate gigabytes, whatever it says of itself."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest

import rectitude as rt
from rectitude import memory
from rectitude.data.formats.page_sizes import LARGE, require_modest
from rectitude.errors import TooLarge, UnreadableFile

TRUTH = {1: ["a"], 2: ["b"]}
LONG = 3_000_000


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may expand to 1 MB at least, in place of 256 MB."""
    monkeypatch.setattr(memory, "_HARMLESS", 10**6)


def packed(frame: pl.DataFrame) -> bytes:
    target = io.BytesIO()
    frame.write_parquet(target, compression="zstd", statistics=False)
    return target.getvalue()


def varint(number: int, width: int = 0) -> bytes:
    """A whole number as Thrift writes it; `width` is how many bytes it takes at least."""
    out, left = bytearray(), number << 1
    while left >= 0x80 or len(out) < width - 1:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


LONG_TEXT = pl.DataFrame({"user": [1, 2], "item": ["a" * LONG, "b"]})
LONG_LIST = pl.DataFrame({"user": [1], "item": [pl.zeros(LONG, dtype=pl.UInt8, eager=True)]})


@pytest.mark.parametrize("frame", [LONG_TEXT, LONG_LIST], ids=["text", "list"])
def test_few_rows_that_unpack_to_much_are_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "lists.parquet"
    path.write_bytes(packed(frame))
    assert path.stat().st_size < 5_000
    with pytest.raises(TooLarge, match=r"lists.parquet has \S+B and would expand to"):
        rt.evaluate(path, TRUTH, "ndcg@2")


def test_a_footer_that_hides_the_size_of_a_page_is_not_believed(tmp_path: Path) -> None:
    data = packed(LONG_TEXT)
    sizes = [LONG + more for more in range(200) if data.rfind(varint(LONG + more)) > 0]
    inside, stated = min(sizes), max(sizes)
    place = data.rfind(varint(stated))
    hidden = data[:place] + varint(100, 4) + data[place + 4 :]
    assert stated > inside
    assert len(hidden) == len(data)
    with pytest.raises(TooLarge, match="would expand to 3MB"):
        require_modest(hidden, "lists.parquet")


def test_a_column_that_nobody_reads_does_not_count() -> None:
    require_modest(packed(LONG_TEXT), "lists.parquet", ["user"])


@pytest.mark.parametrize("size", [0, 4, 11, 300])
def test_a_damaged_footer_is_left_to_the_reader(size: int) -> None:
    data = packed(LONG_TEXT)
    require_modest(data[:size], "lists.parquet")
    require_modest(data[: -size - 1], "lists.parquet")


def test_pages_without_end_are_refused() -> None:
    empty_page = bytes([0x15, 0, 0x15, 0, 0x15, 0, 0])  # its type and sizes are 0
    pages = empty_page * 200_001
    column = bytes([0x39, 0x18, 1]) + b"a" + b"\x46" + varint(len(pages)) + b"\x26" + varint(4)
    footer = bytes([0x49, 0x1C, 0x19, 0x1C, 0x3C]) + column + bytes(4)
    data = b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    assert len(data) < LARGE
    with pytest.raises(UnreadableFile, match="more than 200,000 pages"):
        require_modest(data, "lists.parquet")


def test_stored_values_and_candidates_are_held_to_the_same(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": ["a" * LONG, "b"], "ndcg@2": [0.1, 0.2]})
    path = tmp_path / "chosen.parquet"
    path.write_bytes(packed(frame))
    with pytest.raises(TooLarge):
        rt.Candidates.load(path)


def test_rows_outside_of_an_arrow_file_are_no_panic(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lists.arrow"
    pl.DataFrame({"user": [1, 2], "item": ["a", "b"]}).write_ipc(path)
    data = path.read_bytes()
    footer = int.from_bytes(data[-10:-6], "little")
    for place in range(len(data) - 10 - footer, len(data) - 10):
        path.write_bytes(data[:place] + b"\x1b" + data[place + 1 :])
        try:
            rt.evaluate(path, TRUTH, "ndcg@2")
        except rt.RectitudeError as error:
            assert "panic" not in str(error)
    assert "panicked" not in capfd.readouterr().err
