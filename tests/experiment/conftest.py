"""A folder with a small experiment in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import SMALL, write


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of a small experiment."""
    return write(tmp_path, SMALL)


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make custom models in the folder of the tests importable."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parent))
