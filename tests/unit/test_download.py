"""Fetching MovieLens: whole or not at all, resumed, checked, unpacked safely. No network: a server
on this machine stands for the publisher's."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from rectitude.data.download import ARCHIVES, LICENCE, Archive, fetch, movielens, unpack

from rectitude.errors import UnknownName, UnreadableFile, UnwritableFile


def archive_bytes(**others: str) -> bytes:
    files = {
        "ml-test/ratings.csv": "userId,movieId,rating,timestamp\n1,2,3.5,10\n" * 500,
        "ml-test/movies.csv": "movieId,title,genres\n2,A,B\n",
        "ml-test/README.txt": "terms",
        **others,
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return held.getvalue()


class Server(HTTPServer):
    """Serves one file, remembers what was asked for, and can break off or know no ranges."""

    content = b""
    limit = 10**9
    ranges = True
    asked: list[str | None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        if self.path != "/ml.zip":
            self.send_error(404)
            return
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.server.ranges else 0
        body = self.server.content[begin:]
        self.send_response(206 if begin else 200)
        self.end_headers()
        self.wfile.write(body[: self.server.limit])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as one:
        one.content, one.asked = archive_bytes(), []
        thread = threading.Thread(target=one.serve_forever, daemon=True)
        thread.start()
        yield one
        one.shutdown()


def archive_of(server: Server, content: bytes | None = None) -> Archive:
    body = server.content if content is None else content
    port = server.server_address[1]
    return Archive(
        f"http://127.0.0.1:{port}/ml.zip", len(body), hashlib.sha256(body).hexdigest()
    )  # fmt: skip


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_release_is_fetched_checked_and_unpacked_once(server: Server, tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(2):
        found = movielens(folder=tmp_path, archive=archive_of(server), tell=told.append)
        assert found == tmp_path / "ml-latest-small"
        assert (found / "ratings.csv").read_text().startswith("userId")
    assert len(server.asked) == 1
    assert told == [LICENCE, LICENCE]
    assert files_in(tmp_path) == ["README.txt", "ml-latest-small", "movies.csv", "ratings.csv"]


def test_the_licence_is_told_on_standard_error(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    movielens(folder=tmp_path, archive=archive_of(server))
    said = capsys.readouterr()
    assert "GroupLens" in said.err
    assert said.out == ""


def test_an_interrupted_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.limit = 300
    with pytest.raises(UnreadableFile, match="go on where it stopped"):
        fetch(archive_of(server), tmp_path / "ml.zip")
    assert files_in(tmp_path) == ["ml.zip.part"]
    server.limit = 10**9
    fetch(archive_of(server), tmp_path / "ml.zip")
    assert server.asked == [None, "bytes=300-"]
    assert (tmp_path / "ml.zip").read_bytes() == server.content
    assert files_in(tmp_path) == ["ml.zip"]


def test_a_server_without_ranges_begins_anew(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    (tmp_path / "ml.zip.part").write_bytes(server.content[:100])
    fetch(archive_of(server), tmp_path / "ml.zip")
    assert (tmp_path / "ml.zip").read_bytes() == server.content


def test_a_part_that_is_too_long_begins_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / "ml.zip.part").write_bytes(server.content + b"more")
    fetch(archive_of(server), tmp_path / "ml.zip")
    assert server.asked == [None]


def test_going_on_with_something_else_is_noticed_and_begins_anew(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "ml.zip.part").write_bytes(b"x" * 100)
    with pytest.raises(UnreadableFile, match="checksum"):
        fetch(archive_of(server), tmp_path / "ml.zip")
    assert files_in(tmp_path) == []
    fetch(archive_of(server), tmp_path / "ml.zip")
    assert (tmp_path / "ml.zip").read_bytes() == server.content


def test_a_wrong_checksum_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    wanted = archive_of(server, server.content[:-1] + b"x")
    with pytest.raises(UnreadableFile, match="checksum"):
        movielens(folder=tmp_path, archive=wanted, tell=str)
    assert files_in(tmp_path) == []


def test_a_finished_file_of_other_content_is_refused(server: Server, tmp_path: Path) -> None:
    (tmp_path / "ml.zip").write_bytes(b"x" * (len(server.content) + 1))
    with pytest.raises(UnreadableFile, match="another release"):
        fetch(archive_of(server), tmp_path / "ml.zip")


def test_what_is_not_there_or_not_reachable_is_said(server: Server, tmp_path: Path) -> None:
    there = archive_of(server)
    missing = Archive(there.url + ".gone", there.size, there.sha256)
    with pytest.raises(UnreadableFile, match="404"):
        movielens(folder=tmp_path, archive=missing, tell=str)
    closed = Archive("http://127.0.0.1:9/ml.zip", there.size, there.sha256)
    with pytest.raises(UnreadableFile, match=r"hand over a file with path="):
        movielens(folder=tmp_path, archive=closed, tell=str)
    local = Archive("file:///etc/hostname", there.size, there.sha256)
    with pytest.raises(UnreadableFile, match="no web address"):
        movielens(folder=tmp_path, archive=local, tell=str)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil", "ml-test/../../evil", "C:/evil"])
def test_an_archive_with_unsafe_paths_is_refused_and_writes_nothing(
    name: str, tmp_path: Path
) -> None:
    zipped = tmp_path / "in" / "bad.zip"
    zipped.parent.mkdir()
    zipped.write_bytes(archive_bytes(**{name: "evil"}))
    with pytest.raises(UnreadableFile, match="leads outside"):
        unpack(zipped, tmp_path / "out" / "ml")
    assert files_in(tmp_path / "out") == []
    assert files_in(tmp_path / "in") == ["bad.zip"]


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    zipped = tmp_path / "bad.zip"
    info = zipfile.ZipInfo("ml-test/link")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UnreadableFile, match="leads outside"):
        unpack(zipped, tmp_path / "ml")


def test_a_local_archive_is_checked_and_unpacked(tmp_path: Path) -> None:
    body = archive_bytes()
    zipped = tmp_path / "ml.zip"
    zipped.write_bytes(body)
    wanted = Archive("http://127.0.0.1:9/", len(body), hashlib.sha256(body).hexdigest())
    found = movielens(folder=tmp_path / "data", path=zipped, archive=wanted, tell=str)
    assert (found / "movies.csv").exists()
    assert zipped.exists()
    with pytest.raises(UnreadableFile, match="checksum"):
        movielens("32m", folder=tmp_path / "data", path=zipped, tell=str)
    with pytest.raises(UnreadableFile, match="cannot be read"):
        movielens("32m", folder=tmp_path / "data", path=tmp_path / "none.zip", tell=str)


def test_an_unpacked_folder_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("userId,movieId\n")
    with pytest.raises(UnreadableFile, match=r"lacks movies\.csv"):
        movielens(path=tmp_path, tell=str)
    (tmp_path / "movies.csv").write_text("movieId\n")
    assert movielens(path=tmp_path, tell=str) == tmp_path


def test_archives_that_are_none_or_hold_something_else_are_refused(tmp_path: Path) -> None:
    zipped = tmp_path / "x.zip"
    zipped.write_bytes(archive_bytes()[:200])
    with pytest.raises(UnreadableFile, match="no whole archive"):
        unpack(zipped, tmp_path / "ml")
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(UnreadableFile, match=r"no ratings\.csv"):
        unpack(zipped, tmp_path / "ml")
    assert files_in(tmp_path) == ["x.zip"]


def test_wrong_names_and_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean '32m'"):
        movielens("32M", tell=str)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableFile, match="cannot be made"):
        movielens(folder=tmp_path / "file" / "data", tell=str)


def test_published_checksums_are_of_full_length() -> None:
    assert set(ARCHIVES) == {"latest-small", "32m"}
    assert all(len(bytes.fromhex(one.sha256)) == 32 for one in ARCHIVES.values())
