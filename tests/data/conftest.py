"""What several tests of files share."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import ModuleType

import pytest

MAGIC = b"\x04\x22\x4d\x18"


@pytest.fixture
def lz4(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the package: its frames are not compressed."""
    frame = ModuleType("lz4.frame")
    frame.compress = lambda raw: MAGIC + raw  # type: ignore[attr-defined]

    def unpack(source: Path | io.BytesIO) -> io.BytesIO:
        raw = source.read_bytes() if isinstance(source, Path) else source.read()
        return io.BytesIO(raw.removeprefix(MAGIC))

    frame.open = unpack  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lz4", ModuleType("lz4"))
    monkeypatch.setitem(sys.modules, "lz4.frame", frame)
