"""Tables have the same bits and the same ledger whole, in ragged batches, in any order of rows, and
in exactly 1, 7 or 64 parts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

import rectitude as rt
from engines.cases import Frames, cases, outcome
from rectitude.evaluation import inputs, partitions

FOLDER_IS_REUSED = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SIDES = ("predictions", "truth")
BY_USER = (*SIDES, "weights", "users")
"""tables of which a batch has the rows of its users; of the others it has all"""


@pytest.mark.parametrize("parts", [1, 7, 64])
@FOLDER_IS_REUSED
@given(case=cases(), suffix=st.sampled_from([".parquet", ".csv"]), ordered=st.booleans())
def test_so_many_parts_give_what_memory_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: tuple[Frames, dict[str, Any]],
    parts: int, suffix: str, ordered: bool,
) -> None:  # fmt: skip
    frames, options = case
    if ordered:
        frames["predictions"] = frames["predictions"].sort("user", maintain_order=True)
    paths = {name: write(frame, tmp_path / f"{name}{suffix}") for name, frame in frames.items()}
    in_memory = of(paths, options)
    monkeypatch.setattr(inputs, "LEAST_MEMORY", 1)
    monkeypatch.setattr(partitions, "count_parts", lambda rows, limit: parts)
    assert of(paths, {**options, "memory": 1}) == in_memory


def write(frame: pl.DataFrame, path: Path) -> Path:
    (frame.write_csv if path.suffix == ".csv" else frame.write_parquet)(path)
    return path


def of(tables: dict[str, Any], options: dict[str, Any]) -> object:
    """What an evaluation of tables says."""
    others = {name: table for name, table in tables.items() if name not in SIDES}
    return outcome(*(tables[side] for side in SIDES), **others, **options)


@settings(max_examples=40)
@given(case=cases(), seed=st.integers(0, 9))
def test_the_order_of_rows_changes_nothing(case: tuple[Frames, dict[str, Any]], seed: int) -> None:
    frames, options = case
    shuffled = {
        name: frame.sample(fraction=1, shuffle=True, seed=seed) for name, frame in frames.items()
    }
    assert of(shuffled, options) == of(frames, options)


@settings(max_examples=40)
@given(case=cases(), order=st.randoms(use_true_random=False))
def test_ragged_batches_give_what_one_evaluation_gives(
    case: tuple[Frames, dict[str, Any]], order: random.Random
) -> None:
    frames, options = case
    frames = {name: frame for name, frame in frames.items() if name != "candidates"}  # likewise
    options = {name: value for name, value in options.items() if name != "slices"}
    assume(not isinstance(options["convention"], list))
    options["convention"].pop("unknown_users", None)  # a batch may be left with nothing
    options.pop("users_of_lists", None)
    try:
        whole = rt.evaluate(**frames, **options)
    except rt.RectitudeError:
        reject()  # what cannot be evaluated whole has nothing to compare
    assume(not whole.failures)
    metrics, convention = options.pop("metrics"), options.pop("convention")
    evaluator = rt.Evaluator(metrics, convention, **options)
    for users in groups_of(frames, order):
        mine = {n: f.filter(pl.col("user").is_in(users)) for n, f in frames.items() if n in BY_USER}
        evaluator.update(**{**frames, **mine})
    assert content(evaluator.compute()) == content(whole)


def groups_of(frames: Frames, order: random.Random) -> list[list[Any]]:
    """All users in groups of any size, each of which has somebody with a list and truth."""
    lists, truth = ({*frames[side]["user"]} for side in SIDES)
    others = ({*frame["user"]} for name, frame in frames.items() if name in BY_USER)
    users = sorted(lists.union(*others))
    order.shuffle(users)
    groups: list[list[Any]] = [[]]
    for user in users:
        if lists & truth & {*groups[-1]} and order.random() < 0.3:
            groups.append([])
        groups[-1].append(user)
    last = groups.pop()
    return [*groups, last] if lists & truth & {*last} else [*groups[:-1], groups[-1] + last]


def content(evaluation: rt.Evaluation) -> dict[str, Any]:
    """What batches have in common with one evaluation."""
    results = {
        name: repr((result.value, result.ties, result.interval, result.counted))
        for name, result in evaluation.results.items()
    }
    counts = {entry.name: (entry.count, entry.of) for entry in evaluation.ledger}
    prints = [evaluation.manifest["inputs"][side]["fingerprint"] for side in SIDES]
    return {"results": results, "counts": counts, "prints": prints}
