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
from scipy.sparse import csr_matrix

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadExtension,
    BadIds,
    BadScores,
    BadTable,
    MetricFailed,
    MissingNeed,
    NotComparable,
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


def make_evaluator(*batches: Any, metrics: Any = METRICS, **more: Any) -> rt.Evaluator:
    evaluator = rt.Evaluator(metrics, **more)
    for predictions, truth in batches:
        evaluator.update(predictions, truth)
    return evaluator


def stored(evaluator: rt.Evaluator, folder: Path) -> str:
    """Everything in an evaluator, as text."""
    evaluator.save(folder / "stored.json")
    return (folder / "stored.json").read_text()


def test_batches_add_up_to_one_evaluation() -> None:
    evaluation = make_evaluator(ANN, BOB).compute()
    whole = rt.evaluate(ANN[0] | BOB[0], ANN[1] | BOB[1], METRICS)
    assert evaluation.values() == whole.values()
    assert evaluation["mrr"] == (1 / 2 + 1) / 2
    assert evaluation.manifest["batches"] == 2
    assert evaluation.manifest["lists"] == 2
    assert evaluation.ledger["truth_rows"] == 2


def test_nothing_to_compute_before_the_first_batch_and_after_reset() -> None:
    evaluator = make_evaluator(ANN)
    evaluator.reset()
    for empty in (evaluator, rt.Evaluator("mrr"), rt.Evaluator("mrr") + rt.Evaluator("mrr")):
        with pytest.raises(NothingToEvaluate, match="no batch has been added"):
            empty.compute()
    evaluator.update(*BOB)
    assert evaluator.compute()["mrr"] == 1


def test_later_batches_do_not_change_an_evaluation() -> None:
    evaluator = make_evaluator(ANN)
    before = evaluator.compute()
    text = before.to_json()
    evaluator.update(*BOB)
    assert before.to_json() == text
    assert evaluator.compute()["mrr"] == 3 / 4


def test_evaluators_are_added_without_changing_them(tmp_path: Path) -> None:
    first, second = make_evaluator(ANN), make_evaluator(BOB)
    before = stored(first, tmp_path), stored(second, tmp_path)
    for total in (
        first + second,
        second + first,
        sum([first, second]),
        first + second + rt.Evaluator(METRICS),
    ):
        assert total.compute()["mrr"] == 3 / 4
    assert (stored(first, tmp_path), stored(second, tmp_path)) == before


@pytest.mark.parametrize("per_list", ["kept", "dropped"])
def test_a_user_in_several_batches_counts_once_if_users_are_the_unit(per_list: Any) -> None:
    evaluator = rt.Evaluator("mrr", {"unit": "user"}, per_list=per_list)
    for keys, owners, item in ((["s", "t"], ["ann", "bob"], 2), (["u"], ["ann"], 1)):
        scores = rt.Scores([[3.0, 2.0, 1.0]] * len(keys), lists=keys, users=owners)
        truth = {"visit": keys, "item": [item] * len(keys)}
        evaluator.update(scores, truth, list_key="visit")
    evaluation = evaluator.compute()
    # ann: (1/3 + 1/2) / 2, bob: 1/3
    assert evaluation["mrr"] == pytest.approx(((1 / 3 + 1 / 2) / 2 + 1 / 3) / 2, rel=1e-15)
    assert evaluation.results["mrr"].counted == 2
    if per_list == "kept":
        assert dict(evaluation.per_user().rows()) == pytest.approx({"ann": 5 / 12, "bob": 1 / 3})


def test_rows_without_ids_are_not_users() -> None:
    evaluator = rt.Evaluator(["mrr"], {"unit": "user"})
    nameless: list[tuple[Any, Any]] = [
        (rt.Scores(np.eye(2)), {0: [1]}), (rt.Logits(np.eye(2)), [0, 1]),
        (rt.Embeddings(np.eye(2), np.eye(2)), {0: [1]}),
    ]  # fmt: skip
    for predictions, truth in nameless:
        with pytest.raises(BadArgument, match="users= with the same ids in every batch"):
            evaluator.update(predictions, truth)
    evaluator.update(rt.Scores(np.eye(2), users=["x", "y"]), {"x": [1]})
    assert evaluator.batches == 1


def test_a_truth_with_more_users_than_the_batch_needs_users() -> None:
    truth = {user: [user % 3] for user in range(6)}
    scores = np.arange(18.0).reshape(6, 3)
    evaluator = rt.Evaluator(["mrr", "recall@1"])
    for first in (0, 2, 4):
        users = [first, first + 1]
        evaluator.update(rt.Scores(scores[users], users=users), truth, users=users)
    whole = rt.evaluate(rt.Scores(scores), truth, ["mrr", "recall@1"])
    assert evaluator.compute().values() == whole.values()


