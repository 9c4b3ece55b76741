"""The generated reference is complete: every public name and method, every command and option."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def api() -> Iterator[ModuleType]:
    """The module that makes the page."""
    pytest.importorskip("torch", reason="missing: pip install torch")
    sys.path.insert(0, str(DOCS))
    try:
        yield importlib.import_module("api")
    finally:
        sys.path.remove(str(DOCS))


@pytest.mark.parametrize(
    "module", ["rectitude", "rectitude.torch", "rectitude.torch.metrics", "rectitude.metrics"]
)
def test_every_public_name_has_an_entry(api: ModuleType, module: str) -> None:
    listed = {name for of, names in api.GROUPS.values() if of == module for name in names}
    elsewhere = {"__version__", "METRICS", "metric"} if module != "rectitude" else {"__version__"}
    public = set(importlib.import_module(module).__all__)
    assert public - elsewhere - listed == set(), "add it to GROUPS in docs/api.py"
    assert listed <= public


def test_every_public_method_has_a_signature_and_says_what_it_does(api: ModuleType) -> None:
    page = (DOCS / "api.md").read_text("utf-8")
    for module, names in api.GROUPS.values():
        for name in names:
            value = getattr(importlib.import_module(module), name)
            for method, function in api.members(value).items() if inspect.isclass(value) else ():
                shown = f"**`{method}`**" if isinstance(function, property) else f".{method}("
                assert shown in page, f"{module}.{name}.{method}"
                assert inspect.getdoc(function), f"{module}.{name}.{method} says nothing"


def test_every_command_is_on_the_page() -> None:
    from rectitude.cli.app import app

    page = (DOCS / "cli.md").read_text("utf-8")
    names = [one.name for one in app.registered_commands]
    assert len(names) > 15
    assert [name for name in names if f"\n## {name}\n" not in page] == []
