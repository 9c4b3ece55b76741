"""Runs that ranx saved as `.lz4`: CBOR, compressed twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import rectitude as rt
from rectitude.data.formats.cbor import decode, encode
from rectitude.data.formats.convert import convert
from rectitude.errors import UnreadableFile

MAGIC = b"\x04\x22\x4d\x18"
# cbor2.dumps({"q1": {"a": 3.5, "b": 2.0}, "q2": {"c": 1.0}}), as run.save of ranx 0.3.21 writes it
SAVED = bytes.fromhex(
    "a2627131a26161fb400c0000000000006162fb4000000000000000627132a16163fb3ff0000000000000"
)
RUN = {"q1": {"a": 3.5, "b": 2.0}, "q2": {"c": 1.0}}


def test_what_ranx_writes_is_decoded_and_encoded() -> None:
    assert decode(SAVED, "run.lz4") == RUN
    assert encode(RUN) == SAVED


@pytest.mark.parametrize("number", [0, 23, 24, 255, 256, 65_536, 2**32, -1, -25, -300])
def test_whole_numbers_of_every_size_survive(number: int) -> None:
    assert decode(encode({"q": {"d" * 300: number}}), "r") == {"q": {"d" * 300: number}}


@pytest.mark.usefixtures("lz4")
def test_a_run_of_ranx_is_evaluated(tmp_path: Path) -> None:
    path = tmp_path / "run.lz4"
    path.write_bytes(MAGIC + MAGIC + SAVED)
    found = rt.evaluate(str(path), {"q1": {"b": 1}, "q2": {"c": 1}}, "mrr", "ranx")
    assert found["mrr"] == (1 / 2 + 1) / 2


@pytest.mark.usefixtures("lz4")
def test_predictions_are_written_as_ranx_writes_them(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 3.5 x\nq1 Q0 b 2 2.0 x\nq2 Q0 c 1 1.0 x\n")
    convert(tmp_path / "run.txt", tmp_path / "run.lz4")
    assert (tmp_path / "run.lz4").read_bytes() == MAGIC + MAGIC + SAVED


@pytest.mark.parametrize(
    "data", [SAVED[:-1], SAVED + b"\x00", b"\xa1\x01\x02", b"\x9f\xff", b"\x7b" + b"\xff" * 8, b""]
)
def test_damaged_data_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="r is damaged, or not a run that ranx wrote"):
        decode(data, "r")