def test_memory_does_not_grow_with_the_number_of_batches(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = []
    evaluator = rt.Evaluator(
        ["accuracy@{1,5}", "mrr", "weighted_f1", "cross_entropy"], intervals=True
    )
    for _ in range(40):
        evaluator.update(rt.Logits(rng.normal(size=(50, 10))), rng.integers(0, 10, 50))
        sizes.append(len(stored(evaluator, tmp_path)))
    assert sizes[-1] < sizes[0] * 1.05
    assert evaluator.compute().results["mrr"].counted == 2000
    assert evaluator.state.kept.lists == ()


def test_values_per_list_are_kept_on_request(tmp_path: Path) -> None:
    evaluator = make_evaluator(ANN, BOB, per_list="kept")
    rows = [("ann", 1 / 2, 0.6309297535714575), ("bob", 1.0, 1.0)]
    assert evaluator.compute().per_list().rows() == rows
    evaluator.save(tmp_path / "e.json")
    assert rt.Evaluator.load(tmp_path / "e.json").compute().per_list().rows() == rows
    with pytest.raises(MissingNeed):
        make_evaluator(ANN).compute().per_list()


def test_ids_of_any_size_are_kept(tmp_path: Path) -> None:
    large = 2**63 + 5
    evaluator = rt.Evaluator("mrr", per_list="kept")
    for user in (7, large, -3):
        evaluator.update({user: [1]}, {user: [1]})
        evaluator.save(tmp_path / "e.json")
        evaluator = rt.Evaluator.load(tmp_path / "e.json")
    assert evaluator.compute().per_list()["user"].to_list() == [7, large, -3]


def test_ids_that_json_cannot_store_are_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    before = stored(make_evaluator(ANN), tmp_path)
    evaluator = rt.Evaluator("mrr", per_list="kept")
    evaluator.update({date(2020, 1, 1): [1]}, {date(2020, 1, 1): [1]})
    with pytest.raises(BadIds, match="cannot be saved with values per list"):
        evaluator.save(tmp_path / "stored.json")
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
    yield {"x": ["a"]}, {"x": ["a"]}, {"ranking": {"x": ["a"]}}, BadArgument
    yield {1: ["a"]}, {1: ["a"]}, {}, BadIds  # users were text before, and values are kept
    yield {"x": ["a"]}, 5, {}, BadTable


@pytest.mark.parametrize("batch", list(bad_batches()), ids=lambda batch: batch[-1].__name__)
def test_a_bad_batch_leaves_everything_as_it_was(batch: Any, tmp_path: Path) -> None:
    predictions, truth, more, kind = batch
    evaluator = make_evaluator(ANN, per_list="kept", intervals=True)
    before = stored(evaluator, tmp_path)
    with pytest.raises(kind):
        evaluator.update(predictions, truth, **more)
    assert stored(evaluator, tmp_path) == before
    evaluator.update(*BOB)
    assert evaluator.compute()["mrr"] == 3 / 4


def test_a_metric_that_fails_leaves_everything_as_it_was(tmp_path: Path) -> None:
    evaluator = rt.Evaluator(["mrr", "precision"], {"precision_over": "returned"}, check="now")
    evaluator.update({"x": ["a"]}, {"x": ["a"]})
    before = stored(evaluator, tmp_path)
    with pytest.raises(UndefinedValue, match="0/0"):
        evaluator.update(rt.Lists({"x": ["a"]}, users=["x", "z"]), {"x": ["a"], "z": ["a"]})
    assert stored(evaluator, tmp_path) == before


def test_a_batch_on_which_a_metric_fails_is_named_and_left_out() -> None:
    evaluator = rt.Evaluator(["mrr", "precision"], {"precision_over": "returned"}, per_list="kept")
    evaluator.update({"x": ["a"]}, {"x": ["a"]})
    evaluator.update(rt.Lists({"y": ["a"]}, users=["y", "z"]), {"y": ["a"], "z": ["a"]})
    evaluator.update({"w": ["b", "a"]}, {"w": ["a"]})
    evaluator.update(rt.Lists({"v": ["a"]}, users=["v", "u"]), {"v": ["a"], "u": ["a"]})
    assert evaluator.batches == 4
    with pytest.raises(UndefinedValue, match=r"batch 2 \(and 1 more\): .*0/0.*first: list 'z'"):
        evaluator.compute()
    assert evaluator.batches == 2
    evaluation = evaluator.compute()
    assert evaluation.per_list()["user"].to_list() == ["x", "w"]
    assert (evaluation["mrr"], evaluation["precision"], evaluation.manifest["lists"]) == (
        3 / 4,
        3 / 4,
        2,
    )
    assert evaluation.ledger["users_in_truth"] == 2


def test_pending_batches_are_measured_before_they_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, batches = np.random.default_rng(1), 12
    scores, truth = rng.normal(size=(batches * 8, 30)), rng.integers(0, 30, batches * 8)
    whole = rt.evaluate(rt.Logits(scores), truth, ["mrr", "ndcg@5", "cross_entropy"])
    monkeypatch.setattr("rectitude.evaluation.stream.BLOCK_BYTES", 2000)
    evaluator = rt.Evaluator(["mrr", "ndcg@5", "cross_entropy"])
    waiting = []
    for at in range(0, batches * 8, 8):
        evaluator.update(rt.Logits(scores[at : at + 8]), truth[at : at + 8])
        waiting.append(len(evaluator._pending))
    assert max(waiting) < batches - 1
    assert 0 in waiting
    assert evaluator.compute().values() == whole.values()


def test_an_interruption_while_measuring_loses_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = make_evaluator(ANN, BOB)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rectitude.evaluation.stream.measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            evaluator.compute()
    assert evaluator.batches == 2
    assert evaluator.compute().values() == make_evaluator(ANN, BOB).compute().values()


def test_the_number_of_pending_small_batches_is_limited() -> None:
    evaluator, waiting = rt.Evaluator("mrr"), 0
    for user in range(1100):
        evaluator.update({user: ["a"]}, {user: ["a"]})
        waiting = max(waiting, len(evaluator._pending))
    assert waiting < 1100
    assert (evaluator.batches, evaluator.compute()["mrr"]) == (1100, 1.0)


def test_batches_of_different_kinds_are_measured_apart_with_the_same_result() -> None:
    evaluator = rt.Evaluator(["mrr", "ndcg@2"], {"ties": "optimistic"})
    evaluator.update({"x": ["a", "b"]}, {"x": ["b"]})
    evaluator.update({7: ["a", "b"]}, {7: ["a"]})
    evaluator.update(rt.Scores([[1.0, 1.0]], users=["z"], items=["a", "b"]), {"z": ["b"]})
    assert evaluator.batches == 3
    assert evaluator.compute()["mrr"] == (1 / 2 + 1 + 1) / 3


def test_copies_contain_the_measured_batches(tmp_path: Path) -> None:
    evaluator = make_evaluator(ANN, BOB)
    for copied in (pickle.loads(pickle.dumps(evaluator)), copy.deepcopy(evaluator)):  # noqa: S301
        assert copied.compute().values() == make_evaluator(ANN, BOB).compute().values()
        assert copied.batches == 2
    evaluator.update(*ANN)
    assert evaluator.batches == 3


def test_check_is_now_or_later() -> None:
    with pytest.raises(BadArgument, match="check is 'soon'"):
        rt.Evaluator("mrr", check="soon")  # type: ignore[arg-type]


def test_a_custom_metric_works_in_batches_and_must_exist_when_loaded(tmp_path: Path) -> None:
    @rt.metric("Mine", name="mine")
    def mine(lists: Any, k: int | None) -> Ratio:
        """Return hits, or raise an error if there are too many lists."""
        if lists.size > 1:
            raise ZeroDivisionError("too many")
        return Ratio.of(lists.hits(k))

    try:
        evaluator = make_evaluator(ANN, BOB, metrics="mine@1")
        evaluator.save(tmp_path / "e.json")
        assert rt.Evaluator.load(tmp_path / "e.json").compute()["mine@1"] == 1 / 2
        evaluator.update(ANN[0] | BOB[0], ANN[1] | BOB[1])
        with pytest.raises(MetricFailed, match=r"batch 3: .*too many"):
            evaluator.compute()
        assert evaluator.compute()["mine@1"] == 1 / 2
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
def test_evaluators_with_different_settings_cannot_be_added(
    other: rt.Evaluator, words: str
) -> None:
    with pytest.raises(NotComparable, match=words):
        make_evaluator(ANN) + other


def test_only_evaluators_can_be_added() -> None:
    for other in (1, None, "x"):
        with pytest.raises(TypeError):
            make_evaluator(ANN) + other  # type: ignore[operator]
    with pytest.raises(BadArgument, match="per_list"):
        rt.Evaluator("mrr", per_list="some")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="mrr"):
        rt.Evaluator("mmr")


