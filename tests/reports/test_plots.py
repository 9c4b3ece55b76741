"""Charts of single results: the figures of the report, one below the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rectitude as rt
from rectitude.errors import NothingToEvaluate, UnknownName, UnwritableFile

USERS = range(12)
TRUTH = {user: ["a", "b"] for user in USERS}
GOOD = {user: ["a", "x", "b"] for user in USERS}
POOR = {user: ["x", "y", "a"] if user % 2 else ["b"] for user in USERS}
METRICS = ["ndcg@{1,3}", "recall@{1,3}", "mrr"]


def titles(chart: object) -> list[str]:
    return re.findall(r'font-weight="bold">([^<]*)<', chart.svg)


def evaluation() -> rt.Evaluation:
    users = {"user": [*USERS], "town": ["x", "y"] * 6}
    return rt.evaluate(POOR, TRUTH, METRICS, users=users, slices="town", intervals=True)


def test_an_evaluation_is_drawn_by_cutoff_by_slice_and_otherwise_as_values() -> None:
    drawn = titles(evaluation().plot())
    assert drawn[:3] == ["Values", "ndcg by cutoff", "recall by cutoff"]
    assert "mrr by town" in drawn


@pytest.mark.parametrize("name", ["ndcg", "ndcg@3"])
def test_metrics_can_be_chosen_by_name(name: str) -> None:
    assert titles(evaluation().plot(name))[0] == "ndcg by cutoff"
    assert not any("mrr" in title for title in titles(evaluation().plot(name)))


def test_a_comparison_is_drawn_with_its_differences(tmp_path: Path) -> None:
    found = rt.compare({"good": GOOD, "poor": POOR}, TRUTH, ["mrr", "recall@3"], baseline="poor")
    chart = found.plot("mrr", path=tmp_path / "c.html")
    assert titles(chart) == ["Differences of mrr from poor"]
    assert "percentage points" in chart.svg
    assert "good minus poor" in (tmp_path / "c.html").read_text("utf-8")


def test_slices_and_an_explanation_are_drawn() -> None:
    slices = evaluation().slices
    assert slices is not None
    assert titles(slices.plot("mrr")) == ["mrr by town"]
    explained = rt.explain(POOR, TRUTH, "recall@1", "default", {"recall_over": "reachable"})
    assert titles(explained.plot())[0].startswith("How recall@1 changes from")


def test_a_metric_that_was_not_evaluated_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match=r"this evaluation has no metric 'mrrr'[\s\S]*'mrr'"):
        evaluation().plot("mrrr")


def test_nothing_to_draw_is_an_error_in_words() -> None:
    empty = rt.Slices(())
    with pytest.raises(NothingToEvaluate, match="nothing to draw in these slices"):
        empty.plot()


def test_a_chart_has_a_short_repr_and_writes_pictures_and_pages(tmp_path: Path) -> None:
    chart = rt.evaluate({"ann": ["a", "b"]}, {"ann": ["b"]}, "mrr").plot()
    assert repr(chart).startswith("Chart")
    assert len(repr(chart)) < 100
    chart.save(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text("utf-8") == chart.svg
    chart.save(tmp_path / "chart.html")
    assert (tmp_path / "chart.html").read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(UnwritableFile, match=r"ends in '\.png'"):
        chart.save(tmp_path / "chart.png")
