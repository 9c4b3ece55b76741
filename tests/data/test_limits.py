"""What a small file may make us allocate: bombs, absurd headers, and the setting that allows more.

The limit is low here, so the files are small and nothing large is ever allocated.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import rectitude as rt
from rectitude.data.formats.convert import convert
from rectitude.data.matrices import load, load_sparse
from rectitude.data.read import read
from rectitude.data.synthetic import Habits, purchase_chunks, purchases, shop
from rectitude.errors import BadArgument, BadTable, TooLarge, UnreadableFile
from rectitude.memory import SETTING

ROWS = b"user,item\n" + b"1,2\n" * 400_000


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of 1 MB."""
    monkeypatch.setenv(SETTING, "1MB")


def pack_zip(data: bytes) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", data)
    return raw.getvalue()


def pack_zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard", reason="missing: pip install zstandard")
    return bytes(zstandard.compress(data))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": pack_zip,
    "zst": pack_zstd,
}  # fmt: skip


# compressed text


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_text_expands_to_the_limit_and_no_further(
    suffix: str, tmp_path: Path, low: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"a.csv.{suffix}"
    path.write_bytes(PACKERS[suffix](ROWS))
    with pytest.raises(TooLarge, match=r"a\.csv.* expand.*\n.*at most 1MB.*\n.*RECTITUDE_MEMORY="):
        read(path, "truth")
    monkeypatch.setenv(SETTING, "100MB")
    assert read(path, "truth").frame.height == 400_000


def test_the_error_of_a_limit_advises_a_limit_that_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", np.zeros(200_000))
    monkeypatch.setenv(SETTING, "1MB")
    with pytest.raises(TooLarge) as caught:
        load(tmp_path / "a.npz")
    monkeypatch.setenv(*caught.value.advice.split(": ")[1].split("="))
    assert load(tmp_path / "a.npz")["arr_0"].size == 200_000


def test_zstd_of_several_frames_is_bounded_and_read(tmp_path: Path, low: None) -> None:
    skipped = b"\x50\x2a\x4d\x18" + (10).to_bytes(4, "little") + b"x" * 10
    frames = pack_zstd(b"user,item\n1,2\n") + pack_zstd(b"3,4\n" * 100_000)
    (tmp_path / "a.csv.zst").write_bytes(frames)
    assert read(tmp_path / "a.csv.zst", "truth").frame.height == 100_001
    (tmp_path / "b.csv.zst").write_bytes(frames + skipped + pack_zstd(ROWS))
    with pytest.raises(TooLarge):
        read(tmp_path / "b.csv.zst", "truth")


# arrays


def write_member(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], kind: str) -> None:
    header = io.BytesIO()
    facts = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, facts)
    archive.writestr(f"{name}.npy", header.getvalue() + bytes(100))


def test_compressed_arrays_expand_to_the_limit_and_no_further(tmp_path: Path, low: None) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, scores=np.zeros((10, 50_000)))
    with pytest.raises(TooLarge, match=r"scores.npy in .* would expand to 4MB"):
        rt.Scores(path).open()
    np.savez_compressed(path, ids=np.zeros((10, 50_000), np.int64))
    with pytest.raises(TooLarge, match=r"ids.npy in .* would expand to 4MB"):
        read(path, "predictions")


def test_mapped_arrays_have_no_limit(tmp_path: Path, low: None) -> None:
    scores = np.random.default_rng(1).random((10, 50_000))
    np.save(tmp_path / "a.npy", scores)
    np.savez(tmp_path / "a.npz", scores=scores)
    for name, key in (("a.npy", ""), ("a.npz", "scores")):
        assert np.array_equal(load(tmp_path / name)[key], scores)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize(
    ("shape", "kind"),
    [((2**40, 4), "<f8"), ((2**40, 4), "<U0"), ((2**40, 0), "<i8"), ((-1, 4), "<f8"),
     ((4,), f"<U{2**28}")],
)  # fmt: skip
def test_absurd_headers_are_refused(
    shape: tuple[int, ...], kind: str, method: int, tmp_path: Path, low: None
) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        write_member(archive, "ids", shape, kind)
        write_member(archive, "data", shape, kind)
    for reader in (load, load_sparse, lambda path: read(path, "predictions")):
        with pytest.raises((UnreadableFile, TooLarge)):
            reader(tmp_path / "a.npz")


# sparse matrices


def test_sparse_matrices_of_absurd_shape_are_refused(tmp_path: Path, low: None) -> None:
    few = (np.ones(2), ([0, 1], [0, 0]))
    tall = sparse.coo_matrix(few, shape=(2_000_000_000, 1))
    diagonal = sparse.dia_matrix((np.ones((1, 3)), [0]), shape=(10**9, 10**9))
    for matrix in (tall, diagonal):
        sparse.save_npz(tmp_path / "a.npz", matrix)
        for what in ("predictions", "truth", "train"):
            with pytest.raises(TooLarge, match=r"of shape .* would expand to"):
                read(tmp_path / "a.npz", what)


