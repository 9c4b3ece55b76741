"""`Evaluator`: batches, merging, saving, and what it refuses."""

from __future__ import annotations

import copy
import json
import pickle
import pickletools
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import (
    BadIds,
    BadName,
    BadScores,
    BadTable,
    MetricFailed,
    MissingNeed,
    NothingToEvaluate,
    RectitudeError,
    UndefinedValue,
    UnknownName,
    UnreadableFile,
)
from rectitude.evaluation.saved import FORMAT_VERSION
from rectitude.metrics import Ratio

METRICS = ["mrr", "ndcg@2", "f1_of_means@2"]
ANN = ({"ann": ["a", "b"]}, {"ann": ["b"]})
BOB = ({"bob": ["a", "b"]}, {"bob": ["a"]})


def evaluator(*batches: Any, metrics: Any = METRICS, **more: Any) -> rt.Evaluator:
    made = rt.Evaluator(metrics, **more)
    for predictions, truth in batches:
        made.update(predictions, truth)
    return made


def stored(one: rt.Evaluator, folder: Path) -> str:
    """All that an evaluator holds, as text."""
    one.save(folder / "stored.json")
    return (folder / "stored.json").read_text()


def test_batches_add_up_to_one_evaluation() -> None:
    found = evaluator(ANN, BOB).compute()
    whole = rt.evaluate(ANN[0] | BOB[0], ANN[1] | BOB[1], METRICS)
    assert found.values() == whole.values()
    assert found["mrr"] == (1 / 2 + 1) / 2
    assert found.manifest["batches"] == 2
    assert found.manifest["lists"] == 2
    assert found.ledger["truth_rows"] == 2


def test_nothing_to_compute_before_the_first_batch_and_after_reset() -> None:
    made = evaluator(ANN)
    made.reset()
    for empty in (made, rt.Evaluator("mrr"), rt.Evaluator("mrr") + rt.Evaluator("mrr")):
        with pytest.raises(NothingToEvaluate, match="no batch has been added"):
            empty.compute()
    made.update(*BOB)
    assert made.compute()["mrr"] == 1


def test_an_evaluation_stays_as_it_was_when_batches_follow() -> None:
    made = evaluator(ANN)
    before = made.compute()
    text = before.to_json()
    made.update(*BOB)
    assert before.to_json() == text
    assert made.compute()["mrr"] == 3 / 4


def test_evaluators_are_added_without_changing_them(tmp_path: Path) -> None:
    one, other = evaluator(ANN), evaluator(BOB)
    before = stored(one, tmp_path), stored(other, tmp_path)
    for total in (one + other, other + one, sum([one, other]), one + other + rt.Evaluator(METRICS)):
        assert total.compute()["mrr"] == 3 / 4
    assert (stored(one, tmp_path), stored(other, tmp_path)) == before


@pytest.mark.parametrize("per_list", ["kept", "dropped"])
def test_a_user_in_several_batches_counts_once_if_users_are_the_unit(per_list: Any) -> None:
    made = rt.Evaluator("mrr", {"unit": "user"}, per_list=per_list)
    for keys, owners, item in ((["s", "t"], ["ann", "bob"], 2), (["u"], ["ann"], 1)):
        scores = rt.Scores([[3.0, 2.0, 1.0]] * len(keys), lists=keys, users=owners)
        truth = {"visit": keys, "item": [item] * len(keys)}
        made.update(scores, truth, list_key="visit")
    found = made.compute()
    # ann: (1/3 + 1/2) / 2, bob: 1/3
    assert found["mrr"] == pytest.approx(((1 / 3 + 1 / 2) / 2 + 1 / 3) / 2, rel=1e-15)
    assert found.results["mrr"].counted == 2
    if per_list == "kept":
        assert dict(found.per_user().rows()) == pytest.approx({"ann": 5 / 12, "bob": 1 / 3})


def test_rows_without_names_are_no_users() -> None:
    made = rt.Evaluator(["mrr"], {"unit": "user"})
    nameless: list[tuple[Any, Any]] = [
        (rt.Scores(np.eye(2)), {0: [1]}), (rt.Logits(np.eye(2)), [0, 1]),
        (rt.Embeddings(np.eye(2), np.eye(2)), {0: [1]}),
    ]  # fmt: skip
    for predictions, truth in nameless:
        with pytest.raises(BadName, match="users= that are the same in every batch"):
            made.update(predictions, truth)
    made.update(rt.Scores(np.eye(2), users=["x", "y"]), {"x": [1]})
    assert made.batches == 1


