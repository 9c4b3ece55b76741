"""The filters of other frameworks as recipes, against the rows that they left themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rectitude.preparing import prepare

Words = Mapping[str, Any]
Recipe = list[dict[str, Any]]


def daisyrec(words: Words) -> Recipe:
    recipe: Recipe = [{"step": "deduplicate", "keep": "last", "order": "file"}]
    if "positive_threshold" in words:
        recipe.append({"step": "threshold", "at": words["positive_threshold"]})
    if "prepro" in words:
        number, kind = re.fullmatch(r"(\d+)(core|filter)", words["prepro"]).groups()  # type: ignore[union-attr]
        sides = {"u": ["users"], "i": ["items"], "ui": ["users", "items"]}[words["level"]]
        step = {"core": "k_core", "filter": "n_filter"}[kind]
        recipe.append({"step": step, **dict.fromkeys(sides, int(number))})
    return recipe


def elliot(words: Words) -> Recipe:
    core = words.get("core")
    mean = words.get("threshold") == "average"
    threshold = "global_mean" if mean else words.get("threshold")
    return {
        "global_threshold": [{"step": "threshold", "at": threshold}],
        "user_average": [{"step": "threshold", "at": "user_mean"}],
        "user_k_core": [{"step": "n_filter", "users": core}],
        "item_k_core": [{"step": "n_filter", "items": core}],
        "iterative_k_core": [{"step": "k_core", "users": core, "items": core}],
        "n_rounds_k_core": [
            {"step": "k_core", "users": core, "items": core, "rounds": words.get("rounds")}
        ],
        "cold_users": [{"step": "cold_users", "at_most": threshold}],
    }[words["strategy"]]


def recbole(words: Words) -> Recipe:
    if "rm_dup_inter" in words:
        return [{"step": "deduplicate", "keep": words["rm_dup_inter"], "ties": "last"}]
    if "val_interval" in words:
        return [{"step": "threshold", "at": interval(words["val_interval"]["rating"])[0]}]
    bounds: dict[str, int] = {}
    for side in ("user", "item"):
        low, high = interval(words[f"{side}_inter_num_interval"])
        bounds |= {f"{side}s_at_least": low} | ({f"{side}s_at_most": high} if high else {})
    return [{"step": "between", **bounds}]


def interval(text: str) -> tuple[int, int | None]:
    """The bounds of [3,8] or [4,inf)."""
    low, high = re.fullmatch(r"\[(\d+),(\d+(?=\])|inf(?=\)))[\])]", text).groups()  # type: ignore[union-attr]
    return int(low), None if high == "inf" else int(high)


def recpack(words: Words) -> Recipe:
    if words["filter"] == "chain":
        return [step for one in words["steps"] for step in recpack(one)]
    counted = {"repeats": "counted" if words.get("count_duplicates") else "once"}
    n = words.get("n")
    order = "time" if words.get("timestamp") else "file"
    return {
        "Deduplicate": [{"step": "deduplicate", "keep": "first", "order": order}],
        "MinUsersPerItem": [{"step": "users_per_item", "at_least": n, **counted}],
        "MinItemsPerUser": [{"step": "items_per_user", "at_least": n, **counted}],
        "MaxItemsPerUser": [{"step": "items_per_user", "at_most": n, **counted}],
        "MinRating": [{"step": "threshold", "at": words.get("min_rating")}],
        "NMostPopular": [{"step": "popular_items", "n": n}],
        "NMostRecent": [{"step": "recent_items", "n": n}],
    }[words["filter"]]


def replay(words: Words) -> Recipe:
    users, items = (words.get(f"min_inter_per_{side}") for side in ("user", "item"))
    end = "earliest" if words.get("first") else "latest"
    return {
        "InteractionEntriesFilter": [{"step": "k_core", "users": users, "items": items}],
        "LowRatingFilter": [{"step": "threshold", "at": words.get("value")}],
        "MinCountFilter": [{"step": "n_filter", f"{words.get('by')}s": words.get("num_entries")}],
        "NumInteractionsFilter": [
            {"step": end, "n": words.get("num_interactions"), "ties": "last"}
        ],
    }[words["filter"]]


FRAMEWORKS = {
    "daisyrec": (daisyrec, 9),
    "elliot": (elliot, 9),
    "recbole": (recbole, 8),
    "recpack": (recpack, 11),
    "replay": (replay, 5),
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_recipe_leaves_the_rows_that_the_framework_left(golden: Path, framework: str) -> None:
    recipe_of, expected = FRAMEWORKS[framework]
    table = golden / "inputs" / "interactions" / "interactions.parquet"
    compared = 0
    for file in sorted((golden / "cases" / framework).glob("interactions--*.json")):
        case = json.loads(file.read_text())
        if case["operation"]["name"] not in ("filter", "preprocess") or case["check"] != "rows":
            continue
        log = prepare(table, recipe_of(case["operation"]))
        assert set(log.frame["row"]) == set(case["expected_rows"]), file.name
        counts = dict(zip(("rows", "users", "items"), log.size, strict=True))
        assert counts | case.get("expected_counts", {}) == counts, file.name
        compared += 1
    assert compared >= expected


def test_a_fraction_that_elliot_refuses_is_a_threshold_like_any_other(golden: Path) -> None:
    table = golden / "inputs" / "interactions" / "interactions.parquet"
    fraction = prepare(table, [{"step": "threshold", "at": 3.5}])
    whole = prepare(table, [{"step": "threshold", "at": 4}])
    assert fraction.frame.equals(whole.frame)
