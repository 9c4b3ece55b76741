"""Files are written whole or not at all, and what stands at a name is respected."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from rectitude.errors import UnwritableFile
from rectitude.storage import write_all, write_text


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


def test_a_new_file_has_the_mode_that_the_process_gives(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_goes_on_pointing_where_it_points(tmp_path: Path) -> None:
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
    assert "expected a file in a folder that exists" in str(caught.value)
