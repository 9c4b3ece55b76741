"""Histories of training: what is best, when to stop, and what is kept."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    MetricFailed,
    MissingNeed,
    NotComparable,
    NothingToEvaluate,
    UndefinedValue,
    UnknownName,
    UnreadableFile,
)
from rectitude.metrics import METRICS, Ratio

TRUTH = {"ann": ["b"]}
AT = {1: [3.0, 2.0, 1.0], 2: [2.0, 3.0, 1.0], 3: [1.0, 3.0, 2.0]}


def evaluated(rank: int, *metrics: str, convention: object = None) -> rt.Evaluation:
    """Evaluate one list, whose only relevant item is at this rank."""
    names = metrics or ("mrr", "mean_rank")
    scores = rt.Scores(np.array([AT[rank]]), users=["ann"], items=["b", "c", "d"])
    return rt.evaluate(scores, TRUTH, names, convention=convention)


def history(*ranks: int, metric: str = "") -> rt.History:
    made = rt.History(metric)
    for epoch, rank in enumerate(ranks):
        made.add(10 * epoch, evaluated(rank), losses={"loss": float(rank)}, seconds=(2.0, 0.5))
    return made


def test_the_best_epoch_is_that_of_the_highest_value_and_the_first_of_equals() -> None:
    found = history(2, 1, 3, 1).best("mrr")
    assert (found.index, found.number, found.evaluation["mrr"]) == (1, 10, 1.0)


def test_the_registry_says_which_values_are_better() -> None:
    assert METRICS["mean_rank"].best == "low"
    assert history(2, 3, 1).best("mean_rank").number == 20


def test_losses_are_best_if_low() -> None:
    assert history(2, 3, 1).best("loss").number == 20


def test_a_name_may_be_written_in_any_way_that_is_read() -> None:
    made = rt.History()
    made.add(0, evaluated(1, "ndcg[gain=exp2]@2"))
    assert made.best("ndcg[ gain=exp2 ]@2").number == 0


def test_best_and_stop_look_at_the_metric_of_the_history_or_at_the_first_number() -> None:
    assert history(2, 1, 3).best().number == 10
    assert history(2, 1, 3, metric="mean_rank").best().number == 10
    assert history(2, 1, 3, metric="loss").best().number == 10


@pytest.mark.parametrize(
    ("ranks", "patience", "stops"),
    [
        ((), 1, False),
        ((1,), 1, False),
        ((1, 1), 1, True),  # equal is not better
        ((2, 1), 1, False),
        ((1, 2, 2), 2, True),
        ((2, 1, 2), 2, False),
    ],
)
def test_training_stops_when_patience_is_over(
    ranks: tuple[int, ...], patience: int, stops: bool
) -> None:
    assert history(*ranks).stop(patience, "mrr") is stops


def test_undefined_values_are_never_the_best() -> None:
    made = history(2)
    nothing = replace(evaluated(1).results["mrr"], value=math.nan)
    made.add(10, replace(evaluated(1), results={"mrr": nothing}))
    made.add(20, evaluated(1))
    assert made.best("mrr").number == 20
    assert made.curves()["mrr"].to_list() == [0.5, None, 1.0]


def test_a_metric_that_is_undefined_everywhere_has_no_best() -> None:
    made = rt.History()
    nothing = replace(evaluated(1).results["mrr"], value=math.nan)
    made.add(0, replace(evaluated(1), results={"mrr": nothing}))
    with pytest.raises(UndefinedValue, match="mrr is undefined in all 1 epochs"):
        made.best()
    assert "undefined" not in str(made)  # the table is printed anyway
    made.plot()


def test_a_failed_metric_is_distinguished_from_a_missing_one() -> None:
    def often_fails(lists: Any, k: int | None) -> Ratio:
        raise RuntimeError("no")

    rt.metric("Fails")(often_fails)
    try:
        made = rt.History()
        made.add(0, evaluated(1, "mrr", "often_fails"))
        with pytest.raises(MetricFailed, match="no"):
            made.best("often_fails")
        with pytest.raises(UnknownName, match="did you mean 'mrr'"):
            made.best("mr")
    finally:
        METRICS.remove("often_fails")


def test_an_empty_history_says_so() -> None:
    for ask in (rt.History().best, rt.History().line, rt.History().best_line):
        with pytest.raises(NothingToEvaluate, match="has no epochs"):
            ask()
    assert rt.History().curves().columns == ["epoch"]
    assert "epoch" in str(rt.History())


def test_epochs_come_in_order_and_once() -> None:
    made = history(1, 2)
    with pytest.raises(BadArgument, match="epoch 10 was added after epoch 10"):
        made.add(10, evaluated(1))
    assert len(made) == 2


def test_another_definition_under_the_same_name_is_refused_and_changes_nothing() -> None:
    made = rt.History()
    made.add(0, evaluated(1, "ndcg@2"))
    with pytest.raises(NotComparable, match="ndcg@2 is defined differently in epochs 0 and 1"):
        made.add(1, evaluated(1, "ndcg@2", convention={"gain": "exp2"}))
    made.add(1, evaluated(1, "ndcg@2"))
    assert len(made) == 2


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"epoch": "one"}, BadArgument, "epoch is 'one'"),
        ({"epoch": 1.5}, BadArgument, "epoch is 1.5"),
        ({"evaluation": {"mrr": 1.0}}, BadArgument, "evaluation is of type dict"),
        ({"losses": "low"}, BadArgument, "losses is 'low'"),
        ({"losses": {"loss": None}}, BadArgument, "losses is"),
        ({"losses": {"mrr": 1.0}}, NotComparable, "'mrr' is a loss and a metric"),
        ({"losses": {"epoch": 1.0}}, NotComparable, "'epoch' is a loss and the number of the"),
        ({"seconds": (1.0, 2.0, 3.0)}, BadArgument, "seconds is"),
        ({"seconds": -1.0}, BadArgument, "seconds is"),
        ({"seconds": "soon"}, BadArgument, "seconds is"),
    ],
)
def test_invalid_arguments_are_refused_and_leave_the_history_unchanged(
    arguments: dict[str, Any], kind: type[Exception], words: str
) -> None:
    made = history(1)
    with pytest.raises(kind, match=words):
        made.add(**{"epoch": 99, "evaluation": evaluated(1), **arguments})
    assert len(made) == 1


def test_a_loss_may_have_a_name_that_is_not_a_metric() -> None:
    made = rt.History()
    made.add(0, evaluated(1), losses={"loss@": 2.0})
    made.add(1, evaluated(1), losses={"loss@": 1.0})
    assert made.best("loss@").number == 1


def test_a_name_is_a_loss_or_a_metric_in_all_epochs() -> None:
    made = rt.History()
    made.add(0, evaluated(1, "mrr"), losses={"hit@1": 5.0})
    with pytest.raises(NotComparable, match="'hit@1' is a loss and a metric"):
        made.add(1, evaluated(1, "mrr", "hit@1"))
    with pytest.raises(NotComparable, match="'mrr' is a loss and a metric"):
        made.add(1, evaluated(1, "hit@2"), losses={"mrr": 1.0})
    assert len(made) == 1


@pytest.mark.parametrize("patience", [0, None, "3", 1.5])
def test_patience_is_a_whole_number_of_at_least_1(patience: Any) -> None:
    with pytest.raises(BadArgument, match=f"patience is {patience!r}"):
        history(1).stop(patience)


def test_a_wrong_name_is_reported_after_the_first_epoch() -> None:
    with pytest.raises(UnknownName, match="did you mean 'mrr'"):
        history(1, metric="mr").stop(10)
    with pytest.raises(UnknownName, match="did you mean 'mean_rank'"):
        history(1).stop(10, "meen_rank")


def test_a_metric_that_is_undefined_so_far_stops_nothing_until_patience_is_over() -> None:
    made = rt.History()
    for epoch, stops in enumerate((False, False, None)):
        nothing = replace(evaluated(1).results["mrr"], value=math.nan)
        made.add(epoch, replace(evaluated(1), results={"mrr": nothing}))
        if stops is None:
            with pytest.raises(UndefinedValue, match="undefined in all 3 epochs"):
                made.stop(2)
        else:
            assert made.stop(2) is stops


def test_losses_may_be_numbers_of_any_kind() -> None:
    made = rt.History()
    made.add(np.int64(3), evaluated(1), losses=np.float32(0.5), seconds=1)
    assert (made[0].number, made[0].losses, made[0].seconds) == (3, {"loss": 0.5}, (1.0, 0.0))


def test_a_loss_may_be_a_tensor_that_still_has_its_gradient() -> None:
    torch = pytest.importorskip(
        "torch", reason="torch is not installed: pip install 'rectitude[torch]'"
    )
    made = rt.History()
    made.add(0, evaluated(1), losses=torch.tensor(0.5, requires_grad=True) * 2)
    assert made[0].losses == {"loss": 1.0}


def test_a_history_is_shown_even_if_its_metric_is_not_installed(tmp_path: Path) -> None:
    def passing(lists: Any, k: int | None) -> Ratio:
        return Ratio.of(np.ones(lists.size))

    rt.metric("Passing")(passing)
    try:
        made = rt.History()
        made.add(0, evaluated(1, "passing"))
        made.save(tmp_path / "run.json")
    finally:
        METRICS.remove("passing")
    again = rt.History.load(tmp_path / "run.json")
    assert "passing" in str(again) and "best" not in str(again)
    again.plot()
    with pytest.raises(UnknownName, match="no metric 'passing'"):
        again.best()


def test_curves_are_a_table_with_nulls_where_an_epoch_has_no_value() -> None:
    made = rt.History()
    made.add(0, evaluated(1, "mrr"), losses={"a": 2.0})
    made.add(5, evaluated(2, "mrr", "hit@1"), losses={"b": 1.0})
    assert made.curves().to_dict(as_series=False) == {
        "epoch": [0, 5], "a": [2.0, None], "b": [None, 1.0], "mrr": [1.0, 0.5],
        "hit@1": [None, 0.0],
    }  # fmt: skip
    assert made.curves().schema["a"] == pl.Float64


def test_numbers_are_kept_and_values_per_list_are_not() -> None:
    made, given = rt.History(), evaluated(1)
    kept = made.add(0, given).evaluation
    assert kept.values() == given.values()
    assert kept.result("mrr").values is None
    with pytest.raises(MissingNeed, match="a history, without values per list"):
        kept.per_list()
    assert given.per_list().height == 1


def test_a_saved_history_is_the_same_again(tmp_path: Path) -> None:
    made = history(2, 1, 3, metric="mean_rank")
    made.add(99, evaluated(1), losses={"loss": math.nan, "other": math.inf})
    made.save(tmp_path / "run.json")
    again = rt.History.load(tmp_path / "run.json")
    assert again.as_dict() == made.as_dict()
    assert (again.metric, again.best().index) == ("mean_rank", 1)
    assert again.curves().equals(made.curves())
    assert again[0].evaluation.definition("mrr") == made[0].evaluation.definition("mrr")
    assert (again[0].seconds, again[3].seconds) == ((2.0, 0.5), None)
    assert math.isnan(again[3].losses["loss"]) and again[3].losses["other"] == math.inf


def test_a_file_holds_each_definition_once(tmp_path: Path) -> None:
    made = history(*[1, 2] * 20)
    made.save(tmp_path / "run.json")
    stored = json.loads((tmp_path / "run.json").read_text())
    assert [one["metric"] for one in stored["definitions"]] == ["mrr", "mean_rank"]
    assert {one["defined"] for one in stored["epochs"][39]["evaluation"]["results"].values()} == {
        0, 1,
    }  # fmt: skip


def test_a_loaded_history_can_be_continued(tmp_path: Path) -> None:
    history(2, 1).save(tmp_path / "run.json")
    again = rt.History.load(tmp_path / "run.json")
    with pytest.raises(NotComparable, match="defined differently"):
        again.add(20, evaluated(1, convention={"unit": "user"}))
    again.add(20, evaluated(3))
    assert again.stop(1, "mrr")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ('{"format": "rectitude.evaluation"}', "contains 'rectitude.evaluation'"),
        ('{"format": "rectitude.history", "version": 9}', "is a history of version 9"),
        ('{"format": "rectitude.history", "version": 1}', "metric is missing"),
        (
            (
                '{"format": "rectitude.history", "version": 1, "metric": "", "definitions": [],'
                ' "epochs": [{"epoch": 0}]}'
            ),
            r"epochs\[1\]\.losses is missing",
        ),
    ],
)
def test_files_without_a_history_are_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UnreadableFile, match=words):
        rt.History.load(tmp_path / "run.json")


def test_a_file_is_written_completely_or_not_at_all(tmp_path: Path) -> None:
    made = history(1)
    made.save(tmp_path / "run.json")
    before = (tmp_path / "run.json").read_bytes()
    made.metric = object()  # type: ignore[assignment]  # cannot be written
    with pytest.raises(TypeError):
        made.save(tmp_path / "run.json")
    assert (tmp_path / "run.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


SVG = {"s": "http://www.w3.org/2000/svg"}


def panels(made: rt.History, *names: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(made.plot(*names).svg).findall("s:g", SVG)  # noqa: S314


def drawn(panel: ElementTree.Element) -> dict[str, list[str]]:
    """Return the tooltips of the marks of every line."""
    return {
        line.attrib["data-series"]: [
            mark.attrib["data-tip"] for mark in line if "data-tip" in mark.attrib
        ]
        for line in panel.findall("s:g[@class='series']", SVG)
    }


def test_a_history_without_epochs_has_an_empty_chart() -> None:
    assert panels(rt.History()) == []


def test_a_chart_shows_metrics_above_losses_and_marks_the_best(tmp_path: Path) -> None:
    made = history(2, 1, 3)
    made.plot(path=tmp_path / "run.html")
    above, below = panels(made)
    assert [*drawn(above)] == ["mrr", "mean_rank"]
    assert [*drawn(below)] == ["loss"]
    assert drawn(above)["mrr"] == [
        "mrr, epoch 0: 0.5", "mrr, epoch 10: 1", "mrr, epoch 20: 0.3333",
    ]  # fmt: skip
    for panel in (above, below):
        line, *more = panel.findall("s:line[@class='zero']", SVG)
        points = panel.findall(".//s:polyline", SVG)[0].attrib["points"].split()
        assert line.attrib["x1"] == f"{float(points[1].split(',')[0]):g}", "the best epoch"
        assert not more
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "<title>mrr, epoch 10: 1</title>" in page
    assert "src=" not in page, "the page needs nothing else"


def test_a_history_needs_no_framework() -> None:
    code = """
import sys, rectitude as rt
history = rt.History()
history.add(0, rt.evaluate({"ann": ["a"]}, {"ann": ["a"]}, ["mrr"]), losses=1.0)
history.best(), history.stop(1), history.curves(), str(history)
print(*{"torch", "lightning"} & set(sys.modules))
"""
    source = str(Path(rt.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": source},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "\n"


def test_a_chart_shows_what_was_named() -> None:
    (only,) = panels(history(2, 1), "mrr")
    assert [*drawn(only)] == ["mrr"]
    with pytest.raises(UnknownName, match="no metric or loss 'ndcg@5'"):
        history(2, 1).plot("ndcg@5")


def test_an_epoch_is_shown_by_its_numbers() -> None:
    assert repr(history(2)[0]) == "Epoch 0: loss 2, mrr 0.5, mean_rank 2"


def test_printing_shows_a_table_and_the_best() -> None:
    shown = str(history(2, 1))
    assert shown.splitlines()[-1] == "best mrr: epoch 10"
    assert shown.splitlines()[3].split() == ["|", "10", "|", "1.0000", "|", "1.0000", "|",
                                             "1.0000", "|"]  # fmt: skip
