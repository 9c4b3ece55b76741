"""Arguments that depend on the options of golden cases: fillers, candidates, training items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rectitude.conformance.cases import Case, changes, load
from rectitude.conformance.inputs import arguments
from rectitude.conformance.run import conformance


def tree(folder: Path, profile: str, **case: Any) -> Path:
    """Write a golden tree with one case: users 1 to 3, items 0 to 5, training data, truth and
    candidates.

    User 3 has no candidates; an item in the truth of user 1 has no column in the scores.
    """
    inputs, cases = folder / "inputs" / "one", folder / "cases" / profile
    inputs.mkdir(parents=True)
    cases.mkdir(parents=True)
    np.save(inputs / "scores.npy", np.array([[6, 5, 4, 3, 2, 1]] * 3, np.float32))
    tables = {
        "rows": {"user": [1, 2, 3]},
        "items": {"item": [0, 1, 2, 3, 4, 5]},
        "truth": {"user": [1, 1, 2, 3], "item": [1, 99, 2, 0], "grade": [1.0, 1.0, 2.0, 3.0]},
        "train": {"user": [1, 2], "item": [0, 0]},
        "negatives": {"user": [1, 1, 1, 2], "item": [2, 3, 4, 5]},
        "recommendations": {
            "user": [1, 1, 2], "item": [5, 0, 2], "score": [2.0, 1.0, 1.0], "position": [0, 1, 0],
        },
    }  # fmt: skip
    for table, columns in tables.items():
        pl.DataFrame(columns).write_parquet(inputs / f"{table}.parquet")
    whole = {"profile": profile, "input": "one", "expected": {}, **case}
    (cases / "one.json").write_text(json.dumps(whole))
    return folder


def only(folder: Path) -> Case:
    (case,) = load(folder)
    return case


SAMPLED = {"candidates": "negatives.parquet", "users": "in_candidates", "batch_size": 2}


def test_fillers_pad_users_of_a_batch_to_the_most_candidates(
    tmp_path: Path,
) -> None:
    case = only(tree(tmp_path, "warprec", kind="scores", options=SAMPLED))
    # user 1 has 3 negatives and 1 relevant item, user 2 has 1 and 1: two are missing
    fillers = arguments(case, "")["train"]
    assert fillers["user"].to_list() == [2, 2]
    assert not set(fillers["item"]) & {2, 5}
    assert changes(case) == {"candidates": "with_truth", "seen": "removed"}


def test_batch_of_one_user_has_no_fillers(tmp_path: Path) -> None:
    case = only(tree(tmp_path, "warprec", kind="scores", options={**SAMPLED, "batch_size": 1}))
    assert arguments(case, "")["train"].is_empty()


def test_users_without_candidates_keep_their_row_and_lose_their_truth(tmp_path: Path) -> None:
    # recall: user 1 finds 1 of 1, user 2 has item 2 above item 5; f1 counts user 3 as 0
    expected = {"recall@1": 1.0, "f1@1": (1 + 1 + 0) / 3}
    folder = tree(tmp_path, "warprec", kind="scores", options=SAMPLED, expected=expected)
    (tally,) = conformance(folder)
    assert tally.wrong == []
    assert tally.agree == 2


def test_without_a_mask_option_the_profile_decides_about_training_items(tmp_path: Path) -> None:
    # item 0 is ranked last for users 1 and 2: their relevant items 1 and 2 have ranks 1 and 2
    expected = {"mrr@5": (1 / 1 + 1 / 2 + 1 / 1) / 3}
    folder = tree(tmp_path, "warprec", kind="scores", options={}, expected=expected)
    (tally,) = conformance(folder)
    assert tally.wrong == []


@pytest.mark.parametrize(("options", "rank"), [({}, 2), ({"list_items": "in_train"}, 1)])
def test_items_outside_the_training_data_can_be_removed_from_lists(
    options: dict[str, Any], rank: int, tmp_path: Path
) -> None:
    case = only(tree(tmp_path, "elliot", kind="lists", options=options))
    table = arguments(case, "")["predictions"].source
    assert table.filter(pl.col("user") == 1)["item"].to_list()[rank - 1] == 0
    assert arguments(case, "")["train"].rows() == [(1, 0), (2, 0)]


def test_case_that_defines_which_users_count_gets_no_training_data(tmp_path: Path) -> None:
    case = only(tree(tmp_path, "elliot", kind="lists", options={"users": "has_list_and_truth"}))
    assert "train" not in arguments(case, "")
