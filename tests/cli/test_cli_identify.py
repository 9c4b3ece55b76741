"""`rectitude identify`: values, precision, formats, exit codes and errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_files import Run, Said

import rectitude as rt


@pytest.fixture
def identify(shop: Path, run: Run) -> Run:
    """Run `rectitude identify` on the truth of the shop, with few profiles."""

    def call(*arguments: str) -> Said:
        usual = ("--truth", "truth.csv", "--profiles", "trec_eval-9,rectools", "--most", "300")
        return run("identify", "good.csv", *usual, *arguments)

    return call


def value(metric: str, convention: object = None) -> float:
    return rt.evaluate("good.csv", "truth.csv", metric, convention)[metric]


def test_profile_that_gives_the_value_is_named(identify: Run) -> None:
    shown = f"{value('ndcg@5', 'rectools'):.6f}"
    said = identify("--metric", "ndcg@5", "--value", shown)
    assert said.code == 0
    assert f"ndcg@5 = {shown}" in said.out
    assert "rectools gives this value" in said.out
    assert "by chance" in said.out


def test_nothing_that_fits_exits_1_with_the_nearest(identify: Run) -> None:
    said = identify("--metric", "ndcg@5", "--value", "0.98765")
    assert said.code == 1
    assert "None of 300 definitions gives 0.98765; the nearest is" in said.out


def test_json_holds_matches_and_recipes(identify: Run) -> None:
    exact = value("ndcg@5", {"gain": "exp2"})
    said = identify("--metric", "ndcg@5", "--value", repr(exact), "--tolerance", "0", "--json")
    stored = json.loads(said.out)
    assert said.code == 0
    assert stored["matches"][0]["value"] == exact
    assert stored["tried"] == 300
    assert [one["profile"] for one in stored["profiles"]] == ["default", "trec_eval-9", "rectools"]


def test_fewer_decimals_than_printed_fit_more(identify: Run) -> None:
    shown = f"{value('ndcg@5'):.6f}"
    fitting = [
        json.loads(identify("--metric", "ndcg@5", "--value", shown, *more, "--json").out)["fitting"]
        for more in ((), ("--decimals", "1"))
    ]
    assert fitting[0] < fitting[1]


def test_percent_is_understood(identify: Run) -> None:
    said = identify("--metric", "ndcg@5", "--value", f"{100 * value('ndcg@5'):.4f}%")
    assert said.code == 0
    assert "default" in said.out


def test_output_goes_to_a_file(identify: Run, shop: Path) -> None:
    said = identify("--metric", "ndcg@5", "--value", "0.5", "--output", "found.txt")
    assert said.out == ""
    assert "definitions" in (shop / "found.txt").read_text()


def test_dense_scores_are_searched(shop: Path, run: Run) -> None:
    np.save("scores.npy", np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
    (shop / "pairs.csv").write_text("user,item\n0,1\n1,0\n")
    said = run(
        "identify", "--scores", "scores.npy", "--truth", "pairs.csv", "--metric", "mrr",
        "--value", "0.417", "--profiles", "rectools", "--most", "100",
    )  # fmt: skip
    assert said.code == 0
    assert "0.41666667" in said.out


def test_logits_are_searched(shop: Path, run: Run) -> None:
    np.save("logits.npy", np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]]))
    np.save("targets.npy", np.array([1, 1]))
    said = run(
        "identify", "--logits", "logits.npy", "--targets", "targets.npy", "--metric", "mrr",
        "--value", "75.0%", "--profiles", "next-location", "--most", "100",
    )  # fmt: skip
    assert said.code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--metric", "ndcg@5", "--value", "six"), "'six' is not a finite number"),
        (("--metric", "ndcg@5", "--value", "0.5", "--tolerance", "-1"), "tolerance is -1.0"),
        (("--metric", "ndgc@5", "--value", "0.5"), "did you mean 'ndcg@5'"),
        (("--metric", "ndcg@5", "--value", "0.5", "--most", "0"), "most is 0"),
        (("--metric", "ndcg@5"), "--value"),
        (("--value", "0.5"), "--metric"),
    ],
)
def test_bad_use_exits_2(identify: Run, arguments: tuple[str, ...], message: str) -> None:
    said = identify(*arguments)
    assert said.code == 2
    assert message in said.err


def test_unknown_profile_is_answered_with_the_nearest(shop: Path, run: Run) -> None:
    said = run(
        "identify", "good.csv", "--truth", "truth.csv", "--metric", "mrr", "--value", "0.5",
        "--profiles", "rectool",
    )  # fmt: skip
    assert said.code == 2
    assert "'rectools'" in said.err
