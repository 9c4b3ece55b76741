"""THIRD_PARTY.md: every package that rectitude asks for, why, its licence, and its size on disk.

    python tools/third_party.py            writes the page (make docs)
    python tools/third_party.py --check    exits 1 if pyproject.toml names others than the page

What is asked for stands in pyproject.toml, and why in `WHY`. Licences and sizes are those of the
packages installed here; a package that is not installed keeps the entry it had on the page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from distribution import ROOT, read_project

PAGE = ROOT / "THIRD_PARTY.md"
BUNDLES = ("all", "dev")
WHY = {
    "alembic": "the tables of MLflow's local store",
    "cairosvg": "charts as PNG for papers",
    "codecarbon": "the energy that a run takes",
    "duckdb": "tests: relations of DuckDB as input",
    "faiss-cpu": "approximate search in the examples, and its audit",
    "filelock": "two runs do not write to one folder",
    "hatchling": "builds the wheel and the sdist",
    "hypothesis": "tests: laws on drawn inputs",
    "implicit": "the baselines iALS and BPR",
    "import-linter": "checks: layers are imported one way",
    "ipykernel": "runs the notebooks of the documentation",
    "jinja2": "the HTML of reports",
    "lightning": "tests: the callback in a trainer",
    "lz4": "the runs that ranx saves",
    "mkdocs-material": "the documentation site",
    "mlflow-skinny": "runs are logged to MLflow",
    "mypy": "checks: types",
    "narwhals": "reads any data frame: pandas, Arrow, Modin, cuDF and others",
    "nbclient": "runs the notebooks of the documentation",
    "numba": "compiles the kernels for large inputs",
    "numpy": "arrays; every metric is computed in it",
    "optuna": "tunes the baselines of an experiment",
    "pandas": "tests: frames of pandas",
    "playwright": "tests: reports and the site in a browser",
    "polars": "reads, joins and sorts tables",
    "pre-commit": "quick checks before a commit",
    "pyarrow": "Arrow tables, and frames of pandas without copies",
    "pydantic": "checks the file of an experiment; its JSON schema",
    "pyspark": "evaluates DataFrames of Spark where they lie",
    "pytest": "runs the tests",
    "pytest-xdist": "runs the tests side by side",
    "pytrec_eval-terrier": "tests: trec_eval itself, next to ours",
    "PyYAML": "configurations of RecBole, Elliot, WarpRec and ranx, which are YAML",
    "ray": "evaluates Ray datasets where they lie",
    "rich": "tables and progress in the terminal",
    "ruff": "checks: style and format",
    "scikit-learn": "tests: its metrics next to ours",
    "scipy": "sparse matrices; distributions of significance tests; EASE's factorisation",
    "sqlalchemy": "the tables of MLflow's local store",
    "torch": "evaluation inside PyTorch code, on GPUs",
    "torchmetrics": "metrics in a trainer, and WarpRec's interface for custom ones",
    "triton": "tests: the kernels for GPUs, in Triton's interpreter",
    "twine": "checks that an index can show the README",
    "typer": "the command line",
    "types-PyYAML": "checks: types of PyYAML",
    "zstandard": "tests: files compressed with Zstandard",
}
LICENCES = {"faiss-cpu": "MIT", "scipy": "BSD-3-Clause", "polars": "MIT", "PyYAML": "MIT"}
"""where the metadata of a package name none, or quote its text"""
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
LEAD = f"""# Third-party packages

