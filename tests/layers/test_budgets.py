"""The budgets: small files and functions, a core that can be read in an afternoon, few switches."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from rectitude.convention import Convention

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "rectitude"
SOURCES = sorted(PACKAGE.rglob("*.py"))
CORE = ("switch.py", "convention.py", "predictions", "judge", "metrics", "aggregate")

CORE_LINES = 3_500
METRIC_LINES = 16
FILE_LINES = 300
LONGER_FILES = {
    "convention.py": 400,  # the list of all switches, to be read in one go
}
FUNCTION_LINES = 45
LONGER_FUNCTIONS = {
    ("judge/kernels.py", "match_kernel"),  # one compiled pass
    ("cli/evaluate.py", "run"),  # one parameter per option
    ("cli/split.py", "run"),
}


def place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def code(path: Path) -> int:
    """Lines of code: no blank lines, comments, docstrings or imports, and none of the facts that
    decorators of metrics and declarations of switches state in words."""
    text = path.read_text("utf-8")
    words: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = node.body if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else []
        said = [n for n in body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
        said += node.decorator_list if isinstance(node, ast.FunctionDef) else []
        said += [node] if isinstance(node, ast.Import | ast.ImportFrom) else []
        for part in said:
            words.update(range(part.lineno, (part.end_lineno or 0) + 1))
        if isinstance(node, ast.AnnAssign) and path.name == "convention.py":
            words.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(t.strip()) and t.strip()[0] != "#" and n not in words for n, t in lines)


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


@pytest.mark.parametrize("path", SOURCES, ids=place)
def test_file_is_short(path: Path) -> None:
    assert lines(path) <= LONGER_FILES.get(place(path), FILE_LINES)


def test_no_longer_file_is_allowed_without_need() -> None:
    assert [name for name in LONGER_FILES if lines(PACKAGE / name) <= FILE_LINES] == []


def test_core_can_be_read_in_an_afternoon() -> None:
    """All of it but the metrics themselves: those are read one at a time."""
    inside = [path for path in SOURCES if place(path).split("/")[0] in CORE]
    metrics = [lines for path in inside for _, lines in formulas(path)]
    assert sum(code(path) for path in inside) - sum(metrics) < CORE_LINES


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
