"""Install a release in clean environments and try it there: which Pythons, which dependencies.

    python tools/environments.py DIST             every environment; uv must be on the PATH
    python tools/environments.py DIST --only oldest pandas-2
    python tools/environments.py DIST --write     also puts the results into docs/environments.md

DIST is the folder with the wheel and the sdist (`make dist`). Each environment is made anew, the
release is installed as a user would, and `tools/smoke.py` runs in it. Its output is kept in
build/environments/NAME.log. An environment whose Python is not on this machine is not run. Exits 1
if one fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from distribution import read_project

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "environments"
PAGE = ROOT / "docs" / "environments.md"
HEAD = "| environment | Python | installed | versions | result |\n| --- | --- | --- | --- | --- |\n"
NOT_RUN = "not run"
Kind = Literal["wheel", "sdist"]
Versions = Mapping[str, str]
SHOWN = ("numpy", "scipy", "polars", "numba", "pandas", "pyarrow", "torch")


@dataclass(frozen=True)
class Environment:
    """What is installed: a kind of release, extras, and further demands on packages."""

    name: str
    python: str
    extras: tuple[str, ...] = ()
    kind: Kind = "wheel"
    also: tuple[str, ...] = ()
    resolution: Literal["highest", "lowest-direct"] = "highest"

    @property
    def label(self) -> str:
        """What is installed, in the words of the page."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        also = "".join(f", `{demand}`" for demand in self.also)
        oldest = ", oldest versions" if self.resolution == "lowest-direct" else ""
        return f"{self.kind} `{extras}`{also}{oldest}" if extras else f"{self.kind}{also}{oldest}"


USUAL = ("arrow", "speed")
ENVIRONMENTS = (
    Environment("default-3.11", "3.11"),
    Environment("default-3.12", "3.12"),
    Environment("default-3.13", "3.13"),
    Environment("default-3.14", "3.14"),
    Environment("usual-3.11", "3.11", USUAL, also=("pandas",)),
    Environment("usual-3.12", "3.12", USUAL, also=("pandas",)),
    Environment("usual-3.13", "3.13", USUAL, also=("pandas",)),
    Environment("usual-3.14", "3.14", USUAL, also=("pandas",)),
    Environment("sdist-3.11", "3.11", kind="sdist"),
    Environment("sdist-3.13", "3.13", kind="sdist"),
    Environment("oldest", "3.11", resolution="lowest-direct"),
    Environment("oldest-usual", "3.11", USUAL, also=("pandas>=2.1",), resolution="lowest-direct"),
    Environment("pandas-2", "3.11", USUAL, also=("pandas<3",)),
    Environment("numpy-1", "3.11", USUAL, also=("numpy<2", "pandas<3", "pyarrow<20")),
    Environment("numpy-1-3.12", "3.12", also=("numpy<2",)),
    Environment("polars-oldest", "3.13", also=("polars==1.30.0",)),
    Environment("torch", "3.11", ("torch",), also=("torch==2.13.0",)),
    Environment("torch-oldest", "3.11", ("torch",), also=("torch==2.2.0", "numpy<2")),
    Environment("all", "3.11", ("all",), also=("torch==2.13.0", "pandas")),
)


@dataclass(frozen=True)
class Outcome:
    """How one environment did: passed, failed or not run, and the versions that it had."""

    environment: Environment
    result: str
    versions: Versions

    def row(self) -> str:
        """The row of the page."""
        found = ", ".join(
            f"{name} {self.versions[name]}" for name in SHOWN if name in self.versions
        )
        python = self.versions.get("python", self.environment.python)
        cells = [f"`{self.environment.name}`", python, self.environment.label, found, self.result]
        return f"| {' | '.join(cells)} |"


def main(words: list[str]) -> int:
    """Run the environments, print a row for each, and write the page if asked to."""
    parser = argparse.ArgumentParser(description="try a release in clean environments")
    parser.add_argument("dist", type=Path)
    parser.add_argument("--only", nargs="+", choices=[each.name for each in ENVIRONMENTS])
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args(words)
    BUILD.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in ENVIRONMENTS if not arguments.only or one.name in arguments.only]
    outcomes = []
    for environment in chosen:
        outcomes.append(run(environment, arguments.dist))
        sys.stdout.write(outcomes[-1].row() + "\n")
        sys.stdout.flush()
    if arguments.write:
        PAGE.write_text(updated(PAGE.read_text("utf-8"), outcomes), "utf-8")
    return int(any(outcome.result == "failed" for outcome in outcomes))


def run(environment: Environment, dist: Path) -> Outcome:
    """Make an environment, install the release there, and try it."""
    if shutil.which(f"python{environment.python}") is None:
        return Outcome(environment, NOT_RUN, {})
    folder, log = BUILD / environment.name, BUILD / f"{environment.name}.log"
    text = ""
    for command in commands(environment, folder, artefact(dist, environment.kind)):
        done = subprocess.run(
            command, cwd=BUILD, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": "", "PYTHONWARNINGS": "default"},
        )  # fmt: skip
        text += f"$ {' '.join(command)}\n{done.stderr}{done.stdout}"
        log.write_text(text, "utf-8")
        if done.returncode:
            return Outcome(environment, "failed", {})
    shutil.rmtree(folder)
    return Outcome(environment, "passed", json.loads(text.splitlines()[-1]))


def commands(environment: Environment, folder: Path, file: Path) -> list[list[str]]:
    """What is run, in this order: make, install, try."""
    python = str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    extras = f"[{','.join(environment.extras)}]" if environment.extras else ""
    install = ["uv", "pip", "install", "--quiet", "--python", python]
    install += ["--resolution", environment.resolution, f"rectitude{extras} @ {file.as_uri()}"]
    if environment.resolution == "lowest-direct":  # what is named in the command is direct
        install += find_demands(environment.extras)
    return [
        ["uv", "venv", "--quiet", "--clear", "--python", environment.python, str(folder)],
        [*install, *environment.also],
        ["uv", "pip", "check", "--python", python],
        [python, str(ROOT / "tools" / "smoke.py"), *environment.extras],
    ]


def find_demands(extras: tuple[str, ...]) -> list[str]:
    """Return what the project asks for, always and with some extras."""
    project = read_project()
    demands = [*project["dependencies"]]
    for extra in extras:
        demands += project["optional-dependencies"][extra]
    return demands


def artefact(dist: Path, kind: Kind) -> Path:
    """Return the file of a kind in a folder of releases."""
    (file,) = dist.resolve().glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return file


def updated(page: str, outcomes: list[Outcome]) -> str:
    """Return the page with new results; environments that were not run keep what they had."""
    before, found, after = page.partition(HEAD)
    if not found:
        raise ValueError(f"{PAGE.name} has no table with the heading\n{HEAD}")
    table, blank, after = after.partition("\n\n")
    rows = dict(zip(map(name_of, table.splitlines()), table.splitlines(), strict=True))
    for outcome in outcomes:
        name = outcome.environment.name
        if outcome.result != NOT_RUN or name not in rows:
            rows[name] = outcome.row()
    return before + HEAD + "\n".join(rows.values()) + blank + after


def name_of(row: str) -> str:
    """Return the name of the environment in a row of the table."""
    return row.split("|")[1].strip().strip("`")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
