"""The example package: installed by pip, its metrics work in `evaluate` and on the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "examples" / "custom_metric_package"


def run(*words: str | Path, path: list[Path], cwd: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, [*path, ROOT / "src"]))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONUTF8": "1", "NO_COLOR": "1"}
    environment.pop("RECTITUDE_PLUGINS", None)
    command = [sys.executable, *map(str, words)]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the installed package; no network and no dependencies."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: pip install hatchling")
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(PACKAGE, folder / "package")
    pip = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    done = run(*pip, "--target", folder / "site", folder / "package", path=[], cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    lists = [f"u{u},i{(u * 7 + rank) % 20},{rank}" for u in range(6) for rank in range(1, 13)]
    truth = [f"u{u},i{(u * 5 + n * 3) % 20}" for u in range(6) for n in range(4)]
    (tmp_path / "recs.csv").write_text("\n".join(["user,item,rank", *lists]))
    (tmp_path / "test.csv").write_text("\n".join(["user,item", *truth]))
    return tmp_path


ARGUMENTS = ("evaluate", "--truth", "test.csv", "--predictions", "recs.csv", "--metrics")


def test_metrics_of_an_installed_package_work_on_the_command_line(site: Path, files: Path) -> None:
    names = ("enough@10", "enough[least=3]@10", "ShelfHits[width=1]@10", "precision@10")
    command = ("-W", "error", "-m", "rectitude", *ARGUMENTS, *names, "--definitions")
    done = run(*command, "--per-list", "values.csv", path=[site], cwd=files)
    assert done.returncode == 0, done.stderr
    assert "| ShelfHits[width=1]@10 |" in done.stdout
    assert "shelves of 1 places with anything relevant" in done.stdout
    values = pl.read_csv(files / "values.csv")
    # A shelf of one rank has a hit exactly if the item at that rank is relevant.
    assert values["ShelfHits[width=1]@10"].to_list() == values["precision@10"].to_list()
    assert 0 < values["enough[least=3]@10"].mean() < values["enough@10"].mean() < 1


def test_metrics_of_a_package_are_loaded_only_when_asked_for(site: Path, files: Path) -> None:
    script = (
        "import sys, rectitude as rt\n"
        "rt.evaluate('recs.csv', 'test.csv', 'ndcg@10')\n"
        "assert not {'torch', 'shelf_metrics'} & set(sys.modules)\n"
        "from rectitude.torch.metrics import MetricSet\n"
        "print(list(MetricSet(['shelfhits'], (5, 10), num_users=3).members))\n"
    )
    done = run("-W", "error", "-c", script, path=[site], cwd=files)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['ShelfHits@5', 'ShelfHits@10']\n"


def test_a_broken_package_is_named_and_the_rest_works(site: Path, files: Path) -> None:
    broken = files / "torch.py"
    broken.write_text("raise ImportError('no torch here')")
    done = run("-m", "rectitude", *ARGUMENTS, "enough@10", path=[files, site], cwd=files)
    assert done.returncode == 0, done.stderr
    assert "enough@10" in done.stdout
    assert "metrics of package 'shelf-metrics' failed to load: ImportError" in done.stderr