def test_the_truth_of_more_users_than_the_batch_needs_their_names() -> None:
    truth = {user: [user % 3] for user in range(6)}
    scores = np.arange(18.0).reshape(6, 3)
    made = rt.Evaluator(["mrr", "recall@1"])
    for first in (0, 2, 4):
        users = [first, first + 1]
        made.update(rt.Scores(scores[users], users=users), truth, users=users)
    whole = rt.evaluate(rt.Scores(scores), truth, ["mrr", "recall@1"])
    assert made.compute().values() == whole.values()


def test_what_is_kept_does_not_grow_with_the_batches(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = []
    made = rt.Evaluator(["accuracy@{1,5}", "mrr", "weighted_f1", "cross_entropy"], intervals=True)
    for _ in range(40):
        made.update(rt.Logits(rng.normal(size=(50, 10))), rng.integers(0, 10, 50))
        sizes.append(len(stored(made, tmp_path)))
    assert sizes[-1] < sizes[0] * 1.05
    assert made.compute().results["mrr"].counted == 2000
    assert made.state.kept.lists == ()


def test_values_per_list_are_kept_if_they_are_asked_for(tmp_path: Path) -> None:
    made = evaluator(ANN, BOB, per_list="kept")
    rows = [("ann", 1 / 2, 0.6309297535714575), ("bob", 1.0, 1.0)]
    assert made.compute().per_list().rows() == rows
    made.save(tmp_path / "e.json")
    assert rt.Evaluator.load(tmp_path / "e.json").compute().per_list().rows() == rows
    with pytest.raises(MissingNeed):
        evaluator(ANN).compute().per_list()


def test_ids_of_any_size_are_kept(tmp_path: Path) -> None:
    large = 2**63 + 5
    made = rt.Evaluator("mrr", per_list="kept")
    for user in (7, large, -3):
        made.update({user: [1]}, {user: [1]})
        made.save(tmp_path / "e.json")
        made = rt.Evaluator.load(tmp_path / "e.json")
    assert made.compute().per_list()["user"].to_list() == [7, large, -3]


def test_ids_that_json_does_not_know_are_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    before = stored(evaluator(ANN), tmp_path)
    made = rt.Evaluator("mrr", per_list="kept")
    made.update({date(2020, 1, 1): [1]}, {date(2020, 1, 1): [1]})
    with pytest.raises(BadIds, match="cannot be saved with values per list"):
        made.save(tmp_path / "stored.json")
    assert [path.read_text() for path in tmp_path.iterdir()] == [before]


def bad_batches() -> Iterator[tuple[Any, Any, dict[str, Any], type[RectitudeError]]]:
    hole = np.array([[1.0, np.nan]])
    yield rt.Scores(hole, users=["x"]), {"x": [0]}, {}, BadScores
    yield rt.Scores(np.empty((0, 2)), users=[]), {"x": [0]}, {}, BadScores
    yield rt.Logits(np.eye(2)), [0, -1], {}, BadScores
    yield rt.Logits(np.eye(2)), [0], {}, BadScores
    yield rt.Scores(np.eye(2), users=["x", "x"]), {"x": [0]}, {}, BadIds
    yield rt.Scores(np.eye(2)), {0: [0]}, {"train": {0: [5]}}, BadTable
    yield {"x": ["a"]}, {"y": ["a"]}, {}, NothingToEvaluate
    yield {"x": []}, {"x": ["a"]}, {}, NothingToEvaluate
    yield {"user": [], "item": []}, {"x": ["a"]}, {}, NothingToEvaluate
    yield {"x": ["a"]}, {"x": []}, {}, NothingToEvaluate
    yield {"x": ["a"]}, {"x": ["a"]}, {"ranking": {"x": ["a"]}}, BadName
    yield {1: ["a"]}, {1: ["a"]}, {}, BadIds  # users were text before, and values are kept
    yield {"x": ["a"]}, 5, {}, BadTable


@pytest.mark.parametrize("batch", list(bad_batches()), ids=lambda batch: batch[-1].__name__)
def test_a_bad_batch_leaves_everything_as_it_was(batch: Any, tmp_path: Path) -> None:
    predictions, truth, more, kind = batch
    made = evaluator(ANN, per_list="kept", intervals=True)
    before = stored(made, tmp_path)
    with pytest.raises(kind):
        made.update(predictions, truth, **more)
    assert stored(made, tmp_path) == before
    made.update(*BOB)
    assert made.compute()["mrr"] == 3 / 4


def test_a_metric_that_fails_leaves_everything_as_it_was(tmp_path: Path) -> None:
    made = rt.Evaluator(["mrr", "precision"], {"precision_over": "returned"}, check="now")
    made.update({"x": ["a"]}, {"x": ["a"]})
    before = stored(made, tmp_path)
    with pytest.raises(UndefinedValue, match="0/0"):
        made.update(rt.Lists({"x": ["a"]}, users=["x", "z"]), {"x": ["a"], "z": ["a"]})
    assert stored(made, tmp_path) == before


def test_a_batch_on_which_a_metric_fails_is_named_and_left_out_and_the_others_stay() -> None:
    made = rt.Evaluator(["mrr", "precision"], {"precision_over": "returned"}, per_list="kept")
    made.update({"x": ["a"]}, {"x": ["a"]})
    made.update(rt.Lists({"y": ["a"]}, users=["y", "z"]), {"y": ["a"], "z": ["a"]})
    made.update({"w": ["b", "a"]}, {"w": ["a"]})
    made.update(rt.Lists({"v": ["a"]}, users=["v", "u"]), {"v": ["a"], "u": ["a"]})
    assert made.batches == 4
    with pytest.raises(UndefinedValue, match=r"batch 2 \(and of 1 more\): .*0/0.*first: list 'z'"):
        made.compute()
    assert made.batches == 2
    found = made.compute()
    assert found.per_list()["user"].to_list() == ["x", "w"]
    assert (found["mrr"], found["precision"], found.manifest["lists"]) == (3 / 4, 3 / 4, 2)
    assert found.ledger["users_in_truth"] == 2


def test_what_is_kept_is_measured_before_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, batches = np.random.default_rng(1), 12
    scores, truth = rng.normal(size=(batches * 8, 30)), rng.integers(0, 30, batches * 8)
    whole = rt.evaluate(rt.Logits(scores), truth, ["mrr", "ndcg@5", "cross_entropy"])
    monkeypatch.setattr("rectitude.evaluation.stream.BLOCK_BYTES", 2000)
    made = rt.Evaluator(["mrr", "ndcg@5", "cross_entropy"])
    waiting = []
    for at in range(0, batches * 8, 8):
        made.update(rt.Logits(scores[at : at + 8]), truth[at : at + 8])
        waiting.append(len(made._pending))
    assert max(waiting) < batches - 1
    assert 0 in waiting
    assert made.compute().values() == whole.values()


def test_an_interruption_while_measuring_loses_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    made = evaluator(ANN, BOB)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rectitude.evaluation.stream.measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.compute()
    assert made.batches == 2
    assert made.compute().values() == evaluator(ANN, BOB).compute().values()


def test_batches_of_one_list_do_not_wait_in_any_number() -> None:
    made, waiting = rt.Evaluator("mrr"), 0
    for user in range(1100):
        made.update({user: ["a"]}, {user: ["a"]})
        waiting = max(waiting, len(made._pending))
    assert waiting < 1100
    assert (made.batches, made.compute()["mrr"]) == (1100, 1.0)


def test_batches_of_other_kinds_are_measured_apart_and_give_the_same_bits() -> None:
    made = rt.Evaluator(["mrr", "ndcg@2"], {"ties": "optimistic"})
    made.update({"x": ["a", "b"]}, {"x": ["b"]})
    made.update({7: ["a", "b"]}, {7: ["a"]})
    made.update(rt.Scores([[1.0, 1.0]], users=["z"], items=["a", "b"]), {"z": ["b"]})
    assert made.batches == 3
    assert made.compute()["mrr"] == (1 / 2 + 1 + 1) / 3


def test_copies_hold_what_was_measured(tmp_path: Path) -> None:
    made = evaluator(ANN, BOB)
    for copied in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):  # noqa: S301
        assert copied.compute().values() == evaluator(ANN, BOB).compute().values()
        assert copied.batches == 2
    made.update(*ANN)
    assert made.batches == 3


