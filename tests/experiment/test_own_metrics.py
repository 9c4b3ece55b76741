"""Metrics of one's own, named by their import path in an experiment and on the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from experiments import SMALL, write

import rectitude as rt
from rectitude.cli.app import main
from rectitude.errors import BadExtension, BadName, BadSetting, UnknownName

LISTS, TRUTH = {"ann": ["a", "b"], "bob": ["c", "d"]}, {"ann": ["a"], "bob": ["d"]}
MODULE = '''
from rectitude.metrics import Ratio
import rectitude as rt
from helper_beside import FACTOR

def first_hit(lists, k):
    """Whether the first item is relevant."""
    return Ratio.of(FACTOR * lists.hits(1).astype(float))

@rt.metric("Found in the top k", name="found_in_top", family="ranking")
def registered(lists, k):
    """Number of hits."""
    return Ratio.of(lists.hits(k).astype(float))

def ndcg(lists, k):
    """A name that is taken."""
    return Ratio.of(lists.hits(k).astype(float))

NUMBER = 3
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module in a folder of its own, and the registry as it was before."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("RECTITUDE_PLUGINS", raising=False)
    (tmp_path / "metrics_beside.py").write_text(MODULE)
    (tmp_path / "helper_beside.py").write_text("FACTOR = 1.0\n")
    before = set(rt.METRICS)
    yield "metrics_beside"
    for name in set(rt.METRICS) - before:
        rt.METRICS.remove(name)
    for name in ("metrics_beside", "helper_beside"):
        sys.modules.pop(name, None)


def experiment(*metrics: str) -> str:
    return SMALL.replace('["ndcg@10", "recall@{5,10}"]', str(list(metrics)).replace("'", '"'))


def test_a_module_next_to_the_experiment_is_found(module: str, tmp_path: Path) -> None:
    names = ["ndcg@10", f"{module}:first_hit", f"{module}:registered@5"]
    run = rt.run(write(tmp_path, experiment(*names)))
    evaluation = run.results["models"]["popularity"]
    assert "first_hit" in str(evaluation)
    assert "found_in_top@5" in str(run.results["headline"])


def test_a_metric_may_be_a_table_as_models_are(module: str, tmp_path: Path) -> None:
    text = experiment("METRICS").replace('"METRICS"', f'"mrr", {{ python = "{module}:first_hit" }}')
    assert {*rt.run(write(tmp_path, text)).results["headline"]["popularity"]} == {
        "mrr",
        "first_hit",
    }


def test_another_table_is_answered_with_the_form_that_works(tmp_path: Path) -> None:
    text = experiment("METRICS").replace('"METRICS"', '{ path = "first_hit" }')
    with pytest.raises(BadSetting, match="'module:Metric@5' for one of your own"):
        rt.run(write(tmp_path, text))


def test_a_change_of_a_module_that_the_metric_imports_is_noticed(
    module: str, tmp_path: Path
) -> None:
    path = write(tmp_path, experiment(f"{module}:first_hit"))
    first = rt.run(path).results["headline"]["popularity"]["first_hit"]
    rt.METRICS.remove("first_hit")
    for name in (module, "helper_beside"):
        del sys.modules[name]
    (tmp_path / "helper_beside.py").write_text("FACTOR = 0.5000\n")
    second = rt.run(path).results["headline"]["popularity"]["first_hit"]
    assert second["value"] == first["value"] / 2 > 0


def test_without_plugins_no_metric_of_the_file_is_imported(module: str, tmp_path: Path) -> None:
    path = write(tmp_path, experiment(f"{module}:first_hit"))
    with pytest.raises(BadExtension, match=r"line 22: metrics_beside:first_hit would run its own"):
        rt.run(path, plugins="off")
    assert module not in sys.modules


def test_a_metric_by_its_path_works_in_evaluate_and_is_stored_by_its_name(
    module: str, tmp_path: Path
) -> None:
    sys.path.append(str(tmp_path))
    evaluation = rt.evaluate(LISTS, TRUTH, [f"{module}:first_hit", f"{module}:registered@2"])
    assert evaluation.values() == {"first_hit": 0.5, "found_in_top@2": 1.0}
    assert evaluation[f"{module}:first_hit"] == 0.5
    assert f"{module}:first_hit is first_hit" in evaluation.ledger.notes["names"]
    assert rt.METRICS["found_in_top"].family == "ranking"
    assert rt.METRICS["first_hit"].family == "own"


def test_on_the_command_line_the_folder_of_the_module_must_be_named(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.csv").write_text("user,item\n1,a\n2,b\n")
    (tmp_path / "lists.csv").write_text("user,item,score\n1,a,2\n2,c,2\n")
    words = ["evaluate", "--truth", "truth.csv", "--predictions", "lists.csv"]
    words += ["--metrics", f"{module}:first_hit"]
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder not in ("", ".")])
    assert main(words) == 2
    assert "add its folder to PYTHONPATH" in capsys.readouterr().err
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert main(words) == 0
    assert "| first_hit | 0.5000 |" in capsys.readouterr().out


def test_what_is_no_metric_is_refused_with_words(module: str, tmp_path: Path) -> None:
    sys.path.append(str(tmp_path))
    with pytest.raises(BadExtension, match="NUMBER is an object of type int, which is no metric"):
        rt.evaluate(LISTS, TRUTH, f"{module}:NUMBER")
    with pytest.raises(UnknownName, match="metrics_beside has no name 'first_hits'"):
        rt.evaluate(LISTS, TRUTH, f"{module}:first_hits")
    with pytest.raises(BadName, match="a metric named 'ndcg' exists already"):
        rt.evaluate(LISTS, TRUTH, f"{module}:ndcg")


def test_the_decorator_without_parentheses_is_refused() -> None:
    with pytest.raises(BadExtension, match="'first' without parentheses") as caught:

        @rt.metric
        def first(lists: object, k: int | None) -> None:
            """The first one."""

    assert "@rt.metric('First hit')" in str(caught.value)


def test_an_experiment_takes_cutoffs_and_names_of_peers(tmp_path: Path) -> None:
    text = experiment("NDCG", "HR@3").replace("[explain]", "cutoffs = [5, 10]\n\n[explain]", 1)
    text = text.replace("\n\ncutoffs", "\ncutoffs")
    run = rt.run(write(tmp_path, text))
    assert list(run.results["headline"]["popularity"]) == ["ndcg@5", "ndcg@10", "hit@3"]


def test_an_experiment_takes_a_table_of_cutoffs(tmp_path: Path) -> None:
    text = SMALL.replace('["ndcg@10", "recall@{5,10}"]', "{ ndcg = [5, 10], recall = 3 }")
    run = rt.run(write(tmp_path, text))
    assert list(run.results["headline"]["popularity"]) == ["ndcg@5", "ndcg@10", "recall@3"]
    wrong = text.replace("recall = 3", "recal = 3")
    with pytest.raises(UnknownName, match=r"line 22: rectitude has no metric 'recal'"):
        rt.run(write(tmp_path, wrong))


def test_the_module_is_not_needed_to_read_results(module: str, tmp_path: Path) -> None:
    sys.path.append(str(tmp_path))
    rt.evaluate(LISTS, TRUTH, f"{module}:first_hit").save(tmp_path / "e.json")
    sys.modules[module] = ModuleType(module)
    assert rt.Evaluation.load(tmp_path / "e.json")[f"{module}:first_hit"] == 0.5
