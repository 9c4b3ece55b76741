"""Compiled code gives the same bits from disk, and loading the compiler leaves no trace."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rectitude as rt
from rectitude import kernels
from rectitude.errors import BadArgument, MissingExtra
from rectitude.kernels import without_gc


class Cell:
    """An object that can refer to itself; then only the garbage collector frees it."""

    itself: Cell


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_nothing_is_collected_meanwhile_and_everything_can_be_afterwards() -> None:
    cell = Cell()
    cell.itself = cell
    seen = weakref.ref(cell)
    with without_gc():
        assert not gc.isenabled()
        del cell
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert seen() is None


def test_errors_pass_and_the_collector_runs_again() -> None:
    with pytest.raises(ImportError), without_gc():
        raise ImportError
    assert gc.isenabled()


def test_a_collector_that_the_caller_stopped_stays_stopped() -> None:
    gc.disable()
    with without_gc():
        pass
    assert not gc.isenabled()


def test_what_the_caller_froze_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with without_gc():
        assert gc.isenabled()
    assert 0 < gc.get_freeze_count() <= frozen


LOSSES = """
import numpy as np
from rectitude.rowkernels.rows import single
logits = 4 * np.random.default_rng(0).standard_normal((50, 1999), dtype=np.float32)
print(single(logits, np.arange(50), "loss")[0].loss.tobytes().hex())
"""


def test_losses_have_the_same_bits_when_compiled_and_when_loaded_from_disk(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    settings = {"RECTITUDE_KERNELS": "numba", "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled, loaded = (
        subprocess.run(
            [sys.executable, "-c", LOSSES], env=os.environ | settings, check=True,
            capture_output=True, text=True,
        ).stdout
        for _ in range(2)
    )  # fmt: skip
    assert list(tmp_path.rglob("*.nbc"))
    assert compiled == loaded


def test_nothing_is_compiled_if_numba_may_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    scores, truth = np.random.default_rng(0).random((5, 80)), np.eye(5, 80)
    monkeypatch.setenv("RECTITUDE_KERNELS", "numpy")
    expected = rt.evaluate(scores, truth, ["ndcg@5", "mrr"]).values()
    monkeypatch.setenv("RECTITUDE_KERNELS", "numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert rt.evaluate(scores, truth, ["ndcg@5", "mrr"]).values() == expected


@pytest.fixture
def without_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An environment where `import numba` fails, as in an installation without `speed`."""
    monkeypatch.delenv("RECTITUDE_KERNELS", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    for function in (kernels._numba, kernels._warn_of_slowness):
        function.cache_clear()
    yield
    for function in (kernels._numba, kernels._warn_of_slowness):
        function.cache_clear()


@pytest.mark.usefixtures("without_numba")
def test_a_large_input_without_numba_names_the_extra_once() -> None:
    with pytest.warns(RuntimeWarning, match=r"several times as long\. pip install 'rectitude\[s"):
        assert not kernels.should_compile(kernels.REPAYS_FROM_ROWS)
    assert not kernels.should_compile(kernels.REPAYS_FROM_ROWS)  # a second warning would raise


@pytest.mark.usefixtures("without_numba")
def test_a_small_input_without_numba_and_a_chosen_numpy_are_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not kernels.should_compile(1000)
    monkeypatch.setenv("RECTITUDE_KERNELS", "numpy")
    assert not kernels.should_compile(kernels.REPAYS_FROM_ROWS)


@pytest.mark.usefixtures("without_numba")
def test_kernels_that_are_demanded_without_numba_are_an_error_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECTITUDE_KERNELS", "numba")
    with pytest.raises(MissingExtra, match=r"pip install 'rectitude\[speed\]'"):
        rt.evaluate({"ann": ["tea"]}, {"ann": ["tea"]}, "mrr")


def test_a_setting_of_kernels_that_does_not_exist_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECTITUDE_KERNELS", "cython")
    with pytest.raises(BadArgument, match="RECTITUDE_KERNELS is 'cython'"):
        kernels.should_compile(10)