def test_check_is_now_or_later() -> None:
    with pytest.raises(BadName, match="check cannot be 'soon'"):
        rt.Evaluator("mrr", check="soon")  # type: ignore[arg-type]


def test_a_metric_of_ones_own_is_streamed_and_must_be_there_when_loaded(tmp_path: Path) -> None:
    @rt.metric("Mine", name="mine")
    def mine(lists: Any, k: int | None) -> Ratio:
        """Hits, or an error where there are too many lists."""
        if lists.size > 1:
            raise ZeroDivisionError("too many")
        return Ratio.of(lists.hits(k))

    try:
        made = evaluator(ANN, BOB, metrics="mine@1")
        made.save(tmp_path / "e.json")
        assert rt.Evaluator.load(tmp_path / "e.json").compute()["mine@1"] == 1 / 2
        made.update(ANN[0] | BOB[0], ANN[1] | BOB[1])
        with pytest.raises(MetricFailed, match=r"batch 3: .*too many"):
            made.compute()
        assert made.compute()["mine@1"] == 1 / 2
    finally:
        rt.METRICS.remove("mine")
    with pytest.raises(UnknownName, match="'mine'"):
        rt.Evaluator.load(tmp_path / "e.json")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (rt.Evaluator("mrr"), "the same metrics in the same order"),
        (rt.Evaluator(METRICS[::-1]), "the same metrics in the same order"),
        (rt.Evaluator(METRICS, {"ties": "optimistic"}), "mrr is defined differently .*'ties'"),
        (rt.Evaluator(METRICS, {"unit": "user"}), "'unit'"),
        (rt.Evaluator(METRICS, intervals=True), "intervals=False and intervals=True"),
        (rt.Evaluator(METRICS, per_list="kept"), "per_list='dropped' and per_list='kept'"),
    ],
)
def test_what_was_asked_differently_cannot_be_added(other: rt.Evaluator, words: str) -> None:
    with pytest.raises(BadName, match=words):
        evaluator(ANN) + other


