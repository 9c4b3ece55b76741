"""The example experiments, on real data."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import rectitude as rt
from rectitude.experiment.run import plan

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples/experiments").glob("*.toml"))


@pytest.fixture
def data(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of public data sets, as the examples look for it."""
    monkeypatch.setenv("RECTITUDE_DATA", str(real_data))
    return real_data


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_is_sound(path: Path, data: Path, tmp_path: Path) -> None:
    folder = path.stem
    if not (data / folder).is_dir():
        pytest.skip(f"RECTITUDE_DATA holds no {folder}")
    stages = plan(path, folder=tmp_path / "run")
    assert ("compare", "to do") in stages
    assert any(name.startswith("models/popularity") for name, _ in stages)


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_that_tunes_says_what_it_needs(path: Path) -> None:
    text = path.read_text("utf-8")
    header, tuned = text.partition("\n\n")[0], ".tune]" in text
    assert ("pip install 'rectitude[tune]'" in header) == tuned


def test_ease_and_neighbours_clearly_beat_popularity_on_movielens(
    data: Path, tmp_path: Path
) -> None:
    if not (data / "ml-100k").is_dir():
        pytest.skip("RECTITUDE_DATA holds no ml-100k")
    path = next(path for path in EXAMPLES if path.stem == "ml-100k")
    told = tomllib.loads(path.read_text("utf-8"))
    told |= {"models": {"popularity": {}, "item-knn": {}, "ease": {}, "random": {}}}
    told |= {"evaluate": {"metrics": ["ndcg@10"]}, "name": "ml-100k"}
    told |= {name: {"mode": "off"} for name in ("audit", "explain", "report")}
    run = rt.run(told, folder=tmp_path / "run")
    assert run.exit_code == 0, run.failures
    value = {name: of["ndcg@10"]["value"] for name, of in run.results["headline"].items()}
    assert value["ease"] > 1.5 * value["popularity"]
    assert value["item-knn"] > 1.3 * value["popularity"]
    assert value["popularity"] > 5 * value["random"]
    differences = run.results["comparison"]["differences"]
    assert all(one["significant"] for one in differences if one["model"] in ("ease", "item-knn"))
