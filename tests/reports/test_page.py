"""The report as text: what it contains, what it leaves out, and the files for papers."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadArgument, RectitudeError, UnwritableFile
from rectitude.reports.charts import ticks
from rectitude.reports.content import content_of
from rectitude.reports.figures import APART, every, figures
from rectitude.reports.headline import digits, summary
from rectitude.reports.page import Content, page, report
from rectitude.reports.papers import write_figures
from rectitude.reports.runs import content_of_files

LISTS = {"a": {1: ["x", "y"], 2: ["y"]}, "b": {1: ["z", "x"], 2: ["y", "z"]}}
TRUTH = {1: ["x"], 2: ["z"]}


def inside(text: str, name: str) -> object:
    block = rf'<script type="application/json" id="{name}">(.*?)</script>'
    found = re.search(block, text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_json_inside_is_the_content(content: Content) -> None:
    assert inside(page(content), "content") == json.loads(json.dumps(content.as_dict()))


def test_a_section_without_anything_to_show_is_left_out(tmp_path: Path) -> None:
    evaluation = rt.evaluate(LISTS["a"], TRUTH, "mrr")
    text = report(evaluation, tmp_path / "r.html").read_text("utf-8")
    sections = re.findall(r'<section id="(\w+)"', text)
    assert sections == ["headline", "flow", "conventions", "details"]


def logits_of_two_models() -> dict[str, rt.Evaluation]:
    """Evaluations with the calibration of a model that is right as often as it says, and of one
    that is too confident."""
    fair = np.log(np.array([[0.75, 0.25]] * 4))
    models = {"fair": fair, "sure": np.log(np.array([[0.95, 0.05]] * 4))}
    names = ["expected_calibration_error", "max_calibration_error", "accuracy@1"]
    return {name: rt.evaluate(rt.Logits(logits), [0, 0, 0, 1], names)
            for name, logits in models.items()}  # fmt: skip


def test_probabilities_have_a_reliability_diagram(tmp_path: Path) -> None:
    evaluations = logits_of_two_models()
    text = report(evaluations, tmp_path / "r.html").read_text("utf-8")
    assert '<section id="calibration"' in text
    (figure,) = figures(content_of(evaluations))["calibration"]  # once for both metrics
    rows = [(row["model"], row["rows"], row["share_correct"]) for row in figure.data]
    assert rows == [("fair", 4, 0.75), ("sure", 4, 0.75)]
    assert "fair, 4 rows with probability 0.75, correct: 0.75" in figure.chart
    assert "sure, 4 rows with probability 0.95: 100.0% of all rows" in figure.chart


def test_figures_are_not_left_behind_where_the_page_cannot_be_written(tmp_path: Path) -> None:
    evaluation = rt.evaluate({"u": ["a", "b"]}, {"u": ["b"]}, "ndcg@2")
    with pytest.raises(UnwritableFile):
        rt.report(evaluation, tmp_path / "nowhere" / "x.html", figures=tmp_path / "figures")
    assert list(tmp_path.iterdir()) == []


def test_a_stored_evaluation_has_the_same_reliability_diagram(tmp_path: Path) -> None:
    evaluations = logits_of_two_models()
    for name, evaluation in evaluations.items():
        evaluation.save(tmp_path / f"{name}.json")
    stored = content_of_files([tmp_path / "fair.json", tmp_path / "sure.json"])
    assert figures(stored)["calibration"] == figures(content_of(evaluations))["calibration"]


def test_equal_results_give_equal_bytes(content: Content) -> None:
    assert page(content) == page(content)


def test_undefined_numbers_are_dashes_and_null(content: Content) -> None:
    metric, model = "mrr", "neighbours"
    none = replace(content.values[metric][model], value=None, low=None, high=None)
    values = {**content.values, metric: {**content.values[metric], model: none}}
    text = page(replace(content, values=values))
    assert ">–</span>" in text
    assert inside(text, "content")["values"][metric][model]["value"] is None  # type: ignore[index]


def test_a_metric_without_any_value_has_a_row_of_dashes_and_no_chart(content: Content) -> None:
    nothing = {
        name: {
            model: replace(value, value=None, low=None, high=None) for model, value in of.items()
        }
        for name, of in content.values.items()
    }
    windows = [
        replace(one, values={n: dict.fromkeys(of) for n, of in one.values.items()})
        for one in content.windows
    ]
    bare = replace(content, values=nothing, windows=windows)
    assert {"curves", "windows"}.isdisjoint(figures(bare))
    assert 'id="results"' in page(bare)


def test_the_precision_of_numbers_follows_their_size() -> None:
    written = {0.0: "0.0000", 0.12345: "0.1235", -2.5: "-2.5000", 1.25e-5: "1.25e-05"}
    written |= {12_345_678.94: "12,345,678.9", 2e12: "2e+12"}
    assert {value: digits(value) for value in written} == written


def test_failures_are_described_with_the_traceback_folded(content: Content) -> None:
    why = "ValueError: no rows\nTraceback (most recent call last):\n  File x"
    text = page(replace(content, failures={"models/mine": why}, details={}, reproduce=""))
    assert '<p class="why">ValueError: no rows</p>' in text
    assert "<pre>Traceback (most recent call last):\n  File x</pre>" in text


def test_the_notes_of_the_comparison_are_on_the_page(content: Content) -> None:
    assert content.comparison is not None
    notes = ["mrr of a and b: their numbers differ.", "12 users were left out."]
    noted = replace(content, comparison={**content.comparison, "notes": notes})
    assert all(f"<li>{note}</li>" in page(noted) for note in notes)
    explained = {figure.name: APART in figure.note for figure in figures(noted)["differences"]}
    assert explained["difference-mrr"]
    assert not explained["difference-ndcg-5"]


def test_folds_are_not_shown_over_time(content: Content) -> None:
    folds = [replace(one, label=f"fold-{nth}") for nth, one in enumerate(content.windows)]
    assert ">Over time</h2>" in page(content)
    assert ">By split</h2>" in page(replace(content, windows=folds))


def test_the_first_sentence_names_the_best_model(content: Content) -> None:
    first = summary(content)[0]
    value = content.values["ndcg@5"]["neighbours"].value
    assert first.startswith(f"neighbours has the best ndcg@5: {value:.4f}, followed by popularity")


def test_the_summary_says_what_failed_and_what_the_audit_found(content: Content) -> None:
    audit = {"findings": [{"severity": "serious", "name": "leak"}]}
    said = summary(replace(content, failures={"ease": "no memory"}, audit=audit))
    assert "Failed: ease; see the run details." in said
    assert any("1 serious finding" in line for line in said)


def test_every_figure_has_data_and_a_unique_name(content: Content) -> None:
    drawn = every(figures(content))
    assert len({figure.name for figure in drawn}) == len(drawn)
    assert all(figure.data and figure.chart.startswith("<svg") for figure in drawn)


def test_figures_for_papers_are_self_contained(content: Content, tmp_path: Path) -> None:
    written = write_figures(content, tmp_path / "figures")
    pictures = [path for path in written if path.suffix == ".svg"]
    assert {path.with_suffix(".csv") for path in pictures} <= set(written)
    assert all("var(" not in path.read_text("utf-8") for path in pictures)
    table = (tmp_path / "figures" / "results.tex").read_text("utf-8")
    assert r"\textless{}script" in table
    assert r"\textbf{" in table
    lines = (tmp_path / "figures" / "results.csv").read_text("utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    assert len(rows) == len(content.values) * len(content.models)


def test_charts_are_written_as_png_if_asked(content: Content, tmp_path: Path) -> None:
    pytest.importorskip("cairosvg", reason="cairosvg is not installed: pip install cairosvg")
    written = write_figures(content, tmp_path, "png")
    pictures = [path for path in written if path.suffix == ".png"]
    assert len(pictures) == len(every(figures(content)))
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_a_comparison_and_stored_files_have_reports(tmp_path: Path) -> None:
    runs = {name: rt.evaluate(one, TRUTH, ["mrr", "hit@1"]) for name, one in LISTS.items()}
    compared = rt.compare(runs)
    assert "Differences of mrr" in report(compared, tmp_path / "c.html").read_text("utf-8")
    for name, one in runs.items():
        one.save(tmp_path / f"{name}.json")
    code = main(
        ["report", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--output",
         str(tmp_path / "both.html")]
    )  # fmt: skip
    assert code == 0
    text = (tmp_path / "both.html").read_text("utf-8")
    values = inside(text, "content")["values"]  # type: ignore[index]
    assert values["mrr"]["a"]["value"] == runs["a"]["mrr"]


def test_other_things_have_no_report_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="int"):
        report(3, tmp_path / "r.html")
    (tmp_path / "x.json").write_text('{"format": "other"}')
    for given in (tmp_path, tmp_path / "x.json", tmp_path / "nothing.json"):
        with pytest.raises(RectitudeError):
            report(given, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0.034), (-12, 7), (3, 3), (0, 123456)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert found == sorted(found)
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    assert len(found) <= 8


def test_a_finding_that_leaves_few_lists_has_no_effect(content: Content) -> None:
    finding = {
        "severity": "notice", "name": "older_than_train", "count": 670, "of": 671, "example": "",
        "about": "truth rows are older than train", "advice": "", "effect": {}, "bounds": {},
        "lists": [671, 1], "too_few": "only 1 of 671 lists would be left, too few to compare",
    }  # fmt: skip
    measured = {
        **finding, "name": "unknown_users", "too_few": "", "lists": [671, 600],
        "effect": {"ndcg@10": {"as_is": 0.05, "without": 0.06}},
    }  # fmt: skip
    audit = {**(content.audit or {}), "findings": [finding, measured]}
    text = page(replace(content, audit=audit))
    assert "Effect: not measured, because only 1 of 671 lists would be left" in text
    assert "(671 lists as it is, 600 without it)" in text


def test_a_report_takes_whatever_evaluate_writes(tmp_path: Path) -> None:
    lists, truth = {"ann": ["tea", "jam"]}, {"ann": ["jam"]}
    evaluation = rt.evaluate(lists, truth, "mrr")
    evaluation.save(tmp_path / "one.zip")
    several = rt.evaluate(lists, truth, "mrr", ["default", "elliot"])
    (tmp_path / "several.json").write_text(several.to_json())
    page = rt.report(tmp_path / "one.zip", tmp_path / "a.html").read_text()
    assert "0.5000" in page
    page = rt.report(tmp_path / "several.json", tmp_path / "b.html").read_text()
    assert "elliot" in page


def test_names_are_text_on_the_page_wherever_they_appear() -> None:
    name = "\"><img src=x onerror=alert(1)>'</script><!--"
    users = {"user": [1, 2], name: [name, "y"]}
    evaluations = {
        f"{name}{label}": rt.evaluate(lists, TRUTH, "mrr", users=users, slices=[name])
        for label, lists in LISTS.items()
    }
    comparison = rt.compare(evaluations, baseline=f"{name}a")
    for result in (evaluations, comparison):
        text = page(content_of(result, name))
        assert "<img" not in text
        assert "</script><!--" not in text
