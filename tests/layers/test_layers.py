"""The layers hold, imports are cheap, and what is public is there, typed and shipped."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import rectitude
from rectitude.profiles import PROFILES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src" / "rectitude").rglob("*.py"))
HEAVY = [
    "numba",
    "pandas",
    "polars",
    "pyarrow",
    "pydantic",
    "rich",
    "scipy",
    "torch",
    "typer",
    "yaml",
]
# The public surface; it grows only on purpose.
PUBLIC = [
    "METRICS",
    "PROFILES",
    "Audit",
    "Candidates",
    "Comparison",
    "Convention",
    "Diagnosis",
    "Embeddings",
    "Evaluation",
    "Evaluations",
    "Evaluator",
    "Explanation",
    "History",
    "Identification",
    "Interactions",
    "Ledger",
    "Lists",
    "Log",
    "Logits",
    "RectitudeError",
    "Robustness",
    "Run",
    "Scores",
    "Slices",
    "Split",
    "Trace",
    "Verification",
    "__version__",
    "audit",
    "board",
    "candidates",
    "compare",
    "diagnose",
    "evaluate",
    "explain",
    "identify",
    "load",
    "metric",
    "prepare",
    "report",
    "robustness",
    "run",
    "sample",
    "split",
    "trace",
    "verify",
]


def run(code: str, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment.pop("RECTITUDE_KERNELS", None)
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(code: str, *words: str) -> set[str]:
    """The heavy packages that some code loads."""
    said = run(f"{code}\nimport sys; print('loaded:', *sys.modules, sep='\\n')", *words)
    return set(HEAVY) & set(said.partition("loaded:")[2].split())


def test_layer_contracts_hold() -> None:
    from importlinter.application.use_cases import lint_imports
    from importlinter.cli import lint_imports as command  # noqa: F401  (registers the file readers)

    before = Path.cwd()
    sys.path.insert(0, str(ROOT / "src"))
    os.chdir(ROOT)
    try:
        assert lint_imports(cache_dir=None)
    finally:
        os.chdir(before)
        sys.path.remove(str(ROOT / "src"))


def test_every_part_of_the_package_has_a_layer() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = " ".join(contracts[0]["layers"])
    parts = {path.stem for path in (ROOT / "src/rectitude").iterdir() if path.stem[0] not in "_."}
    unplaced = [part for part in parts - {"py"} if f"rectitude.{part}" not in layers.split()]
    assert unplaced == []


def test_import_loads_nothing_heavier_than_numpy() -> None:
    assert loaded_by("import rectitude") == set()


def test_help_loads_only_what_draws_it() -> None:
    code = "from rectitude.cli import main; main(['--help'])"
    assert loaded_by(code) <= {"typer", "rich"}


def test_small_work_compiles_nothing(tmp_path: Path) -> None:
    for name, column in (("truth", ""), ("run", ",score")):
        rows = [f"u{n % 1000},i{n % 97}" + (f",{n % 13}" if column else "") for n in range(10_000)]
        (tmp_path / f"{name}.csv").write_text(
            "\n".join([f"user,item{column}", *dict.fromkeys(rows)])
        )
    code = """
import sys
from rectitude.cli import main
truth, run = (f"{sys.argv[1]}/{name}.csv" for name in ("truth", "run"))
if code := main(["evaluate", "--truth", truth, "--predictions", run]):
    sys.exit(code)
"""
    assert "numba" not in loaded_by(code, str(tmp_path))


def test_public_names_are_the_agreed_ones() -> None:
    assert sorted(rectitude.__all__) == sorted(PUBLIC)
    assert dir(rectitude) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_can_be_imported_and_is_described(name: str) -> None:
    value = getattr(rectitude, name)
    assert name == "__version__" or value.__doc__


def test_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evalaute'"):
        _ = rectitude.evalaute


def test_wheel_holds_types_and_profiles(tmp_path: Path) -> None:
    hatchling = pytest.importorskip("hatchling.build", reason="hatchling is not installed")
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        name = hatchling.build_wheel(str(tmp_path))
    finally:
        os.chdir(before)
    with zipfile.ZipFile(tmp_path / name) as wheel:
        inside = set(wheel.namelist())
    sources = ROOT / "src"
    shipped = [
        p for p in (sources / "rectitude").rglob("*") if p.suffix in (".py", ".toml", ".typed")
    ]
    assert [path for path in shipped if path.relative_to(sources).as_posix() not in inside] == []
    assert not [name for name in inside if not name.startswith("rectitude")]


def profile_names(path: Path) -> list[str]:
    """Profiles that a source names in a string of its own."""
    names = set(PROFILES) - {"default"}
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [value for value in values if value in names]


# Here people choose by name: verbs, forms of output, formats of files, ways of drawing candidates.
CHOSEN_BY_NAME = {"cli", "reports", "formats", "candidates"}


def test_no_code_knows_a_profile_by_name() -> None:
    inside = [path for path in SOURCES if path.parent.name not in CHOSEN_BY_NAME]
    assert [(path.name, profile_names(path)) for path in inside if profile_names(path)] == []


def test_profiles_are_named_where_people_choose_them_and_never_compared_with() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                values = [side.value for side in sides if isinstance(side, ast.Constant)]
                assert not set(PROFILES) & set(map(str, values)) - {"default"}, path.name
