"""Files that are not read get a fitting answer: addresses, workbooks, pickles, decimal commas."""

from __future__ import annotations

import gzip
import pickle
import sqlite3
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadTable, RectitudeError, UnreadableFile

TRUTH = {1: [6]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(predictions: object, kind: type[RectitudeError] = UnreadableFile) -> str:
    with pytest.raises(kind) as caught:
        rt.evaluate(predictions, TRUTH, "mrr")
    return str(caught.value)


@pytest.mark.parametrize(
    "address", ["https://example.com/recs.csv", "s3://bucket/recs.parquet", "gs://bucket/x.csv"]
)
def test_an_address_is_not_read(address: str) -> None:
    for source in (address, rt.Lists(address), rt.Scores(address)):
        message = refused(source)
        assert f"{address} is an address, and rectitude reads only local files" in message
        assert "download it first, or pass it as a frame: pl.read_csv(url)" in message


def test_a_workbook_is_to_be_saved_or_passed_as_a_frame(folder: Path) -> None:
    with ZipFile("recs.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/workbook.xml", "<x/>")
    Path("recs.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    for name in ("recs.xlsx", "recs.xls"):
        message = refused(name)
        assert f"{name} is an Excel workbook" in message
        assert "save the sheet as CSV" in message
        assert "pd.read_excel(path)" in message


class Trap:
    """An object that would run code when its pickle is opened."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("opened"),)  # type: ignore[return-value]


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_never_opened(folder: Path, protocol: int) -> None:
    data = pickle.dumps(Trap(), protocol)
    Path("recs.pkl").write_bytes(data)
    Path("recs.pkl.gz").write_bytes(gzip.compress(data))
    for source in ("recs.pkl", "recs.pkl.gz", rt.Scores("recs.pkl")):
        message = refused(source)
        assert "is a pickle, which can run any code when it is opened" in message
        assert "pd.read_pickle(path)" in message
    assert not Path("opened").exists()


def test_a_pickle_under_another_name_is_noticed(folder: Path) -> None:
    Path("recs.bin").write_bytes(pickle.dumps({"user": [1]}))
    assert "is a pickle" in refused("recs.bin")


def test_a_database_is_to_be_passed_as_a_frame(folder: Path) -> None:
    with sqlite3.connect("shop.db") as connection:
        connection.execute("create table recs (user, item)")
    assert "is an SQLite database" in refused("shop.db")


@pytest.mark.parametrize("header", ["user;item;score\n", ""])
def test_a_decimal_comma_is_named(folder: Path, header: str) -> None:
    Path("recs.csv").write_text(f"{header}1;5;0,9\n1;6;0,8\n")
    message = refused("recs.csv", BadTable)
    assert "has '0,9' for the score" in message
    assert "a decimal point, not a comma" in message
    assert "pd.read_csv(path, sep=';', decimal=',')" in message


def test_an_array_is_no_sparse_matrix(folder: Path) -> None:
    np.save("x.npy", np.zeros((2, 3)))
    message = refused(rt.Lists("x.npy", format="csr"))
    assert "x.npy is a single array, not a sparse matrix" in message


@pytest.mark.parametrize("name", ["https://example.com/recs.csv", "recs.pkl", "recs.csv"])
def test_the_command_line_says_the_same(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("recs.pkl").write_bytes(pickle.dumps([1]))
    Path("recs.csv").write_text("user;item;score\n1;5;0,9\n")
    Path("test.csv").write_text("user,item\n1,6\n")
    assert main(["evaluate", "--predictions", name, "--truth", "test.csv"]) != 0
    said = capsys.readouterr().err
    assert any(words in said for words in ("is an address", "is a pickle", "decimal point"))
    assert main(["evaluate", "--predictions", "test.csv", "--truth", name]) != 0


def test_a_file_of_torch_is_to_be_loaded_with_torch(folder: Path) -> None:
    (folder / "scores.pt").write_bytes(pickle.dumps({"a": 1}))
    with ZipFile(folder / "model.pth", "w") as archive:
        archive.writestr("model/data.pkl", b"")
        archive.writestr("model/version", b"3")
    for name in ("scores.pt", "model.pth"):
        assert "torch.load(path)" in refused(name)


def test_the_address_of_a_local_file_is_to_be_passed_as_a_path() -> None:
    message = refused("file:///tmp/recs.csv")
    assert "file:///tmp/recs.csv is an address" in message
    assert "pass '/tmp/recs.csv'" in message
