"""The cache of compiled kernels: damaged, full or shared, it never stops an evaluation."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rectitude.kernels import kernel

numba = pytest.importorskip("numba")
caching = pytest.importorskip("numba.core.caching")
kernel_cache = pytest.importorskip("rectitude.kernel_cache")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the cache."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "_SHOWN", set())
    yield tmp_path
    kernel.cache_clear()


def make_kernel() -> Any:
    """Return the kernel as a new process would, without compiled code."""

    def double(values: Any) -> Any:
        return 2 * values

    return kernel(double)


def use(compiled: Any = None, value: float = 1.5) -> tuple[float, int]:
    """Return what a kernel computes, and how often it was loaded from disk."""
    compiled = make_kernel() if compiled is None else compiled
    return compiled(value), sum(compiled.stats.cache_hits.values())


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scramble(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def flip_a_bit(path: Path) -> None:
    """Change machine code in a way that only a checksum notices."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def test_a_kernel_is_loaded_from_disk(folder: Path) -> None:
    assert use() == (3.0, 0)
    assert use() == (3.0, 1)


DAMAGES = [
    *((kind, damage) for kind in ("*.nbi", "*.nbc") for damage in (truncate, empty, scramble)),
    ("*.nbc", flip_a_bit),
]


@pytest.mark.parametrize(("kind", "damage"), DAMAGES)
def test_a_damaged_file_is_replaced_with_one_warning(
    folder: Path, kind: str, damage: Callable[[Path], None]
) -> None:
    use()
    (path,) = folder.rglob(kind)
    damage(path)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert use() == (3.0, 0)
        damage(path)
        assert use() == (3.0, 0)
    assert len(shown) == 1
    assert "was damaged" in str(shown[0].message)
    assert use() == (3.0, 1)


def test_code_of_another_signature_is_not_run(folder: Path) -> None:
    """Two processes that write at the same time can give one file two meanings."""
    compiled = make_kernel()
    use(compiled, 1.5)
    use(compiled, 1)
    first, second = sorted(folder.rglob("*.nbc"))
    first.write_bytes(second.read_bytes())
    assert use(value=1.5) == (3.0, 0)
    assert use(value=1.5) == (3.0, 1)


def test_a_full_disk_costs_time_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str, mode: str = "r", *_: object) -> Any:
        if "w" in mode:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return Path(path).open(mode)

    monkeypatch.setattr(caching, "open", fail, raising=False)
    with pytest.warns(RuntimeWarning, match=r"cannot be written in .*: .*No space left on device"):
        assert use() == (3.0, 0)
    assert use() == (3.0, 0)
    assert list(folder.rglob("*.nb*")) == []


def test_an_unreadable_cache_costs_time_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use()

    def fail(path: str, *_: object) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(caching, "open", fail, raising=False)
    with pytest.warns(RuntimeWarning) as shown:
        assert use() == (3.0, 0)
    assert "cannot be read: [Errno 13]" in str(shown[0].message)


def test_without_any_folder_kernels_are_compiled(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert use() == (3.0, 0)