def damaged(good: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Files that are not a complete evaluator, and the error for each."""
    text = json.dumps(good)
    yield text[: len(text) // 2], "is not JSON"
    yield "", "is not JSON"
    yield "[]", "contains 'list'"
    yield json.dumps(good | {"format": "rectitude.evaluation"}), "contains 'rectitude.evaluation'"
    yield json.dumps(good | {"version": FORMAT_VERSION + 1}), "newer version of rectitude"
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
    make_evaluator(ANN, BOB, per_list="kept").save(path)
    good = json.loads(path.read_text())
    for text, words in damaged(good):
        path.write_text(text)
        with pytest.raises(UnreadableFile) as caught:
            rt.Evaluator.load(path)
        assert words in str(caught.value)
        assert str(path) in str(caught.value)
    with pytest.raises(UnreadableFile, match="nowhere"):
        rt.Evaluator.load(tmp_path / "nowhere.json")


def test_a_file_is_json_and_not_a_pickle(tmp_path: Path) -> None:
    text = stored(make_evaluator(ANN), tmp_path)
    assert json.loads(text)["format"] == "rectitude.evaluator"
    with pytest.raises(ValueError):  # pickle cannot read it
        list(pickletools.genops(text.encode()))


def test_lists_scores_and_frames_may_be_mixed() -> None:
    evaluator = rt.Evaluator(["mrr", "hit@1"])
    evaluator.update({0: [1, 0]}, {0: [1]})
    evaluator.update(rt.Scores([[2.0, 1.0]], users=[1]), {1: [1]})
    evaluator.update(pl.DataFrame({"user": [2, 2], "item": [0, 1], "score": [1.0, 2.0]}), {2: [1]})
    assert evaluator.compute().values() == {"mrr": (1 + 1 / 2 + 1) / 3, "hit@1": 2 / 3}


def in_batches(
    metric: str, convention: object, *batches: tuple[object, object, dict[str, Any]]
) -> Any:
    evaluator = rt.Evaluator(metric, convention)
    for predictions, truth, options in batches:
        evaluator.update(predictions, truth, **options)
    return evaluator.compute()


def test_a_batch_without_truth_counts_if_lists_need_none() -> None:
    lists, truth = {0: [1, 2], 1: [2, 3], 2: [1, 4]}, {2: [1]}
    convention = {"truth_needed": "none"}
    whole = rt.evaluate(lists, truth, "hit@2", convention)
    parts = in_batches(
        "hit@2", convention, ({0: [1, 2], 1: [2, 3]}, {}, {}), ({2: [1, 4]}, truth, {})
    )
    assert parts["hit@2"] == whole["hit@2"] == 1 / 3


def test_batches_without_any_truth_raise_in_the_end() -> None:
    with pytest.raises(NothingToEvaluate, match="the truth of 2 batches has no rows"):
        in_batches("hit@2", {"truth_needed": "none"}, ({0: [1]}, {}, {}), ({1: [1]}, {}, {}))
    with pytest.raises(NothingToEvaluate, match="has no rows for the lists"):
        in_batches("hit@2", None, ({0: [1]}, {}, {}))


def test_a_batch_whose_users_have_seen_all_candidates_has_empty_lists() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    truth, train = csr_matrix([[0, 0, 1], [0, 1, 0]]), csr_matrix([[1, 1, 0], [1, 0, 0]])
    candidates = csr_matrix([[1, 1, 0], [1, 1, 0]])
    options = {"train": train, "candidates": candidates}
    whole = rt.evaluate(rt.Scores(scores), truth, "recall@2", **options)
    rows = [slice(0, 1), slice(1, 2)]
    given = [{name: table[row] for name, table in options.items()} for row in rows]
    sides = [(rt.Scores(scores[row]), truth[row]) for row in rows]
    batches = [(*side, more) for side, more in zip(sides, given, strict=True)]
    parts = in_batches("recall@2", None, *batches)
    assert parts["recall@2"] == whole["recall@2"] == 0.5
    with pytest.raises(NothingToEvaluate, match="all candidates are in the training data"):
        rt.evaluate(scores[:1], truth[:1], "recall@2", train=train[:1], candidates=candidates[:1])


def test_a_saved_evaluator_imports_no_module_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strange_module.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\ndef strange(lists, k): return lists.hit"
    )
    monkeypatch.syspath_prepend(tmp_path)
    evaluator = rt.Evaluator(["recall@3"])
    evaluator.save(tmp_path / "sums.json")
    text = (tmp_path / "sums.json").read_text()
    (tmp_path / "sums.json").write_text(text.replace("recall@3", "strange_module:strange@3"))
    with pytest.raises(BadExtension, match="opening a file imports nothing"):
        rt.Evaluator.load(tmp_path / "sums.json")
    assert not (tmp_path / "ran").exists()