Everything that rectitude asks for, and why it earns its place. Nothing is copied into the package:
these are installed beside it, under their own licences. Sizes are those on disk with compiled
bytecode, on Linux with Python {PYTHON}, in MB; *with what it needs* also counts the packages
that a package asks for and that the default installation does not have.
"""
HEAD = (
    "| package | asked for | extra | why | licence | MB | with what it needs |\n"
    "|---|---|---|---|---|---:|---:|\n"
)


@dataclass(frozen=True)
class Need:
    """A package that pyproject.toml asks for, with the extras that do; none means always."""

    name: str
    wanted: str
    extras: tuple[str, ...]

    @property
    def identity(self) -> str:
        """What the page and pyproject.toml must agree on: the first cells of the row."""
        extras = ", ".join(f"`{extra}`" for extra in self.extras) or "–"
        return f"| {self.name} | {self.wanted} | {extras} | {WHY.get(self.name, '')} |"


def find_needs() -> list[Need]:
    """Return what pyproject.toml asks for: always, by extras, and for development alone."""
    project = read_project()
    extras: dict[str, list[str]] = project["optional-dependencies"]
    usual = {name: needs for name, needs in extras.items() if name not in BUNDLES}
    found = {each.name: Need(each.name, wanted(each), ()) for each in read(project["dependencies"])}
    for extra, requirements in (*sorted(usual.items()), ("dev", extras["dev"])):
        for each in read(requirements):
            before = found.get(each.name)
            if before is None:
                found[each.name] = Need(each.name, wanted(each), (extra,))
            elif extra != "dev" and before.extras:
                found[each.name] = Need(each.name, before.wanted, (*before.extras, extra))
    return list(found.values())


def read(requirements: Iterable[str]) -> list[Requirement]:
    """Return requirements, read."""
    return [Requirement(text) for text in requirements]


def wanted(requirement: Requirement) -> str:
    """Return the versions that are asked for, in words for a table."""
    return str(requirement.specifier) or "any"


def row(need: Need, base: set[str], old: dict[str, str]) -> str:
    """Return the row of a package, with its old measures if it is not installed."""
    installed = find(need.name)
    if installed is None:
        measures = old.get(need.name, "not installed | – | –")
    else:
        alone, whole = (
            megabytes([need.name]),
            megabytes((closure([need.name]) - base) | {canonicalize_name(need.name)}),
        )
        measures = f"{licence(installed)} | {alone:.1f} | {whole:.1f}"
    return f"{need.identity} {measures} |"


def find(name: str) -> Distribution | None:
    """Return an installed package."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def licence(installed: Distribution) -> str:
    """Return the licence in the metadata of a package."""
    metadata = installed.metadata
    named = LICENCES.get(str(metadata["Name"]))
    if named is not None:
        return named
    if "License-Expression" in metadata:
        return str(metadata["License-Expression"])
    classified = [one for one in metadata.get_all("Classifier") or [] if "License ::" in one]
    if classified:
        return str(classified[0]).rpartition(" :: ")[2]
    return str(metadata["License"]).partition("\n")[0]


def closure(names: Iterable[str]) -> set[str]:
    """Return packages with all that they need, by the names that they have here."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        installed = find(waiting.pop())
        if installed is not None and name_of(installed) not in found:
            found.add(name_of(installed))
            for need in read(installed.requires or []):
                wanted_here = need.marker is None or need.marker.evaluate({"extra": ""})
                waiting += [need.name] * wanted_here
    return found


def name_of(installed: Distribution) -> str:
    """Return the name of a package, in the spelling that all its spellings become."""
    return canonicalize_name(installed.metadata["Name"])


def megabytes(names: Iterable[str]) -> float:
    """Return the size of packages on disk."""
    return sum(map(_size_of, names)) / 1_000_000


def _size_of(name: str) -> int:
    installed = find(name)
    files = (installed.files if installed else None) or []
    paths = (Path(str(path.locate())) for path in files)
    return sum(path.stat().st_size for path in paths if path.is_file())


def make_page() -> str:
    """Return the page as it should be."""
    needs = find_needs()
    default = closure(need.name for need in needs if not need.extras) - {"rectitude"}
    indirect = sorted(default - {canonicalize_name(need.name) for need in needs})
    old = dict(_old_measures())
    groups = {
        "Always": [need for need in needs if not need.extras],
        "With an extra": [need for need in needs if need.extras and need.extras != ("dev",)],
        "For development": [need for need in needs if need.extras == ("dev",)],
    }
    parts = [LEAD]
    for title, members in groups.items():
        ordered = sorted(members, key=lambda need: need.name.lower())
        rows = (row(need, default, old) for need in ordered)
        parts.append(f"## {title}\n\n{HEAD}" + "\n".join(rows))
        if title == "Always":
            total = f"Together: {megabytes(default):.0f} MB."
            parts.append(f"These bring {', '.join(indirect)}. {total}")
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _old_measures() -> Iterator[tuple[str, str]]:
    """The licence and the sizes of every package that the page has, as they stand there."""
    if PAGE.exists():
        for line in PAGE.read_text("utf-8").splitlines():
            cells = line.strip("| ").split(" | ")
            if len(cells) == 7:
                yield cells[0], " | ".join(cells[4:])


def disagreements(page: str) -> list[str]:
    """Return the packages on which the page and pyproject.toml disagree, or of which no reason
    is known."""
    needs = find_needs()
    wrong = [f"no reason for {each.name}: add it to WHY" for each in needs if each.name not in WHY]
    other = [each.name for each in needs if each.identity not in page]
    wrong += [f"{name} is not on the page as pyproject.toml asks for it" for name in other]
    named = set(re.findall(r"^\| ([\w.-]+) \|", page, re.MULTILINE)) - {"package"}
    gone = named - {need.name for need in needs}
    return wrong + [f"{name} is on the page, and nothing asks for it" for name in sorted(gone)]


def main(words: list[str]) -> int:
    """Write the page, or check it."""
    if "--check" not in words:
        PAGE.write_text(make_page(), "utf-8")
    wrong = disagreements(PAGE.read_text("utf-8"))
    sys.stderr.write("".join(f"{line}\n" for line in wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
