"""Build the wheel and the sdist, and check what is in them.

    python tools/distribution.py [FOLDER]     builds into FOLDER (dist) and checks (make dist)

The wheel must have every file of the package and nothing else, the marker of its types, the
command, and the metadata of pyproject.toml; the sdist what a build and the tests need, and nothing
that git ignores. `twine` checks that an index can show the long description.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO", "constraints.txt")
MOST_MEGABYTES = 8


@dataclass(frozen=True)
class Distribution:
    """The two files of a release."""

    wheel: Path
    sdist: Path


def build(folder: Path) -> Distribution:
    """Build both files into a folder, in place of those that it has."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the build failed:\n{done.stderr}")
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Distribution(wheel, sdist)


def problems(made: Distribution) -> list[str]:
    """Return what is wrong with a release; nothing, if it may be published."""
    return [*_in_wheel(made.wheel), *_in_sdist(made.sdist), *_in_sizes(made), *_of_twine(made)]


def read_project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def read_version() -> str:
    """Return the version that the package states."""
    text = (ROOT / "src" / "rectitude" / "_version.py").read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    return str(version)


def _in_wheel(wheel: Path) -> Iterator[str]:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = f"rectitude-{read_version()}.dist-info/"
        if info + "METADATA" not in names:
            yield f"the wheel has no {info}METADATA"
            return
        metadata = Parser().parsestr(archive.read(info + "METADATA").decode())
        commands = archive.read(info + "entry_points.txt").decode()
    inside = {name for name in names if not name.startswith(info)}
    tracked = {path.removeprefix("src/") for path in list_tracked("src/rectitude")}
    yield from (f"the wheel lacks {name}" for name in sorted(tracked - inside))
    yield from (f"the wheel has {name}, which git does not" for name in sorted(inside - tracked))
    if "rectitude/py.typed" not in names:
        yield "the wheel lacks rectitude/py.typed, so that its types are not used"
    if info + "licenses/LICENSE" not in names:
        yield "the wheel lacks the licence"
    if "rectitude = rectitude.cli:main" not in commands:
        yield "the wheel does not install the command rectitude"
    yield from _in_metadata(metadata)


def _in_metadata(metadata: Message) -> Iterator[str]:
    project = read_project()
    expected = {
        "Name": project["name"],
        "Version": read_version(),
        "Summary": project["description"],
        "Requires-Python": project["requires-python"],
        "License-Expression": project["license"],
        "Description-Content-Type": "text/markdown",
    }
    for key, value in expected.items():
        if metadata[key] != value:
            yield f"the metadata say {key}: {metadata[key]}, expected {value}"
    if {*metadata.get_all("Provides-Extra", [])} != {*project["optional-dependencies"]}:
        yield f"the metadata have the extras {metadata.get_all('Provides-Extra')}"
    if "Typing :: Typed" not in metadata.get_all("Classifier", []):
        yield "the metadata do not say that the package is typed"
    if str(metadata.get_payload()).strip() != (ROOT / "README.md").read_text("utf-8").strip():
        yield "the long description is not the README"


def _in_sdist(sdist: Path) -> Iterator[str]:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = list_tracked(".")
    yield from (f"the sdist lacks {name}" for name in NEEDED if name not in names)
    source = {name for name in tracked if name.startswith(("src/", "tests/"))}
    yield from (f"the sdist lacks {name}" for name in sorted(source - names))
    extra = names - tracked - {"PKG-INFO"}
    yield from (f"the sdist has {name}, which git does not" for name in sorted(extra))


def _in_sizes(made: Distribution) -> Iterator[str]:
    for path in (made.wheel, made.sdist):
        if path.stat().st_size > MOST_MEGABYTES * 1_000_000:
            yield f"{path.name} is larger than {MOST_MEGABYTES} MB"


def _of_twine(made: Distribution) -> Iterator[str]:
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict"]
    command += [str(made.wheel), str(made.sdist)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"twine says:\n{done.stdout}{done.stderr}"


def list_tracked(folder: str) -> set[str]:
    """Return the files below a folder that git has, or would have once they are added."""
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", folder]
    said = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in said.split("\0") if name and (ROOT / name).is_file()}


def main(words: list[str]) -> int:
    """Build, check, and print what was made."""
    folder = Path(words[0]).resolve() if words else ROOT / "dist"
    made = build(folder)
    wrong = problems(made)
    for path in (made.wheel, made.sdist):
        sys.stdout.write(f"{path.name}  {path.stat().st_size / 1_000_000:.1f} MB\n")
    sys.stdout.write("".join(f"wrong: {line}\n" for line in wrong) or "checked: nothing is wrong\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