@pytest.mark.parametrize(("part", "value"), [("indptr", 900), ("indptr", -1), ("indices", 77)])
def test_sparse_matrices_with_wrong_indices_are_refused(
    part: str, value: int, tmp_path: Path
) -> None:
    matrix = sparse.csr_matrix(np.eye(4))
    getattr(matrix, part)[2] = value
    sparse.save_npz(tmp_path / "a.npz", matrix)
    with pytest.raises(UnreadableFile, match="cannot be read as a sparse matrix"):
        read(tmp_path / "a.npz", "truth")


def test_all_kinds_of_sparse_matrices_are_read(tmp_path: Path) -> None:
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        sparse.save_npz(tmp_path / f"{kind}.npz", sparse.eye(3, 5).asformat(kind))
        rows = read(tmp_path / f"{kind}.npz", "truth").frame.rows()
        assert rows == [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0)]


# tables


def test_typed_tables_with_absurdly_many_rows_are_refused(tmp_path: Path, low: None) -> None:
    zeros = pl.zeros(40_000_000, pl.Int8, eager=True)
    frame = pl.DataFrame({"user": zeros, "item": zeros})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow", compression="zstd")
    for name in ("a.parquet", "a.arrow"):
        with pytest.raises(TooLarge, match="would expand to 640MB"):
            read(tmp_path / name, "truth")


def test_typed_tables_in_proportion_to_their_file_have_no_limit(tmp_path: Path, low: None) -> None:
    numbers = pl.int_range(500_000, eager=True)
    pl.DataFrame({"user": numbers, "item": numbers}).write_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", "truth").frame.height == 500_000


def test_a_different_key_in_every_object_is_refused(tmp_path: Path) -> None:
    """A table with a column for each key takes the square of the lines."""
    objects = [f'{{"user": 1, "item": {n}, "key {n}": 1}}' for n in range(6_000)]
    (tmp_path / "a.jsonl").write_text("\n".join(objects))
    (tmp_path / "a.json").write_text(f"[{','.join(objects)}]")
    with pytest.raises(TooLarge, match=r"a\.jsonl, with 6,002 keys, has .* expand to 576"):
        read(tmp_path / "a.jsonl", "truth")
    with pytest.raises(TooLarge, match=r"a\.json has .* expand to 576"):
        read(tmp_path / "a.json", "truth")


def test_a_repeated_key_is_found_in_linear_time(tmp_path: Path) -> None:
    keys = ",".join(f'"{n}":[1]' for n in range(60_000))
    (tmp_path / "a.json").write_text(f'{{{keys},"59999":[2]}}')
    with pytest.raises(BadTable, match="the key '59999' appears twice"):
        read(tmp_path / "a.json", "truth")


# what is made


def test_dense_output_of_convert_is_bounded(tmp_path: Path, low: None) -> None:
    one_long = "".join(f"0,{item}\n" for item in range(3_000))
    many_short = "".join(f"{user},1\n" for user in range(1, 3_000))
    (tmp_path / "a.csv").write_text(f"user,item\n{one_long}{many_short}")
    advice = r"3,000 lists with 3,000 items each would take 72MB.*\n.*\n.* such as Parquet"
    for name in ("a.npy", "a.npz"):
        with pytest.raises(TooLarge, match=advice):
            convert(tmp_path / "a.csv", tmp_path / name, to="daisyrec", kind="predictions")
        assert not (tmp_path / name).exists()


def test_a_generated_shop_is_bounded(low: None) -> None:
    with pytest.raises(TooLarge, match=r"1,000,000,000,000 rows would take 120TB"):
        purchases(10**12)
    with pytest.raises(TooLarge, match="rows and 6,400,000 items"):
        next(purchase_chunks(10**12))
    with pytest.raises(TooLarge, match="1,000,000 users and 1,000,000 items"):
        shop(users=10**6, items=10**6)
    with pytest.raises(BadArgument, match="days is"):
        Habits(days=10**20)
    assert purchases(1_000).height == 1_000


def test_resamples_are_bounded(low: None) -> None:
    lists, truth = {"a": [1, 2], "b": [2, 1], "c": [3, 1]}, {"a": [1], "b": [3], "c": [1]}
    for resamples in (10**12, 10**400):
        with pytest.raises(TooLarge, match="means would take"):
            rt.compare(
                {"x": lists, "y": lists}, truth, "ndcg@2", interval="percentile",
                resamples=resamples,
            )  # fmt: skip
