"""Every result shows itself: as HTML in a notebook, as short text at a prompt."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import rectitude as rt

USERS = range(40)
NASTY = "<script>alert(1)</script>"
"""an id, a column and a model that would be markup if it were not escaped"""
VOID = {"br", "hr", "img", "input"}


def lists(seed: int) -> dict[int, list[Any]]:
    items = [*"abcdef", NASTY]
    return {u: [items[i] for i in np.random.default_rng((seed, u)).permutation(7)] for u in USERS}


@cache
def results() -> dict[str, Any]:
    truth: dict[int, list[Any]] = {u: ["abcdef"[u % 6], NASTY] for u in USERS}
    users = {"user": [*USERS], "town": ["x", NASTY] * 20}
    evaluation = rt.evaluate(
        lists(1), truth, ["ndcg@{2,5}", "mrr"], users=users, slices="town", intervals=True
    )
    models = {"a|b": lists(1), NASTY: lists(2), "c": lists(3)}
    log = {"user": [1, 1, 1, 2, 2, 2], "item": [*"abc", *"abd"], "timestamp": [*range(6)]}
    split = rt.split(log, "leave_last")
    run = rt.Run(folder=None, results=RUN)  # type: ignore[arg-type]
    history = rt.History()
    history.add(1, evaluation, losses={NASTY: 0.5})
    return {
        "Evaluation": evaluation,
        "Evaluations": rt.evaluate(lists(1), truth, "mrr", ["recbole", {"gain": "exp2"}]),
        "Result": evaluation.result("mrr"),
        "Slices": evaluation.slices,
        "Ledger": evaluation.ledger,
        "Comparison": rt.compare(models, truth, ["ndcg@{2,5}", "mrr"], baseline="c"),
        "Explanation": rt.explain(lists(1), truth, "ndcg@2", "default", "recbole"),
        "Identification": rt.identify(lists(1), truth, "mrr", "0.3333"),
        "Diagnosis": rt.diagnose(lists(1), truth, 5),
        "Trace": rt.trace(lists(1), truth, "mrr", 3),
        "Robustness": rt.robustness(models, truth, "mrr", ["recbole"]),
        "Audit": rt.audit(split),
        "Split": split,
        "Log": split.train,
        "Candidates": rt.candidates(split, "full"),
        "Run": run,
        "Verification": rt.Verification(NASTY, {"file": 2}, (), (NASTY,)),
        "History": history,
        "METRICS": rt.METRICS,
        "PROFILES": rt.PROFILES,
    }


RUN = {
    "name": NASTY,
    "summary": "1 model",
    "headline": {NASTY: {"mrr": {"value": 0.5, "deviation": None}}},
    "best": {"mrr": "high"},
    "failures": [],
    "stopped": "",
    "models": {},
    "left_out": [],
}
NAMES = (
    "Audit", "Candidates", "Comparison", "Diagnosis", "Evaluation", "Evaluations", "Explanation",
    "History", "Identification", "Ledger", "Log", "METRICS", "PROFILES", "Result", "Robustness",
    "Run", "Slices", "Split", "Trace",
)  # fmt: skip


class Tags(HTMLParser):
    """Collects tags, and complains about one that is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.styles = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.styles += dict(attrs).get("style") or ""
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_escaped_html_in_the_colours_of_its_page(name: str) -> None:
    page = Tags()
    page.feed(results()[name]._repr_html_())
    assert page.open == []
    assert page.seen <= {"div", "pre", "table", "caption", "thead", "tbody", "tr", "th", "td",
                         "strong", "u", "sup", "ul", "li"}  # fmt: skip
    assert "#" not in page.styles  # no fixed colour, which a dark page would hide
    assert {"table", "pre"} & page.seen


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_shows_a_short_text_and_no_dump_of_fields(name: str) -> None:
    text = repr(results()[name])
    assert 0 < len(text) < 4_000
    assert " object at 0x" not in text
    assert not text.startswith(f"{name}(")


def test_every_result_type_has_a_place_in_this_test() -> None:
    shown = {type(result) for result in results().values()}
    public = [getattr(rt, name) for name in rt.__all__]
    inputs = {rt.Convention, rt.Embeddings, rt.Evaluator, rt.Interactions, rt.Lists, rt.Logits,
              rt.RectitudeError, rt.Scores}  # fmt: skip
    assert {one for one in public if isinstance(one, type)} - inputs <= shown


def test_an_evaluator_names_its_metrics_at_a_prompt() -> None:
    evaluator = rt.Evaluator(["mrr", "ndcg@5"], "recbole")
    evaluator.update({1: ["a"]}, {1: ["a"]})
    assert repr(evaluator) == "Evaluator(['mrr', 'ndcg@5'], 'recbole') with 1 batches"


def test_all_metrics_and_profiles_can_be_printed() -> None:
    assert "| ndcg " in str(rt.METRICS)
    assert "RecBole" in str(rt.PROFILES)
    assert repr(rt.PROFILES).startswith(f"{len(rt.PROFILES)} profiles: default, ")


def test_warnings_are_bold_in_a_notebook() -> None:
    with_warning = rt.evaluate({1: ["x"]}, {1: ["a"]}, "mrr")
    assert any(entry.weight == "warning" for entry in with_warning.ledger)
    assert "<strong>! 1" in with_warning.to_html()


@pytest.mark.parametrize("name", ["Evaluation", "Comparison", "Slices", "Explanation"])
def test_a_chart_of_a_result_is_shown_and_written(name: str, tmp_path: Any) -> None:
    chart = results()[name].plot(path=tmp_path / "chart.html")
    assert chart._repr_svg_().startswith("<svg ")
    assert "var(--" not in chart.svg
    assert "<script" not in chart.svg
    assert "<title>" in (tmp_path / "chart.html").read_text()
