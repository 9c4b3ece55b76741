"""Files that are not read, and what to do with them: workbooks, pickles, databases, addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rectitude.errors import UnreadableFile

TABLES = "a table as csv, tsv, JSON, Parquet or Arrow."
SCHEMES = (
    "http", "https", "ftp", "sftp", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "wasbs",
    "hdfs", "dbfs", "hf", "file",
)  # fmt: skip
_ADDRESS = rf"^({'|'.join(SCHEMES)}):/+"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A kind of file that is not read."""

    title: str
    advice: str
    starts: tuple[bytes, ...]
    """what such a file begins with"""
    member: bytes = b""
    """a name in it, if it is an archive"""
    suffixes: tuple[str, ...] = ()
    """file names that are enough to tell"""


FOREIGN = (
    Foreign(
        "an Excel workbook",
        "save the sheet as CSV, or pass it as a frame: pd.read_excel(path).",
        (b"\xd0\xcf\x11\xe0",),
        b"xl/",
    ),
    Foreign(
        "a file of torch, which can run any code when it is opened, so rectitude never opens one",
        "if you trust it, load it and pass the tensor: rt.Scores(torch.load(path), users=...,"
        " items=...); or save it as .npy.",
        (),
        b"data.pkl",
        (".pt", ".pth"),
    ),
    Foreign(
        "a pickle, which can run any code when it is opened, so rectitude never opens one",
        "if you trust it, load it and pass the frame: pd.read_pickle(path); or save it as Parquet.",
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        b"",
        (".pkl", ".pickle", ".joblib"),
    ),
    Foreign(
        "an HDF5 file",
        "pass its table as a frame: pd.read_hdf(path); or save it as Parquet.",
        (b"\x89HDF\r\n",),
    ),
    Foreign(
        "an SQLite database",
        "pass a table as a frame: pd.read_sql('select ...', connection); or save it as CSV.",
        (b"SQLite format 3\0",),
    ),
)
SUFFIXES = frozenset(suffix for kind in FOREIGN for suffix in kind.suffixes)


def refuse_foreign(path: Path, suffix: str, start: bytes) -> None:
    """Raise an error if a file is of a kind that is not read."""
    for kind in FOREIGN:
        packed = bool(kind.member) and start.startswith(b"PK") and kind.member in start
        if packed or start.startswith(kind.starts) or suffix in kind.suffixes:
            raise UnreadableFile(f"{path} is {kind.title}.", TABLES, kind.advice)


def refuse_address(path: Path) -> None:
    """Raise an error if a path is the address of a file elsewhere."""
    found = re.match(_ADDRESS, path.as_posix())
    if found and found[1] == "file":
        local = re.sub(_ADDRESS, "/", path.as_posix())
        raise UnreadableFile(f"file://{local} is an address.", "a path.", f"pass {local!r}.")
    if found:
        # a path keeps only one of the slashes
        address = re.sub(_ADDRESS, r"\1://", path.as_posix())
        raise UnreadableFile(
            f"{address} is an address, and rectitude reads only local files.",
            "the path of a file.",
            "download it first, or pass it as a frame: pl.read_csv(url), pl.read_parquet(url).",
        )
