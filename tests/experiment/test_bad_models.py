"""A model that fails is recorded with its traceback, and the others continue."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from experiments import SMALL, contents, write

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadExtension, DuplicateTruth, UnknownName

pytestmark = pytest.mark.usefixtures("plugins")


def with_model(name: str) -> str:
    return SMALL + f'\n[models.mine]\npython = "experiments:{name}"\n'


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("Raising", "ZeroDivisionError", "no luck with <object object at 0x...>"),
        ("Exiting", "SystemExit", "no licence"),
        ("Repeating", "DuplicateItems", "repeat an item of the same list"),
        ("NotANumber", "BadScores", "no finite score"),
        ("Strange", "BadLists", "unknown"),
        ("Greedy", "BadLists", "exceed the 10 requested items"),
        ("contents", "BadExtension", "contents"),
    ],
)
def test_a_bad_model_is_recorded_and_the_others_continue(
    name: str, kind: str, words: str, tmp_path: Path
) -> None:
    run = rt.run(write(tmp_path, with_model(name)))
    (failure,) = run.failures
    assert (failure["stage"], failure["kind"]) == ("models/mine", kind)
    assert words in failure["message"]
    assert "Traceback" in failure["traceback"]
    assert run.exit_code == 1
    assert set(run.results["headline"]) == {"popularity", "item-knn"}
    assert run.results["comparison"]["differences"]
    assert not (run.folder / "predictions" / "mine.parquet").exists()
    assert "models/mine failed" in str(run)


def test_a_model_that_does_not_exist_is_refused_before_any_model_runs(tmp_path: Path) -> None:
    path = write(tmp_path, with_model("Absent"))
    with pytest.raises(UnknownName, match=r"line 31: experiments has no name 'Absent'"):
        rt.run(path, folder=tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_a_failing_model_shows_the_last_line_of_its_own_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = with_model("Raising")
    assert main(["run", str(write(tmp_path, text))]) == 1
    said = capsys.readouterr().out
    assert re.search(r"failed: ZeroDivisionError: .*\n +experiments\.py, line \d+, in fit: ", said)


def test_a_model_with_short_lists_is_counted_and_evaluated(tmp_path: Path) -> None:
    run = rt.run(write(tmp_path, with_model("Short")))
    ledger = run.results["models"]["mine"]["runs"][0]["ledger"]
    assert ledger["counts"]["lists_short"]["count"] > 0
    assert run.exit_code == 0


def test_a_failing_model_gives_identical_files_twice(tmp_path: Path) -> None:
    path = write(tmp_path, with_model("Raising"))
    first = contents(rt.run(path).folder)
    assert contents(rt.run(path).folder) == first


def test_a_failed_model_is_tried_again_when_its_code_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib
    import sys

    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "own_model_once.py"
    module.write_text("from experiments import Raising as Model\n")
    path = write(tmp_path, SMALL + '\n[models.mine]\npython = "own_model_once:Model"\n')
    assert rt.run(path).exit_code == 1
    module.write_text("from experiments import Steady as Model  # fixed\n")
    importlib.invalidate_caches()
    del sys.modules["own_model_once"]
    assert rt.run(path).exit_code == 0


def test_editing_a_custom_model_recomputes_its_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib
    import sys

    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "own_model_twice.py"
    module.write_text("from experiments import Steady as Model\n")
    path = write(tmp_path, SMALL + '\n[models.mine]\npython = "own_model_twice:Model"\n')
    first = rt.run(path).results["headline"]["mine"]
    module.write_text("from experiments import Steady\n\n\ndef Model():\n    return Steady(5)\n")
    importlib.invalidate_caches()
    del sys.modules["own_model_twice"]
    assert rt.run(path).results["headline"]["mine"] != first


def test_a_module_next_to_the_file_can_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "model_beside.py").write_text("from experiments import Steady as Model\n")
    path = write(tmp_path, SMALL + '\n[models.mine]\npython = "model_beside:Model"\n')
    assert rt.run(path).exit_code == 0


def test_no_plugins_runs_no_code_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, with_model("Steady"))
    with pytest.raises(BadExtension, match=r"line 31: .* is custom code, which"):
        rt.run(path, plugins="off")
    assert main(["run", str(path), "--no-plugins"]) == 2
    assert "--no-plugins does not allow" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_objects_of_python_can_be_models_and_data(tmp_path: Path) -> None:
    import experiments
    import polars as pl

    log = pl.DataFrame(
        {"user": [1, 1, 1, 2, 2, 2], "item": [1, 2, 3, 1, 2, 3], "timestamp": [1, 2, 3, 1, 2, 3]}
    )
    run = rt.run(
        {"models": {"popularity": {}}, "evaluate": {"metrics": ["hit@2"], "seen": "kept"},
         "report": {"mode": "off"}, "audit": {"mode": "off"}, "explain": {"mode": "off"}},
        data=log, models={"mine": experiments.Steady()}, folder=tmp_path / "run",
    )  # fmt: skip
    assert run.exit_code == 0, run.failures
    assert set(run.results["headline"]) == {"popularity", "mine"}


def test_a_truth_that_repeats_pairs_is_an_error_before_any_training(tmp_path: Path) -> None:
    steps = '[[prepare]]\nstep = "deduplicate"\nkeep = "first"\n'
    raw = with_model("Raising").replace(steps, "")
    with pytest.raises(DuplicateTruth, match='step = "deduplicate"'):
        rt.run(write(tmp_path, raw))
    counted = raw.replace("[evaluate]\n", '[evaluate]\nconvention = { duplicate_truth = "once" }\n')
    run = rt.run(write(tmp_path, counted))
    assert set(run.results["headline"]) == {"popularity", "item-knn"}
