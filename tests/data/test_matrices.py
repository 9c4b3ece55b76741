"""Arrays in `.npz` files are mapped in place, unless they are compressed."""

from __future__ import annotations

import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rectitude as rt
from rectitude.data.matrices import load
from rectitude.errors import UnreadableFile

SCORES = np.random.default_rng(3).random((5, 7))
TRUTH = {0: [1], 1: [6], 4: [2, 3]}
NAMES = ["a", "ab", "abc", "abcd", "abcde"]  # members start at offsets with every remainder


def mapped(array: NDArray[Any]) -> bool:
    return isinstance(array, np.memmap)


@pytest.mark.parametrize("kind", ["<f4", "<f8", ">f4", "<f2", "<i8", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_uncompressed_members_are_mapped_read_only(order: Any, kind: str, tmp_path: Path) -> None:
    array = (SCORES * 50).astype(kind).copy(order)
    named: Any = {name: array[: len(name)] for name in NAMES}
    np.savez(tmp_path / "a.npz", **named)
    arrays = load(tmp_path / "a.npz")
    assert list(arrays) == NAMES
    for name, loaded in arrays.items():
        assert mapped(loaded)
        assert not loaded.flags.writeable
        assert loaded.dtype == array.dtype
        np.testing.assert_array_equal(loaded, array[: len(name)])


def test_members_in_fortran_order_keep_it(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", scores=np.asfortranarray(SCORES))
    loaded = load(tmp_path / "a.npz")["scores"]
    assert loaded.flags.f_contiguous
    assert mapped(loaded)


def test_compressed_members_are_loaded(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", scores=SCORES)
    loaded = load(tmp_path / "a.npz")["scores"]
    assert not mapped(loaded)
    np.testing.assert_array_equal(loaded, SCORES)


def test_empty_arrays_and_single_numbers_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", none=SCORES[:0], one=np.float32(3), text=["x", "yy"])
    arrays = load(tmp_path / "a.npz")
    assert arrays["none"].shape == (0, 7)
    assert (arrays["one"].shape, float(arrays["one"])) == ((), 3.0)
    assert arrays["text"].tolist() == ["x", "yy"]


def test_archives_may_contain_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, scores=SCORES)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("note.txt", "made on a Monday")
    loaded = load(path)["scores"]
    assert mapped(loaded)
    np.testing.assert_array_equal(loaded, SCORES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_values_are_correct_at_every_offset_of_a_member(
    kind: Any, name: str, tmp_path: Path, kernels: str
) -> None:
    array = SCORES.astype(kind)
    named: Any = {name: array}
    np.savez(tmp_path / "a.npz", **named)
    actual, expected = (
        rt.evaluate(rt.Scores(source), TRUTH, ["mrr", "ndcg@3"])
        for source in (tmp_path / "a.npz", array)
    )
    assert actual.values() == expected.values()


def test_members_shorter_than_their_array_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", SCORES)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("scores.npy", (tmp_path / "a.npy").read_bytes()[:-1])
        archive.writestr("after.bin", bytes(1000))
    with pytest.raises(UnreadableFile, match=r"scores\.npy ends after 407 of 408 bytes"):
        load(tmp_path / "a.npz")


@pytest.mark.parametrize("cut", [1, 22, 100, 400])
def test_truncated_archives_are_refused(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, scores=SCORES)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(UnreadableFile, match="truncated"):
        load(path)


def test_archives_with_a_piece_cut_out_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, first=SCORES, second=SCORES)
    whole = path.read_bytes()
    path.write_bytes(whole[:250] + whole[350:])
    with pytest.raises(UnreadableFile, match="truncated"):
        load(path)


def test_a_directory_that_points_past_the_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, scores=SCORES)
    whole = bytearray(path.read_bytes())
    entry = whole.rindex(b"PK\x01\x02")
    whole[entry + 20 : entry + 28] = struct.pack("<II", 10**6, 10**6)  # sizes as stated
    path.write_bytes(whole.replace(b"(5, 7)", b"(9, 9)"))
    with pytest.raises(UnreadableFile, match="truncated"):
        load(path)


@pytest.mark.parametrize("change", ["cut", "overwritten"])
def test_a_mapped_file_that_changes_while_it_is_read_is_noticed(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading what was cut off would end the process."""
    path, size = tmp_path / "scores.npy", 4096
    np.save(path, np.random.default_rng(0).random((8, size)))
    monkeypatch.setattr("rectitude.data.dense.MAPPED_BYTES", 8 * size)

    def alter(done: int, total: int) -> None:
        if change == "cut":
            os.truncate(path, 8 * size)
        else:
            os.utime(path, (1, 1))

    with pytest.raises(UnreadableFile, match=r"scores\.npy changed while it was read"):
        rt.evaluate(rt.Scores(path), {0: [1], 7: [2]}, "mrr", progress=alter)


def test_a_mapped_file_may_be_removed_or_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scores.npy"
    np.save(path, SCORES)
    expected = rt.evaluate(rt.Scores(path), TRUTH, "mrr")["mrr"]
    monkeypatch.setattr("rectitude.data.dense.MAPPED_BYTES", SCORES[0].nbytes)

    def replace(done: int, total: int) -> None:
        np.save(tmp_path / "new.npy", -SCORES)
        (tmp_path / "new.npy").replace(path)

    assert rt.evaluate(rt.Scores(path), TRUTH, "mrr", progress=replace)["mrr"] == expected
