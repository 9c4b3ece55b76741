"""A limit on address space (`ulimit -v`): an evaluation works, or ends with one error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rectitude.memory import polars_reserves

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits on address space")
GIGABYTE = 10**9
LIMITED = 'ulimit -v "$1" && shift && exec "$@"'
TABLES = ("lists.csv", "--truth", "truth.parquet", "--metrics", "ndcg@10")
SCORES = ("--scores", "scores.npy", "--truth", "few.csv", "--metrics", "ndcg@10")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that takes about 100 MB while it is evaluated, and scores of 40 MB."""
    made, draws, users = tmp_path_factory.mktemp("limited"), np.random.default_rng(0), 20_000
    lists = {"user": np.repeat(np.arange(users), 15), "item": np.tile(np.arange(15), users)}
    scored = pl.DataFrame({**lists, "score": draws.random(15 * users)})
    scored.write_csv(made / "lists.csv")
    wanted = pl.DataFrame({"user": np.arange(users), "item": draws.integers(0, 15, users)})
    wanted.write_parquet(made / "truth.parquet")
    np.save(made / "scores.npy", draws.random((5000, 2000), dtype=np.float32))
    wanted.head(5000).write_csv(made / "few.csv")
    return made


def evaluate(
    words: Sequence[str], folder: Path, limit: int | None = None, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run the command, within so many bytes of address space."""
    threads = dict.fromkeys(
        ("POLARS_MAX_THREADS", "RECTITUDE_THREADS", "OPENBLAS_NUM_THREADS"), "1"
    )
    kilobytes = "unlimited" if limit is None else str(limit // 1024)
    command = [sys.executable, "-m", "rectitude", "evaluate", *words, "--json"]
    return subprocess.run(
        ["/bin/sh", "-c", LIMITED, "sh", kilobytes, *command], cwd=folder, check=False,
        capture_output=True, text=True, timeout=120, env={**os.environ, **threads, **settings},
    )  # fmt: skip


def values(said: str) -> list[str]:
    return re.findall(r'"value": (.*)', said)


@pytest.fixture(scope="module")
def free(folder: Path) -> dict[Sequence[str], list[str]]:
    """The values without a limit."""
    return {words: values(evaluate(words, folder).stdout) for words in (TABLES, SCORES)}


@pytest.mark.parametrize("limit", [0.35, 0.7, 1.0, 1.2])
@pytest.mark.parametrize("words", [TABLES, SCORES], ids=["tables", "scores"])
def test_too_low_a_limit_is_one_error(words: Sequence[str], limit: float, folder: Path) -> None:
    ended = evaluate(words, folder, int(limit * GIGABYTE))
    assert ended.returncode == 2, ended.stderr
    assert len(re.findall("^error: ", ended.stderr, re.MULTILINE)) == 1
    assert "memory" in ended.stderr or "address space" in ended.stderr
    assert not re.search("Traceback|fault of|bug in", ended.stderr)


@pytest.mark.parametrize("beyond", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("words", [TABLES, SCORES], ids=["tables", "scores"])
def test_with_a_little_more_than_polars_reserves_the_bits_are_the_same(
    words: Sequence[str],
    beyond: float,
    folder: Path,
    free: dict[Sequence[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")
    ended = evaluate(words, folder, polars_reserves() + int(beyond * GIGABYTE))
    assert (ended.returncode, values(ended.stdout)) == (0, free[words]), ended.stderr


def test_kernels_are_compiled_only_where_there_is_space_for_them(
    folder: Path, free: dict[Sequence[str], list[str]]
) -> None:
    refused = evaluate(SCORES, folder, int(1.6 * GIGABYTE), RECTITUDE_KERNELS="numba")
    assert refused.returncode == 2
    assert "TooLarge: RECTITUDE_KERNELS=numba asks for compiled kernels" in refused.stderr
    compiled = evaluate(SCORES, folder, 3 * GIGABYTE, RECTITUDE_KERNELS="numba")
    assert (compiled.returncode, values(compiled.stdout)) == (0, free[SCORES])
