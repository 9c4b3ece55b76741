"""What others build on stays: the public names, and the JSON of an evaluation."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import rectitude as rt

STORED = Path(__file__).parent / "frozen" / "evaluation-1.json"

FUNCTIONS = {
    "audit", "board", "candidates", "compare", "diagnose", "evaluate", "explain", "identify",
    "load", "metric", "prepare", "report", "robustness", "run", "sample", "split", "trace",
    "verify",
}  # fmt: skip
RESULTS = {
    "Audit", "Candidates", "Comparison", "Diagnosis", "Evaluation", "Evaluations", "Explanation",
    "History", "Identification", "Ledger", "Log", "Robustness", "Run", "Slices", "Split", "Trace",
    "Verification",
}  # fmt: skip
INPUTS = {"Convention", "Embeddings", "Evaluator", "Interactions", "Lists", "Logits", "Scores"}
NAMES = {"METRICS", "PROFILES", "RectitudeError", "__version__"} | FUNCTIONS | RESULTS | INPUTS

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
    assert set(rt.__all__) == NAMES
    assert set(dir(rt)) == NAMES


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_keeps_its_name_after_every_module_was_imported(name: str) -> None:
    """A package `rectitude.split` would hide `rt.split` once somebody imports it."""
    assert not (Path(str(rt.__file__)).parent / name).exists()
    assert not (Path(str(rt.__file__)).parent / f"{name}.py").exists()
    assert callable(getattr(rt, name))
    assert getattr(rt, name).__name__ == name


@pytest.mark.parametrize("name", sorted(RESULTS | INPUTS))
def test_a_type_can_be_used_in_annotations(name: str) -> None:
    assert isinstance(getattr(rt, name), type)


def test_type_checkers_see_the_public_names_and_no_others() -> None:
    """A module `__getattr__` that a checker sees would make it accept `rt.evalaute`."""
    module = ast.parse(Path(str(rt.__file__)).read_text("utf-8"))
    checked = [n for n in module.body if isinstance(n, ast.If)]
    seen = next(n for n in checked if ast.unparse(n.test) == "TYPE_CHECKING")
    imports = [
        alias.name for n in ast.walk(seen) if isinstance(n, ast.ImportFrom) for alias in n.names
    ]
    assert {*imports, "__version__"} == NAMES
    functions = [n.name for n in module.body if isinstance(n, ast.FunctionDef)]
    assert functions == ["__dir__"]
    with pytest.raises(AttributeError, match="no attribute 'evalaute'"):
        rt.evalaute()  # type: ignore[attr-defined]


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


def counts(evaluation: rt.Evaluation) -> dict[str, tuple[int, int | None, str, str]]:
    """The ledger without its sentences, which may be reworded."""
    return {
        entry.name: (entry.count, entry.of, entry.example, entry.weight)
        for entry in evaluation.ledger
    }


def test_an_evaluation_of_the_first_release_can_be_read() -> None:
    old, new = rt.Evaluation.load(STORED), evaluation()
    assert old.values() == new.values()
    assert counts(old).items() <= counts(new).items()  # later releases count more
    assert old.ledger.notes.keys() == new.ledger.notes.keys()
    for name in old:
        assert old.result(name).interval == new.result(name).interval
        assert old.result(name).state == new.result(name).state


def test_the_file_of_the_first_release_has_the_keys_of_today() -> None:
    document = stored()
    assert set(document) == EVALUATION
    assert all(set(result) == RESULT for result in document["results"].values())
    assert set(document["manifest"]) == MANIFEST
