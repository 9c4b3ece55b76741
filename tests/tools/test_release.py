"""A release is made only if version, citation, changelog and tree agree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import distribution
import release

CITATION = "cff-version: 1.2.0\nversion: 1.2.3\n"
CHANGES = "# Changelog\n\n## 1.2.3 – 2030-01-31\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small checkout in which version 1.2.3 may be released."""
    (tmp_path / "CITATION.cff").write_text(CITATION)
    (tmp_path / "CHANGELOG.md").write_text(CHANGES, "utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_nothing_is_in_the_way_where_all_agree(checkout: Path) -> None:
    assert list(release.obstacles(checkout, "1.2.3")) == []


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("CITATION.cff", "version: 1.2.2\n", "CITATION.cff has version 1.2.2, expected 1.2.3"),
        ("CHANGELOG.md", "## 1.2.2\n", "CHANGELOG.md has no section '## 1.2.3 – DATE'"),
        ("CHANGELOG.md", "## 1.2.3 – unreleased\n", "gives 1.2.3 no date"),
        ("notes.txt", "x", "the tree has changes that are not committed (first: ?? notes.txt)"),
    ],
)
def test_what_does_not_agree_is_named(checkout: Path, name: str, content: str, found: str) -> None:
    (checkout / name).write_text(content, "utf-8")
    assert any(found in line for line in release.obstacles(checkout, "1.2.3"))


def test_a_version_is_not_released_twice(checkout: Path) -> None:
    subprocess.run(["git", "tag", "v1.2.3"], cwd=checkout, check=True)
    (line,) = release.obstacles(checkout, "1.2.3")
    assert line == "the tag v1.2.3 exists already: raise the version in _version.py"


def test_the_citation_names_the_version_of_the_package() -> None:
    citation = (distribution.ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {distribution.read_version()}\n" in citation
