"""`rectitude evaluate --slices`: numbers by attribute."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cli_files import Run, Said

import rectitude as rt

SLICES = ("gender", "activity:4", "popularity:3", "known", "price:10,50,100", "gender+activity:2")


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Run:
    """Run `rectitude evaluate` with slices, in a folder with all that they need."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    users, items = [f"u{u}" for u in range(80)], [f"i{i}" for i in range(30)]

    def drawn(many: int) -> pl.DataFrame:
        rows = [(u, items[i]) for u in users for i in rng.permutation(30)[:many]]
        return pl.DataFrame(rows, schema=["user", "item"], orient="row")

    for name in ("a", "b"):
        lists = drawn(10)
        lists.with_columns(score=rng.random(lists.height)).write_csv(f"{name}.csv")
    drawn(3).write_csv("truth.csv")
    drawn(8).sample(fraction=0.6, seed=1).write_csv("train.csv")
    gender = [("f", "m", None)[n] for n in rng.choice(3, 80, p=[0.5, 0.4, 0.1])]
    pl.DataFrame({"user": users, "gender": gender}).write_csv("users.csv")
    pl.DataFrame({"item": items, "price": rng.integers(1, 150, 30)}).write_csv("items.csv")

    def call(*arguments: str) -> Said:
        return run(
            "evaluate", "--truth", "truth.csv", "--train", "train.csv", "--users", "users.csv",
            "--items", "items.csv", "--metrics", "ndcg@5", "recall@5", *arguments,
        )  # fmt: skip

    return call


def test_slices_may_be_named_in_a_row_or_one_by_one(evaluate: Run) -> None:
    row = evaluate("--predictions", "a.csv", "--json", "--slices", *SLICES)
    single = evaluate(
        "--predictions", "a.csv", "--json", *(w for s in SLICES for w in ("--slices", s))
    )
    assert row.code == 0, row.err
    assert row.out == single.out
    numbers = json.loads(row.out)["slices"]["numbers"]
    assert list(dict.fromkeys(n["by"] for n in numbers)) == ["all", *SLICES]


def test_the_numbers_are_those_of_python(evaluate: Run) -> None:
    told = json.loads(evaluate("--predictions", "a.csv", "--json", "--slices", *SLICES).out)
    found = rt.evaluate(
        "a.csv", "truth.csv", ["ndcg@5", "recall@5"], train="train.csv", users="users.csv",
        items="items.csv", slices=SLICES,
    )  # fmt: skip
    assert told["slices"] == found.as_dict()["slices"]


def test_a_table_of_each_slicing_follows_the_numbers(evaluate: Run) -> None:
    text = evaluate("--predictions", "a.csv", "--slices", "gender", "price:10,50").out
    assert "| gender " in text
    assert "| 10 to < 50 " in text
    assert "too small to interpret" in text
    loose = evaluate("--predictions", "a.csv", "--slices", "gender", "--smallest-slice", "2").out
    assert "too small" not in loose
    assert "a number of lists" in evaluate("--predictions", "a.csv", "--smallest-slice", "-1").err


@pytest.mark.parametrize("runs", [("a.csv",), ("a.csv", "b.csv")])
def test_slices_are_written_in_every_format(evaluate: Run, runs: tuple[str, ...]) -> None:
    common = ("--predictions", *runs, "--slices", "gender")
    table = pl.read_csv(evaluate(*common, "--csv").out.encode())
    assert table.height == 2 * 4 * len(runs)
    assert {"by", "slice", "value", "low", "high", "share", "too_small"} <= {*table.columns}
    assert evaluate(*common, "--latex").out.count(r"\toprule") == 1 + len(runs)
    assert evaluate(*common, "--format", "markdown").out.count("| gender") == len(runs)
    assert evaluate(*common).out.count("| gender") == len(runs)


def test_invalid_slices_are_refused(evaluate: Run) -> None:
    for words, told in {
        ("gendr",): "did you mean 'gender'",
        ("gender:3",): "expected numbers",
        ("price:1",): "from 2 to 100",
        ("known", "known"): "are requested twice",
    }.items():
        said = evaluate("--predictions", "a.csv", "--slices", *words)
        assert said.code == 2
        assert told in said.err
    assert (
        "--slices is not available"
        in evaluate("--predictions", "a.csv", "--slices", "known", "--format", "smgcn").err
    )
