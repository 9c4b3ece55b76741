"""What all tests share: how hypothesis runs, both kinds of kernels, where outside data lies, and a
browser, because two in one process fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--no-first-run", "--disable-quic",
]  # fmt: skip

settings.register_profile(
    "usual",
    deadline=None,
    max_examples=40,
    derandomize=True,
    print_blob=True,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile(
    "fuzz", settings.get_profile("usual"), max_examples=1000, derandomize=False
)
os.environ.setdefault("RECTITUDE_ENERGY", "off")  # a meter of energy starts in seconds
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


@pytest.fixture(params=["numpy", "numba"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with the NumPy twin, and again with the compiled kernels."""
    if request.param == "numba":
        pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    monkeypatch.setenv("RECTITUDE_KERNELS", request.param)
    return str(request.param)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes text or bytes to a file of that name, and says where it is."""

    def to_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to_file


def _folder(variable: str, what: str) -> Path:
    where = os.environ.get(variable)
    if not where:
        pytest.skip(f"{variable} is not set: point it at {what}")
    return Path(where)


@pytest.fixture(scope="session")
def golden() -> Path:
    """The tree of golden values."""
    return _folder("RECTITUDE_GOLDEN", "a tree of golden values")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public data sets."""
    return _folder("RECTITUDE_DATA", "the folder of public data sets")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("missing: chromium (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield opened
        opened.close()
