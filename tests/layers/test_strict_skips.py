"""In CI a test that is skipped for want of something installable fails; other skips do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def outcome(folder: Path, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(f"import pytest\n{text}\ndef test_fine(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", *flags]
    environment = {"PYTHONPATH": str(TESTS), "PATH": ""}
    return subprocess.run(
        [*command, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


WANTING = {
    "in a test": "def test_it(): pytest.skip('missing: java; apt install it')",
    "by a mark": "@pytest.mark.skipif(True, reason='missing: x')\ndef test_it(): pass",
    "in a fixture": "@pytest.fixture\ndef f(): pytest.skip('x is not installed')\n"
    "def test_it(f): pass",
    "by importorskip": "def test_it(): pytest.importorskip('no_such_package')",
    "in a module": "pytest.importorskip('no_such_package')",
}


@pytest.mark.parametrize("flags", [(), ("-n", "1")], ids=["alone", "workers"])
@pytest.mark.parametrize("text", WANTING.values(), ids=WANTING)
def test_skip_for_want_of_something_fails(
    tmp_path: Path, text: str, flags: tuple[str, ...]
) -> None:
    done = outcome(tmp_path, text, "-p", "strict_skips", *flags)
    assert done.returncode, done.stdout
    assert "skipped where nothing may be missing" in done.stdout


def test_other_skips_and_expected_failures_stay(tmp_path: Path) -> None:
    text = "def test_it(): pytest.skip('RECTITUDE_GOLDEN is not set')\n"
    text += "@pytest.mark.xfail(reason='missing: x')\ndef test_that(): raise ValueError"
    assert outcome(tmp_path, text, "-p", "strict_skips").returncode == 0


def test_without_the_plugin_skips_are_skips(tmp_path: Path) -> None:
    assert outcome(tmp_path, WANTING["in a test"]).returncode == 0
