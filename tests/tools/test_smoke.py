"""The smoke test passes here, and its values are those of the sample."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import smoke


def test_this_environment_passes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, smoke.__file__, "arrow"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"numpy": ' in done.stdout


def test_a_value_with_another_last_bit_stops_it() -> None:
    wrong = {**smoke.EXPECTED, "mrr": "0x1.aaf84dff96762p-2"}
    with pytest.raises(SystemExit, match=r"the values of the sample: found .*96762p-2"):
        smoke.expect(wrong, smoke.EXPECTED, "the values of the sample")
