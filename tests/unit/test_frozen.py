"""What others build on stays: the public names, and the JSON of an evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import rectitude as rt

STORED = Path(__file__).parent / "frozen" / "evaluation-1.json"

NAMES = {
    "METRICS", "PROFILES", "Convention", "Embeddings", "Evaluation", "Evaluator", "History",
    "Interactions", "Lists", "Logits", "Scores", "__version__", "evaluate", "explain", "identify",
    "metric",
}  # fmt: skip
PLANNED = {"audit", "compare", "report", "run", "split"}
"""names that the design keeps free for what is still to come"""

EVALUATION = {"format", "version", "results", "failures", "ledger", "manifest"}
RESULT = {
    "value", "counted", "interval", "ties", "metric", "definition", "fingerprint", "numbers",
    "convention", "state",
}  # fmt: skip
STATE = {
    "above", "below", "above_squared", "below_squared", "product", "counted", "skipped", "nan",
}  # fmt: skip
MANIFEST = {
    "rectitude", "profile", "profile_versions", "inputs", "lists", "python", "numpy", "polars",
}  # fmt: skip

SLICES = {"numbers", "notes", "least_lists", "least_relevant"}
NUMBER = {
    "by", "slice", "metric", "value", "low", "high", "counted", "of", "lists", "relevant", "share",
    "reason", "too_small",
}  # fmt: skip


def evaluation() -> rt.Evaluation:
    lists = {"ann": ["a", "b", "c"], "ben": ["c"]}
    truth = {"ann": ["b"], "ben": ["c", "d"], "cid": ["a"]}
    return rt.evaluate(lists, truth, ["ndcg@10", "mrr", "f1_of_means@2"], intervals=True)


def stored() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(STORED.read_text("utf-8"))
    return document


def test_public_names_are_those_that_were_promised() -> None:
    assert set(rt.__all__) >= NAMES, "a public name is gone"
    assert set(rt.__all__) <= NAMES | PLANNED, "a public name that nobody planned"
    assert all(getattr(rt, name) is not None for name in rt.__all__)


def test_the_json_of_an_evaluation_keeps_its_keys() -> None:
    document = evaluation().as_dict()
    assert set(document) == EVALUATION
    assert (document["format"], document["version"]) == ("rectitude.evaluation", 1)
    for result in document["results"].values():
        assert set(result) == RESULT
        assert set(result["convention"]) == set(rt.Convention().as_dict())
        assert result["state"] is None or set(result["state"]) == STATE
    assert set(document["manifest"]) == MANIFEST


def test_slices_are_one_more_key_where_they_were_asked_for() -> None:
    sliced = rt.evaluate(
        {1: ["a"]}, {1: ["a"]}, "mrr", users={"user": [1], "town": ["x"]}, slices="town"
    )
    document = sliced.as_dict()
    assert set(document) == EVALUATION | {"slices"}
    assert set(document["slices"]) == SLICES
    assert all(set(number) == NUMBER for number in document["slices"]["numbers"])


def test_an_evaluation_of_the_first_release_can_be_read() -> None:
    old, new = rt.Evaluation.load(STORED), evaluation()
    assert old.values() == new.values()
    assert old.ledger.as_dict() == new.ledger.as_dict()
    for name in old:
        assert old.result(name).interval == new.result(name).interval
        assert old.result(name).state == new.result(name).state


def test_the_file_of_the_first_release_has_the_keys_of_today() -> None:
    document = stored()
    assert set(document) == EVALUATION
    assert all(set(result) == RESULT for result in document["results"].values())
    assert set(document["manifest"]) == MANIFEST
