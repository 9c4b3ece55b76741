"""`rectitude explain` and `rectitude robustness`: texts, JSON, files, dense inputs, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli_files import Run, Said

import rectitude as rt


@pytest.fixture
def explain(shop: Path, run: Run) -> Run:
    """Run `rectitude explain` on a run and the truth of the shop."""

    def call(*arguments: str) -> Said:
        return run("explain", "good.csv", "--truth", "truth.csv", *arguments)

    return call


@pytest.fixture
def saved(shop: Path, run: Run) -> tuple[str, str]:
    """Two evaluations in files."""
    for name, convention in (("good", "default"), ("poor", "rectools")):
        rt.evaluate(
            f"{name}.csv", "truth.csv", ["ndcg@2", "recall@2", "mrr"], convention
        ).save(f"{name}.json")  # fmt: skip
    return "good.json", "poor.json"


@pytest.fixture
def scores(shop: Path) -> Path:
    """Two files of dense scores, a truth by position and training data."""
    np.save("one.npy", np.array([[5.0, 4, 3, 2], [9.0, 1, 2, 8]]))
    np.save("two.npy", np.array([[1.0, 4, 3, 2], [9.0, 8, 2, 1]]))
    (shop / "positions.csv").write_text("user,item\n0,1\n1,2\n1,3\n")
    (shop / "train.csv").write_text("user,item\n0,0\n1,0\n")
    return shop


def test_two_profiles_are_explained(explain: Run) -> None:
    said = explain("--metric", "ndcg@2", "--first", "default", "--second", "rectools")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("ndcg@2\n  first   default")
    assert "| ideal | reachable |      k |" in said.out
    assert "a hit at every rank up to the cutoff" in said.out


def test_the_first_convention_is_the_default_unless_given(explain: Run) -> None:
    said = explain("--metric", "ndcg@2", "--second", "rectools", "ties=optimistic")
    assert said.code == 0
    assert "first   default" in said.out
    assert "rectools, ties=optimistic" in said.out


def test_switches_alone_change_the_default(explain: Run) -> None:
    said = explain("--metric", "recall@1", "--second", "recall_over=reachable", "--json")
    stored = json.loads(said.out)
    assert [part["label"] for part in stored["parts"]] == ["recall_over"]
    assert stored["gap"] == stored["parts"][0]["share"] > 0


def test_other_predictions_are_explained(explain: Run) -> None:
    said = explain("--other", "poor.csv", "--metric", "mrr")
    assert said.code == 0
    assert "| predictions | good.csv | poor.csv |" in said.out


def test_json_is_written_to_a_file(explain: Run, shop: Path) -> None:
    said = explain("--metric", "mrr", "--second", "rectools", "--json", "--output", "why.json")
    assert (said.code, said.out) == (0, "")
    assert json.loads((shop / "why.json").read_text())["format"] == "rectitude.explanation"


def test_predictions_may_be_named_by_option(shop: Path, run: Run) -> None:
    words = ("--truth", "truth.csv", "--metric", "mrr", "--second", "rectools")
    assert run("explain", "--predictions", "good.csv", *words) == run("explain", "good.csv", *words)


def test_saved_evaluations_are_compared_by_what_they_record(
    saved: tuple[str, str], run: Run
) -> None:
    said = run("explain", *saved)
    assert said.code == 0
    assert "first: default\nsecond: rectools\n" in said.out
    assert "predictions: different\ntruth: the same" in said.out
    assert "To see how much each difference adds, pass the predictions and the truth." in said.out
    stored = json.loads(run("explain", *saved, "--json").out)
    assert [one["metric"] for one in stored["metrics"]] == ["ndcg@2", "recall@2", "mrr"]


def test_saved_evaluations_are_explained_with_predictions_and_truth(
    saved: tuple[str, str], run: Run
) -> None:
    words = ("--predictions", "good.csv", "--other", "poor.csv", "--truth", "truth.csv")
    said = run("explain", *saved, *words, "--metric", "ndcg@2", "--json")
    stored = json.loads(said.out)
    assert said.code == 0
    assert stored["notes"] == ["1 of 3 users in the truth have no predictions (first: 'cid')"]
    assert {part["label"] for part in stored["parts"]} == {"ideal", "predictions"}
    every = json.loads(run("explain", *saved, *words, "--json").out)
    assert [one["metric"] for one in every["explanations"]] == ["ndcg@2", "recall@2", "mrr"]


def test_a_saved_evaluation_can_be_one_end(saved: tuple[str, str], explain: Run) -> None:
    said = explain("--metric", "ndcg@2", "--first", saved[0], "--second", "rectools")
    assert said.code == 0
    assert "default (evaluation)" in said.out


def test_dense_scores_are_explained(scores: Path, run: Run) -> None:
    said = run(
        "explain", "--scores", "one.npy", "--other", "two.npy", "--truth", "positions.csv",
        "--train", "train.csv", "--metric", "ndcg@2", "--second", "seen=kept", "--json",
    )  # fmt: skip
    assert said.code == 0, said.err
    labels = {part["label"] for part in json.loads(said.out)["parts"]}
    assert labels == {"seen", "predictions"}


def test_logits_are_explained(scores: Path, run: Run) -> None:
    np.save("targets.npy", np.array([1, 3]))
    said = run(
        "explain", "--logits", "one.npy", "--targets", "targets.npy", "--metric", "mrr",
        "--second", "scale=percent",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "| scale | fraction | percent |" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metric", "ndcg@2", "--second", "rectool"), "did you mean 'rectools'"),
        (("--metric", "ndcg@2", "--second", "idael=k"), "did you mean 'ideal'"),
        (("--metric", "ndgc@2", "--second", "rectools"), "did you mean 'ndcg@2'"),
        (("--metric", "ndcg@2"), "there is nothing to compare"),
        (("--second", "rectools"), "no metric was given"),
        (("--metric", "ndcg@2", "--second", "ideal=found"), "no value under the second convention"),
        (("--metric", "hits", "--second", "ranx"), "'hits' is not defined under 'default'"),
        (("--metric", "mrr", "--other", "none.csv"), "none.csv does not exist"),
        (("poor.csv", "--metric", "mrr", "--other", "c.csv"), "3 prediction files were given"),
        (("one.json", "--metric", "mrr"), "1 saved evaluation was given: one.json"),
        (("--metric", "mrr", "--second", "rectools", "--output", "no/f"), "cannot be written"),
    ],
)
def test_bad_use_is_refused(explain: Run, words: tuple[str, ...], message: str) -> None:
    said = explain(*words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_conventions_with_saved_evaluations_are_refused(saved: tuple[str, str], run: Run) -> None:
    said = run(
        "explain", *saved, "--predictions", "good.csv", "--truth", "truth.csv", "--first", "ranx"
    )
    assert said.code == 2
    assert "saved evaluations and --first were both given" in said.err


def test_evaluations_without_a_common_metric_are_refused(shop: Path, run: Run) -> None:
    for name, metric in (("a", "mrr"), ("b", "map")):
        rt.evaluate("good.csv", "truth.csv", metric).save(f"{name}.json")
    said = run("explain", "a.json", "b.json")
    assert said.code == 2
    assert "no metric in common: the first has mrr, the second has map" in said.err


def test_metrics_that_cannot_be_explained_do_not_stop_the_others(shop: Path, run: Run) -> None:
    for name, changes in (("a", {}), ("b", {"ideal": "found", "undefined": "nan"})):
        rt.evaluate("poor.csv", "truth.csv", ["mrr", "ndcg@1"], changes).save(f"{name}.json")
    said = run("explain", "a.json", "b.json", "--predictions", "poor.csv", "--truth", "truth.csv")
    assert said.code == 1
    assert said.out.startswith("mrr")
    assert "'ndcg@1' has no value under the second convention" in said.err


def test_robustness_orders_models(shop: Path, run: Run) -> None:
    words = ("robustness", "good.csv", "poor.csv", "--truth", "truth.csv", "--metric", "mrr")
    said = run(*words)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("mrr under default: good > poor")
    stored = json.loads(run(*words, "--base", "ranx", "--profiles", "rectools", "--json").out)
    assert stored["base"]["label"] == "ranx"
    profiles = [one["label"] for one in stored["standings"] if one["kind"] == "profile"]
    assert profiles == ["rectools"]


def test_profiles_are_named_with_spaces_or_commas(shop: Path, run: Run) -> None:
    words = ("robustness", "good.csv", "poor.csv", "--truth", "truth.csv", "--metric", "mrr")
    several = [("rectools", "ranx"), ("rectools,ranx",), ("rectools,", "ranx")]
    said = {run(*words, "--profiles", *some).out for some in several}
    assert len(said) == 1


def test_the_option_with_two_profiles_is_named(explain: Run) -> None:
    said = explain("--metric", "mrr", "--second", "rectools", "ranx")
    assert said.code == 2
    assert "--second names several profiles: rectools, ranx." in said.err


def test_robustness_takes_dense_scores(scores: Path, run: Run) -> None:
    said = run(
        "robustness", "--scores", "one.npy", "two.npy", "--truth", "positions.csv", "--train",
        "train.csv", "--metric", "recall@2", "--output", "found.txt",
    )  # fmt: skip
    assert (said.code, said.out) == (0, "")
    assert (scores / "found.txt").read_text().startswith("recall@2 under default: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("good.csv", "--metric", "mrr"), "at least two"),
        (("good.csv", "poor.csv", "--metric", "mmr"), "did you mean"),
        (("good.csv", "poor.csv"), "Missing option '--metric'"),
        (("--metric", "mrr"), "no predictions were given"),
    ],
)
def test_robustness_refuses_bad_use(
    shop: Path, run: Run, words: tuple[str, ...], message: str
) -> None:
    said = run("robustness", *words, "--truth", "truth.csv")
    assert (said.code, said.out) == (2, "")
    assert message in said.err
