"""A stage is run again exactly if something that its output depends on has changed."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from experiments import SMALL, contents, write

import rectitude as rt
from rectitude.experiment import fingerprints
from rectitude.experiment.sources import sources_of
from rectitude.metrics import METRICS

PROFILE = 'framework = "Mine"\nversions = ["1"]\nabout = "Mine."\n\n[convention]\n{}\n'
FOUND = 'ideal = "found"\nundefined = "zero"'


def value(path: Path, model: str = "item-knn", metric: str = "ndcg@10") -> float:
    run = rt.run(path)
    assert run.exit_code == 0, run.failures
    return float(run.results["headline"][model][metric]["value"])


def stages(run: Any) -> dict[str, str]:
    manifest = json.loads((run.folder / "manifest.json").read_text())
    return {one["stage"]: one["key"] for one in manifest["stages"]}


@pytest.mark.parametrize("told", ['"mine.toml"', '{ profile = "mine.toml" }'])
def test_a_profile_file_next_to_the_experiment_is_found_and_its_content_matters(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SMALL.replace("[evaluate]\n", f"[evaluate]\nconvention = {told}\n")
    path = write(tmp_path, text)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "mine.toml").write_text(PROFILE.format('ties = "optimistic"'))
    first = value(path)
    (tmp_path / "mine.toml").write_text(PROFILE.format(FOUND))
    assert value(path) > first


def test_a_profile_to_explain_against_can_be_next_to_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(
        tmp_path, SMALL.replace('mode = "off"\n\n[report]', 'against = "mine.toml"\n\n[report]')
    )
    (tmp_path / "mine.toml").write_text(PROFILE.format(FOUND))
    monkeypatch.chdir(Path(rt.__file__).parent)
    run = rt.run(path)
    assert run.exit_code == 0, run.failures
    assert run.results["explanation"] is not None


def test_a_custom_metric_with_a_new_definition_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = write(tmp_path, SMALL.replace('"ndcg@10"', '"own_metric_of_a_test@10"'))
    found = []
    for worth in (1, 2):
        (tmp_path / f"metric_of_a_test_{worth}.py").write_text(
            "import numpy as np\nimport rectitude as rt\nfrom rectitude.metrics import Ratio\n\n\n"
            '@rt.metric("Own")\ndef own_metric_of_a_test(lists, k):\n    """Always the same."""\n'
            f"    return Ratio(np.full(lists.size, {worth}.0), np.full(lists.size, 2.0))\n"
        )
        importlib.import_module(f"metric_of_a_test_{worth}")
        try:
            found.append(value(path, metric="own_metric_of_a_test@10"))
        finally:
            METRICS.remove("own_metric_of_a_test")
    assert found == [0.5, 1.0]


def test_data_files_of_the_package_count_as_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "rectitude"
    (package / "experiment").mkdir(parents=True)
    (package / "profiles").mkdir()
    monkeypatch.setattr(fingerprints, "__file__", str(package / "experiment" / "fingerprints.py"))
    (package / "profiles" / "one.toml").write_text('ideal = "k"\n')
    before = fingerprints._hash_code()
    (package / "profiles" / "one.toml").write_text('ideal = "reachable"\n')
    assert fingerprints._hash_code() != before


def test_slices_change_neither_the_audit_nor_the_models(tmp_path: Path) -> None:
    text = SMALL.replace('[audit]\nmode = "off"', '[audit]\nmode = "report"')
    one = stages(rt.run(write(tmp_path, text)))
    other = stages(
        rt.run(write(tmp_path, text.replace("[explain]", 'slices = ["known"]\n\n[explain]')))
    )
    assert {name for name in one if one[name] != other[name]} == {
        "evaluate/popularity", "evaluate/item-knn", "compare",
    }  # fmt: skip


def test_models_in_another_order_are_compared_in_that_order(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL)
    rt.run(path)
    popularity, knn = "[models.popularity]\n\n", "[models.item-knn]\nneighbours = 20\n\n"
    write(tmp_path, SMALL.replace(popularity + knn, knn + popularity))
    again = rt.run(path)
    assert contents(again.folder) == contents(rt.run(path, folder=tmp_path / "fresh").folder)


def test_every_seed_keeps_its_own_split(tmp_path: Path) -> None:
    drawn = 'how = "random_ratio"\nratio = 0.2\n'
    before = 'how = "time_ratio"\nratio = 0.2\nvalidation = { how = "time_ratio", ratio = 0.2 }\n'
    path = write(tmp_path, "seed = [1, 2]\n" + SMALL.replace(before, drawn))
    assert {"split/seed-1", "split/seed-2"} <= set(stages(rt.run(path)))
    events: list[Any] = []
    rt.run(path, watchers=[events.append])
    assert [one["stage"] for one in events if one["event"] == "started"] == ["run"]


@pytest.mark.usefixtures("plugins")
def test_editing_a_module_that_a_custom_model_imports_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_with_helper.py").write_text(
        "from experiments import Steady\nfrom helper_of_own import FIRST\n\n\n"
        "def Model():\n    return Steady(FIRST)\n"
    )
    path = write(tmp_path, SMALL + '\n[models.mine]\npython = "own_with_helper:Model"\n')
    found = []
    for first in (0, 25):
        (tmp_path / "helper_of_own.py").write_text(f"FIRST = {first}  # {'x' * first}\n")
        importlib.invalidate_caches()
        sys.modules.pop("own_with_helper", None)
        sys.modules.pop("helper_of_own", None)
        found.append(value(path, "mine"))
    assert found[0] != found[1]


def test_loaded_code_is_identified_by_what_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "loaded_once.py"
    module.write_text("class Model: ...\n")
    before = sources_of("loaded_once:Model")
    module.write_text("class Model: ...  # another\n")
    assert sources_of("loaded_once:Model") == before
    importlib.reload(sys.modules["loaded_once"])
    assert sources_of("loaded_once:Model") != before


def test_a_package_counts_with_all_its_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "own_package"
    package.mkdir()
    for name in ("__init__", "one", "other"):
        (package / f"{name}.py").write_text("")
    assert set(sources_of("own_package.one:Model")) == {
        "own_package/__init__.py", "own_package/one.py", "own_package/other.py",
    }  # fmt: skip
    assert sources_of("no_such_package_anywhere:Model") == {}
