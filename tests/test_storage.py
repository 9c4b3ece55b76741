"""Files are written completely or not at all; modes, links and pipes are kept."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import UnreadableFile, UnwritableFile
from rectitude.splits.files import write as write_split
from rectitude.storage import made_folder, write_all, write_text


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "größer\n")
    assert (tmp_path / "a.txt").read_text("utf-8") == "größer\n"
    assert left(tmp_path) == ["a.txt"]


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    write_text(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_new_file_has_the_default_mode_of_the_process(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_keeps_its_target(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(timeout=10)
    assert read == ["through"]
    assert pipe.is_fifo()


def test_nothing_is_written_when_one_of_several_fails(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("old")

    def fails(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(UnwritableFile, match=r"b\.txt cannot be written: No space left"):
        write_all(
            {tmp_path / "a.txt": lambda path: path.write_text("a"), tmp_path / "b.txt": fails}
        )
    assert left(tmp_path) == ["b.txt"]
    assert (tmp_path / "b.txt").read_text() == "old"


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match=r"missing/a\.txt cannot be written") as caught:
        write_text(tmp_path / "missing" / "a.txt", "")
    assert isinstance(caught.value, OSError)
    assert "expected a file in an existing, writable folder" in str(caught.value)


def test_a_full_disk_is_named_with_what_is_needed(tmp_path: Path) -> None:
    def fails(path: Path) -> None:
        path.write_bytes(bytes(5000))
        raise pl.exceptions.ComputeError("parquet: underlying IO error: (os error 28)")

    with pytest.raises(UnwritableFile) as caught:
        write_all({tmp_path / "a.parquet": fails})
    assert caught.value.found == f"{tmp_path}/a.parquet cannot be written: No space left on device."
    assert re.fullmatch(r"more than [\d,.]+ \w+ of space for it\.", caught.value.expected)
    assert left(tmp_path) == []


def test_a_read_only_disk_is_named_even_if_nothing_can_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "unlink", fails)
    with pytest.raises(UnwritableFile) as caught:
        write_all({tmp_path / "a.txt": fails})
    assert caught.value.found == f"{tmp_path}/a.txt cannot be written: Read-only file system."


def test_a_folder_that_stays_empty_is_removed_again(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), made_folder(tmp_path / "new"):
        _ = 1 / 0
    with made_folder(tmp_path / "used") as folder:
        write_text(folder / "a.txt", "")
    assert left(tmp_path) == ["used"]


WRITES = """
import resource, signal, sys
from rectitude.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
evaluate = ["evaluate", "lists.csv", "--truth", "truth.csv", "--metrics", "ndcg@5"]
for words in (
    [*evaluate, "--per-list", "out.parquet"],
    [*evaluate, "--per-list", "out.csv"],
    [*evaluate, "--output", "out.zip"],
    ["convert", "lists.csv", "out.parquet"],
    ["convert", "lists.csv", "out.arrow"],
    ["convert", "lists.csv", "out.csv"],
    ["split", "log.csv", "--how", "leave_last", "--output", "out"],
    ["candidates", "split", "--output", "out.parquet"],
    ["compare", "a.zip", "b.zip", "--output", "out.json"],
    ["report", "a.zip", "--output", "out.html"],
    ["run", "experiment.toml", "--folder", "run", "--log", "quiet"],
):
    limit = 100 if words[0] == "compare" else 1000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, 1000))
    print(main(words), *words, file=sys.stderr)
"""
EXPERIMENT = """
[data]
path = "log.csv"
[split]
how = "leave_last"
[models.popular]
model = "popularity"
[evaluate]
metrics = ["ndcg@5"]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes")
def test_every_command_says_that_there_is_no_space_and_leaves_nothing(tmp_path: Path) -> None:
    users = [str(user) for user in range(500) for _ in range(3)]
    lists = pl.DataFrame({"user": users, "item": [f"item {n * 7919}" for n in range(1500)]})
    lists.with_columns(score=pl.int_range(1500)).write_csv(tmp_path / "lists.csv")
    lists.write_csv(tmp_path / "truth.csv")
    lists.with_columns(timestamp=pl.int_range(1500)).write_csv(tmp_path / "log.csv")
    for name in ("a.zip", "b.zip"):
        rt.evaluate(tmp_path / "lists.csv", tmp_path / "truth.csv", "ndcg@5").save(tmp_path / name)
    write_split(rt.split(tmp_path / "log.csv", "leave_last"), tmp_path / "split")
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    before = {*left(tmp_path), "run"}
    done = subprocess.run(
        [sys.executable, "-c", WRITES], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    errors = [line for line in done.stderr.splitlines() if line.startswith("error")]
    codes = [line for line in done.stderr.splitlines() if re.match(r"\d+ \w", line)]
    assert len(codes) == 11, done.stderr
    assert [line for line in codes if not line.startswith("2 ")] == []
    assert all(line.startswith("error: UnwritableFile: ") for line in errors), errors
    # Polars loses the reason if the limit falls into the footer of a Parquet file.
    reasons = (": File too large.", ": Invalid thrift: transport error.")
    assert [line for line in errors if not line.endswith(reasons)] == []
    assert {*left(tmp_path)} == before
    assert list((tmp_path / "run").rglob(".part-*")) == []


def test_a_file_that_may_not_be_read_is_not_taken_for_another_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.zip"
    rt.evaluate({1: [2]}, {1: [2]}, "mrr").save(path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableFile, match=r"a\.zip cannot be read: Permission denied"):
        rt.compare({"a": path, "b": path})
