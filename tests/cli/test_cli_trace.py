"""`rectitude trace` and `rectitude diagnose`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_files import Run

TRACE = ("trace", "good.csv", "--truth", "truth.csv", "--metric", "ndcg@3", "--user")
DIAGNOSE = ("diagnose", "good.csv", "--truth", "truth.csv", "--at", "3")


@pytest.mark.usefixtures("shop")
def test_a_trace_has_steps_and_the_value_of_evaluate(run: Run, shop: Path) -> None:
    said = run(*TRACE, "ann")
    assert said.code == 0
    for step in ("1. The list: 3 items.", "2. The list counts:", "3. Numerator:", "5. Value:"):
        assert step in said.out
    run("evaluate", "--truth", "truth.csv", "--predictions", "poor.csv", "--metrics", "map@3",
        "--per-list", "values.csv")  # fmt: skip
    rows = [line.split(",") for line in (shop / "values.csv").read_text().splitlines()]
    user, column = rows[0].index("user"), rows[0].index("map@3")
    for row in rows[1:]:
        traced = run("trace", "poor.csv", "--truth", "truth.csv", "--metric", "map@3", "--user",
                     row[user], "--json")  # fmt: skip
        assert json.loads(traced.out)["value"] == float(row[column])


@pytest.mark.usefixtures("shop")
def test_a_trace_follows_a_convention(run: Run) -> None:
    said = run(*TRACE, "bob", "--convention", "rectools", "gain=linear", "--json")
    stored = json.loads(said.out)
    assert stored["profile"] == "rectools, gain=linear"
    assert [line["gain"] for line in stored["lines"]] == [2.0, None]
    assert stored["format"] == "rectitude.trace"


@pytest.mark.usefixtures("shop")
def test_an_unknown_user_is_answered_with_the_nearest(run: Run) -> None:
    said = run(*TRACE, "anne")
    assert (said.code, said.out) == (2, "")
    assert "did you mean 'ann'" in said.err


@pytest.mark.usefixtures("shop")
def test_a_diagnosis_is_printed_with_a_verdict(run: Run) -> None:
    said = run("diagnose", "poor.csv", *DIAGNOSE[2:], "--reference", "0.09185",
               "--reference-convention", "comirec-paper")  # fmt: skip
    assert said.code == 0
    for words in (
        "hit rate = 0.666667",
        "over lists with a hit",
        "Verdict",
        "different quantities",
    ):
        assert words in said.out
    stored = json.loads(run(*DIAGNOSE, "--json").out)
    assert stored["hit_rate"] == pytest.approx(2 / 3)
    assert stored["reference"] is None


@pytest.mark.usefixtures("shop")
def test_a_wrong_reference_is_refused(run: Run) -> None:
    said = run(*DIAGNOSE, "--reference", "high")
    assert said.code == 2
    assert "such as 0.09185 or 9.185%" in said.err


def test_scores_and_logits_are_traced_and_diagnosed(run: Run, shop: Path) -> None:
    np.save(shop / "logits.npy", np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]))
    np.save(shop / "targets.npy", np.array([1, 1]))
    logits = ("--logits", "logits.npy", "--targets", "targets.npy")
    traced = json.loads(run("trace", *logits, "--metric", "mrr", "--user", "1", "--json").out)
    assert traced["value"] == 0.5
    assert json.loads(run("diagnose", *logits, "--json").out)["hit_rate"] == 1.0
    (shop / "wanted.csv").write_text("user,item\n0,1\n1,1\n")
    scores = ("--scores", "logits.npy", "--truth", "wanted.csv", "--metric", "mrr")
    assert json.loads(run("trace", *scores, "--user", "0", "--json").out)["value"] == 1.0


@pytest.mark.usefixtures("shop")
def test_one_kind_of_predictions_is_needed(run: Run) -> None:
    said = run("diagnose", "--truth", "truth.csv")
    assert said.code == 2
    assert "no predictions were given" in said.err
    two = run("diagnose", "--scores", "a.npy", "b.npy", "--truth", "truth.csv")
    assert two.code == 2


@pytest.mark.parametrize("words", [(*TRACE, "ann"), DIAGNOSE])
def test_the_result_can_be_written_to_a_file(run: Run, shop: Path, words: tuple[str, ...]) -> None:
    printed = run(*words).out
    assert run(*words, "--output", "found.txt")[:3] == (0, "", "")
    assert (shop / "found.txt").read_text() == printed
    refused = run(*words, "--output", "no/found.txt")
    assert refused.code == 2
    assert "--output no/found.txt cannot be written." in refused.err


def test_a_diagnosis_takes_weights(run: Run, shop: Path) -> None:
    (shop / "weights.csv").write_text("user,weight\nann,1\nbob,1\ncid,2\n")
    plain, weighed = (
        json.loads(run(*DIAGNOSE, *more, "--json").out)["hit_rate"]
        for more in ((), ("--weights", "weights.csv"))
    )
    assert (plain, weighed) == (pytest.approx(2 / 3), pytest.approx(1 / 2))
