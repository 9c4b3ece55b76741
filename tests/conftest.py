"""What all tests share: how hypothesis runs, both kinds of kernels, and where outside data lies."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

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