def test_only_evaluators_are_added() -> None:
    for other in (1, None, "x"):
        with pytest.raises(TypeError):
            evaluator(ANN) + other  # type: ignore[operator]
    with pytest.raises(BadName, match="per_list"):
        rt.Evaluator("mrr", per_list="some")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="mrr"):
        rt.Evaluator("mmr")


def damaged(good: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Files that are no whole evaluator, and what is said of them."""
    text = json.dumps(good)
    yield text[: len(text) // 2], "cannot be read as an evaluator"
    yield "", "cannot be read as an evaluator"
    yield "[]", "holds 'list'"
    yield json.dumps(good | {"format": "rectitude.evaluation"}), "holds 'rectitude.evaluation'"
    yield json.dumps(good | {"version": FORMAT_VERSION + 1}), "newer rectitude"
    yield json.dumps(good | {"version": None}), "version None"
    for key in good.keys() - {"format", "version"}:
        yield json.dumps({k: v for k, v in good.items() if k != key}), "is damaged"
    yield json.dumps(good | {"totals": {}}), "is damaged"
    yield (
        json.dumps(good | {"totals": good["totals"] | {"mrr": {"state": {"above": "x"}}}}),
        "damaged",
    )
    yield json.dumps(good | {"kept": good["kept"] | {"owners": [0, 99]}}), "is damaged"
    yield json.dumps(good | {"ledger": {"counts": {"a": {}}, "notes": {}}}), "is damaged"


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    evaluator(ANN, BOB, per_list="kept").save(path)
    good = json.loads(path.read_text())
    for text, words in damaged(good):
        path.write_text(text)
        with pytest.raises(UnreadableFile) as caught:
            rt.Evaluator.load(path)
        assert words in str(caught.value)
        assert str(path) in str(caught.value)
    with pytest.raises(UnreadableFile, match="nowhere"):
        rt.Evaluator.load(tmp_path / "nowhere.json")


def test_a_file_is_json_and_no_pickle(tmp_path: Path) -> None:
    text = stored(evaluator(ANN), tmp_path)
    assert json.loads(text)["format"] == "rectitude.evaluator"
    with pytest.raises(ValueError):  # pickle cannot read it
        list(pickletools.genops(text.encode()))


def test_lists_scores_and_frames_may_be_mixed() -> None:
    made = rt.Evaluator(["mrr", "hit@1"])
    made.update({0: [1, 0]}, {0: [1]})
    made.update(rt.Scores([[2.0, 1.0]], users=[1]), {1: [1]})
    made.update(pl.DataFrame({"user": [2, 2], "item": [0, 1], "score": [1.0, 2.0]}), {2: [1]})
    assert made.compute().values() == {"mrr": (1 + 1 / 2 + 1) / 3, "hit@1": 2 / 3}
