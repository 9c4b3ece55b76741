"""Windows: a model is trained, tested on what comes next, and continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.conformance.run import conformance
from rectitude.errors import BadArgument, BadExtension, NothingToEvaluate, UnknownName
from rectitude.experiment.windows import Windows, prequential, run_windows
from rectitude.models import model_of
from rectitude.splits.split import Split


def stream(rows: int = 600, seed: int = 0) -> pl.DataFrame:
    """Return interactions in which new users and items appear over time."""
    random = np.random.default_rng(seed)
    time = np.arange(rows)
    user = random.integers(0, 10 + time // 20)
    item = random.integers(0, 8 + time // 30)
    frame = pl.DataFrame({"user": user, "item": item, "timestamp": time})
    return frame.unique(["user", "item"], keep="first", maintain_order=True)


def windows(folds: int = 3) -> list[Split]:
    found = rt.split(stream(), "windows", span=60, folds=folds)
    assert isinstance(found, list)
    return found


METRICS = ["ndcg@5", "recall@5"]


@pytest.mark.parametrize("name", ["popularity", "recent-popularity", "item-knn", "markov"])
def test_updating_gives_exactly_the_results_of_refitting(name: str) -> None:
    both = [
        run_windows(model_of(name), windows(), METRICS, learning=learning)
        for learning in ("refit", "update")
    ]
    assert both[0].table().equals(both[1].table())


def test_each_window_is_a_separate_evaluation() -> None:
    found = run_windows(model_of("popularity"), windows(), METRICS)
    split = windows()[1]
    table = model_of("popularity").fit(split.train).recommend(split.truth.frame["user"].unique(), 5)  # type: ignore[attr-defined]
    alone = rt.evaluate(table, split.truth, "ndcg@5")["ndcg@5"]
    assert found.values("ndcg@5")["window-2"] == alone


def test_macro_counts_windows_and_micro_counts_lists() -> None:
    found = run_windows(model_of("popularity"), windows(), METRICS)
    values, lists = found.values("recall@5"), [e for e in found.evaluations.values() if e]
    everybody = np.concatenate([one.per_list()["recall@5"].to_numpy() for one in lists])
    assert found.macro("recall@5") == pytest.approx(np.mean(list(values.values())), abs=1e-15)
    assert found.micro("recall@5") == pytest.approx(np.mean(everybody), abs=1e-15)
    assert found.macro("recall@5") != found.micro("recall@5")
    assert found.summary().columns == ["metric", "macro", "micro"]
    running = found.running("recall@5")
    assert running["window-1"] == values["window-1"]
    assert running["window-3"] == found.micro("recall@5")


def test_saved_windows_add_up_to_the_same_results(tmp_path: Path) -> None:
    found = run_windows(model_of("popularity"), windows(), METRICS)
    again = {}
    for name, evaluation in found.evaluations.items():
        assert evaluation is not None
        evaluation.save(tmp_path / f"{name}.json")
        again[name] = rt.Evaluation.load(tmp_path / f"{name}.json")
    assert Windows(again).summary().equals(found.summary())


def test_new_users_and_items_are_counted() -> None:
    found = run_windows(model_of("item-knn"), windows(), METRICS)
    for split, facts in zip(windows(), found.facts.values(), strict=True):
        train, truth = split.train.frame, split.truth.frame
        assert facts["new_users"] == len(set(truth["user"]) - set(train["user"]))
        assert facts["new_items"] == len(set(truth["item"]) - set(train["item"]))
    new = sum(facts["new_users"] for facts in found.facts.values())
    assert new > 0
    assert found.ledger["users_not_in_train"] == new
    assert found.table()["new_users"].sum() == new
    assert "new_items" in str(found)


def test_windows_without_a_counted_user_are_left_out_or_zero() -> None:
    rows = {"user": [1, 2, 1, 9, 2], "item": [1, 2, 2, 1, 1], "timestamp": [0, 1, 10, 20, 30]}
    splits = rt.split(pl.DataFrame(rows), "windows", span=10, start=10)
    assert isinstance(splits, list)
    known = {"unknown_users": "drop"}
    found = run_windows(model_of("popularity"), splits, "recall@5", known)
    assert [one is None for one in found.evaluations.values()] == [False, True, False]
    assert found.ledger["windows_empty"] == 1
    values = [value for value in found.values("recall@5").values() if value == value]
    assert found.macro("recall@5") == sum(values) / 2
    zero = Windows(found.evaluations, empty="zero")
    assert zero.macro("recall@5") == sum(values) / 3
    assert zero.micro("recall@5") == found.micro("recall@5")
    assert found.table()["recall@5"].null_count() == 1


def test_a_stream_tests_every_row_once_before_training_on_it() -> None:
    frame = stream().sample(fraction=1.0, shuffle=True, seed=3)
    splits = list(prequential(frame, start=0.3, every=50))
    tested = [time for split in splits for time in split.truth.frame["timestamp"]]
    first = round(0.3 * frame.height)
    assert tested == sorted(frame["timestamp"])[first:]
    for split in splits:
        assert split.train.frame["timestamp"].max() < split.truth.frame["timestamp"].min()  # type: ignore[operator]
    found = run_windows(model_of("popularity"), splits, METRICS, learning="update")
    assert list(found.evaluations) == [f"step-{n}" for n in range(1, len(splits) + 1)]


def test_single_events_can_be_tested_one_by_one() -> None:
    splits = list(prequential(stream(), start=0.5, every=1, steps=4))
    assert [split.truth.frame.height for split in splits] == [1, 1, 1, 1]


def test_a_stream_can_be_ordered_by_position_in_each_user_history() -> None:
    rows = pl.DataFrame({"user": [1, 1, 1, 2, 2, 2], "item": [1, 2, 3, 4, 5, 6]})
    (split,) = prequential(rows, start=0.66, every=10, clock="user")
    assert split.train.frame["item"].to_list() == [1, 4, 2, 5]
    assert split.truth.frame["item"].to_list() == [3, 6]


def test_wrong_use_raises_errors() -> None:
    class Plain:
        def fit(self, train: object) -> None: ...

        def recommend(
            self, users: Any, k: int, *, candidates: Any = None, seen: Any = None
        ) -> pl.DataFrame:
            return pl.DataFrame({"user": users, "item": [0] * len(users), "score": 1.0})

    with pytest.raises(BadExtension, match="Plain has no method update"):
        run_windows(Plain(), windows(), METRICS, learning="update")
    with pytest.raises(UnknownName, match="no learning 'again'"):
        run_windows(Plain(), windows(), METRICS, learning="again")  # type: ignore[arg-type]
    nobody = pl.DataFrame({"user": [1, 2], "item": [1, 1], "timestamp": [0, 10]})
    splits = prequential(nobody, start=0.5, every=1)
    with pytest.raises(NothingToEvaluate, match="step-1: the model recommended nothing"):
        run_windows(model_of("item-knn", unknown_users="empty"), splits, METRICS)
    with pytest.raises(NothingToEvaluate, match="no windows"):
        run_windows(Plain(), [], METRICS)
    catalogue = stream()["item"].unique()
    counted = run_windows(Plain(), windows(), ["ndcg@5", "item_coverage@5"], items=catalogue)
    with pytest.raises(BadArgument, match="is not a mean over lists"):
        counted.micro("item_coverage@5")
    assert counted.summary()["micro"].null_count() == 1
    assert counted.ledger["items_seen"] > 0


def test_window_cases_of_the_golden_tree_agree(golden: Path) -> None:
    (standing,) = conformance(golden, ["streamsight"])
    assert standing.unsupported == 0
    assert standing.wrong == []


def test_a_wrong_or_unknown_window_value_is_detected(golden: Path, tmp_path: Path) -> None:
    source = golden / "cases" / "streamsight" / "scores-tiny--windows.json"
    case = json.loads(source.read_text())
    case["expected"]["precision[window=2]@10"] += 0.001
    case["expected"]["novelty_of_things[macro]@10"] = 1.0
    case["expected"]["median[window]@10"] = 1.0
    folder = tmp_path / "cases" / "streamsight"
    folder.mkdir(parents=True)
    (folder / source.name).write_text(json.dumps(case))
    (tmp_path / "inputs").symlink_to(golden / "inputs")
    (standing,) = conformance(tmp_path)
    assert [one.name for one in standing.wrong] == ["precision[window=2]@10"]
    assert standing.unsupported == 2
