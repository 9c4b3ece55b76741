"""What keeps the house in order: short functions, one idea per name, metrics with their helpers,
and a short walk from two files to a number."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rectitude.convention import Convention

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "rectitude"
SOURCES = sorted(PACKAGE.rglob("*.py"))
METRIC_LINES = 16
FUNCTION_LINES = 45
LONGER_FUNCTIONS = {
    ("judge/match.py", "match_kernel"),  # one compiled pass
    ("torch/kernels/logits_triton.py", "count_rows"),  # compiled passes over a row, like it
    ("torch/kernels/products_triton.py", "top_tiled"),
    ("torch/kernels/ranks_triton.py", "count_rows"),
    ("torch/kernels/ranks_triton.py", "count_listed"),
    ("cli/evaluate.py", "run"),  # one parameter per option
    ("cli/split.py", "run"),
    ("evaluation/evaluate.py", "evaluate"),  # one parameter per input
    ("cli/candidates.py", "run"),
    ("cli/convert.py", "run"),
}


def place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def formulas(path: Path) -> list[tuple[str, int]]:
    """The functions that are metrics, and how many lines of code each takes."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and any(map(makes_metric, node.decorator_list)):
            words = len(inspect.cleandoc(ast.get_docstring(node) or "").splitlines())
            found.append((node.name, (node.end_lineno or 0) - node.lineno + 1 - words))
    return found


def makes_metric(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "").endswith("metric")


def functions() -> list[tuple[str, str, int]]:
    return [
        (place(path), node.name, (node.end_lineno or 0) - node.lineno + 1)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_a_metric_takes_few_lines() -> None:
    sizes = {name: size for path in SOURCES for name, size in formulas(path)}
    assert [name for name, size in sizes.items() if size > METRIC_LINES] == []
    assert sum(size <= 10 for size in sizes.values()) >= 0.9 * len(sizes)


def test_convention_has_few_switches() -> None:
    assert len(dataclasses.fields(Convention)) < 40


def test_functions_are_short() -> None:
    long = [
        f"{path}:{name} has {size} lines"
        for path, name, size in functions()
        if size > FUNCTION_LINES and (path, name) not in LONGER_FUNCTIONS
    ]
    assert long == []


def test_nearly_all_functions_fit_thirty_lines() -> None:
    sizes = [size for _, _, size in functions()]
    assert sum(size <= 30 for size in sizes) >= 0.95 * len(sizes)


@pytest.mark.parametrize("path", SOURCES, ids=place)
def test_source_asserts_nothing_and_leaves_nothing_for_later(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(text)))
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", text)


def classes(path: Path) -> list[str]:
    """The public classes that a source defines at its top."""
    nodes = ast.parse(path.read_text("utf-8")).body
    return [n.name for n in nodes if isinstance(n, ast.ClassDef) and n.name[0] != "_"]


def test_no_public_class_name_is_used_twice() -> None:
    """One name stands for one idea; `rectitude.torch.Evaluator` is the other one's, on tensors."""
    names = Counter(
        name
        for path in SOURCES
        for name in classes(path)
        if (place(path), name) != ("torch/evaluator.py", "Evaluator")
    )
    assert {name: times for name, times in names.items() if times > 1} == {}


def importers() -> dict[str, set[str]]:
    """For every module below `rectitude`, the modules that import it."""
    known = {module(path) for path in SOURCES}
    found: dict[str, set[str]] = {name: set() for name in known}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rectitude"):
                for alias in node.names:
                    below = f"{node.module}.{alias.name}"
                    found.get(below if below in known else str(node.module), set()).add(
                        module(path)
                    )
    return found


def module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_helpers_of_one_metric_family_lie_with_it() -> None:
    """What serves formulas alone lies in `metrics`, not in a layer below where others look for
    what everybody shares."""
    above = ("rectitude.metrics",)
    below = ("rectitude.data.", "rectitude.judge.", "rectitude.aggregate.")
    strays = [
        name
        for name, who in importers().items()
        if name.startswith(below) and who and all(other.startswith(above) for other in who)
    ]
    assert strays == []


MOST_MODULES = 35


def test_the_walk_from_two_files_to_a_number_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "walk.py")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    with capsys.disabled():
        print(f"\n{done.stdout}", end="")
    modules = int(done.stdout.splitlines()[-1].split()[0])
    assert modules <= MOST_MODULES, done.stdout
