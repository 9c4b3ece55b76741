"""Make a release: check that everything agrees, build, try, tag. Nothing is pushed.

    python tools/release.py            makes dist/ and the tag vVERSION (make release)
    python tools/release.py --check    only says what stands in the way

The version is stated once, in `src/rectitude/_version.py`. CITATION.cff must have the same,
CHANGELOG.md a section with its date, the tree must be clean and the tag new. The wheel is then
installed in a new environment, where `tools/smoke.py` must pass. A person pushes the tag: then the
workflow `release` publishes what it builds from it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

from distribution import ROOT, build, problems, read_version

SMOKE = ROOT / "tools" / "smoke.py"


def obstacles(root: Path, version: str) -> Iterator[str]:
    """Yield what must be mended before a version can be released from a checkout."""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        yield f"_version.py says {version!r}, expected a number such as 1.2.3"
    citation = (root / "CITATION.cff").read_text("utf-8")
    cited = re.search(r"^version: *(\S+)$", citation, re.MULTILINE)
    if cited is None or cited[1] != version:
        yield f"CITATION.cff has version {cited[1] if cited else 'none'}, expected {version}"
    yield from _in_changelog((root / "CHANGELOG.md").read_text("utf-8"), version)
    changed = git(root, "status", "--porcelain")
    if changed:
        yield f"the tree has changes that are not committed (first: {changed.splitlines()[0]})"
    if git(root, "tag", "--list", f"v{version}"):
        yield f"the tag v{version} exists already: raise the version in _version.py"


def _in_changelog(text: str, version: str) -> Iterator[str]:
    found = re.search(rf"^## {re.escape(version)}(.*)$", text, re.MULTILINE)
    if found is None:
        yield f"CHANGELOG.md has no section '## {version} – DATE'"
    elif not re.search(r"\d{4}-\d{2}-\d{2}", found[1]):
        yield f"CHANGELOG.md gives {version} no date: '{found[0]}'"


def git(root: Path, *words: str) -> str:
    """Return what git says."""
    command = ["git", *words]
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()


def try_wheel(wheel: Path) -> None:
    """Install the wheel in a new environment and run the smoke test there."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        environment = {**os.environ, "PYTHONPATH": ""}
        for command in ([python, "-m", "pip", "install", "-qq", str(wheel)], [python, str(SMOKE)]):
            subprocess.run(command, cwd=folder, env=environment, check=True)


def main(words: list[str]) -> int:
    """Check; unless only that is asked for, build, try and tag."""
    version = read_version()
    found = list(obstacles(ROOT, version))
    sys.stdout.write("".join(f"not yet: {line}\n" for line in found))
    if found or "--check" in words:
        return int(bool(found))
    made = build(ROOT / "dist")
    wrong = problems(made)
    sys.stdout.write("".join(f"wrong: {line}\n" for line in wrong))
    if wrong:
        return 1
    try_wheel(made.wheel)
    git(ROOT, "tag", "--annotate", f"v{version}", "--message", f"rectitude {version}")
    sys.stdout.write(f"tagged v{version}. To publish it: git push origin v{version}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
