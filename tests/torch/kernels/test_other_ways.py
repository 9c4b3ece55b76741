"""The Triton kernels pass these tests on the CPU, in Triton's interpreter, and on a GPU.

The interpreter is chosen when the kernels are imported, so they run in a process of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = sorted(str(file) for file in Path(__file__).parent.glob("test_kernel_*.py"))
INTERPRETER = {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}  # the arrays are small


def run_tests(*options: str, **settings: str) -> None:
    """Run the tests of the Triton kernels in a process with other settings."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *options, *FILES],
        env={**os.environ, "RECTITUDE_TORCH_KERNELS": "triton", **settings},
        capture_output=True,
        text=True,
        timeout=1_000,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-5_000:] + run.stderr[-2_000:]


def test_the_kernels_pass_in_the_interpreter() -> None:
    pytest.importorskip("triton", reason="missing: triton (pip install 'rectitude[dev]')")
    # The interpreter computes with NumPy, which warns of NaN and overflow.
    run_tests("-W", "ignore::RuntimeWarning", **INTERPRETER)


def test_the_kernels_pass_on_a_gpu() -> None:
    torch = pytest.importorskip("torch", reason="missing: torch (pip install 'rectitude[dev]')")
    if not torch.cuda.is_available():
        pytest.skip("this machine has no CUDA device")
    run_tests(RECTITUDE_TEST_DEVICE="cuda")
