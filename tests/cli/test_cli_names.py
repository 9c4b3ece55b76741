"""Metric names and cutoffs on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rectitude.cli.app import main

WORDS = ["evaluate", "--truth", "truth.csv", "--predictions", "lists.csv"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.csv").write_text("user,item\n1,a\n2,b\n")
    (tmp_path / "lists.csv").write_text("user,item,score\n1,c,2\n1,a,1\n2,b,2\n")


@pytest.mark.parametrize("cutoffs", [["5,10"], ["5", "10"]])
def test_cutoffs_are_given_apart(cutoffs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [*WORDS, "--metrics", "NDCG", "HR@1", "--cutoffs", *cutoffs, "--csv"]
    assert main(words) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["ndcg@5", "ndcg@10", "hit@1"]


def test_models_are_compared_at_cutoffs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.csv").write_text("user,item,score\n1,a,2\n2,b,2\n")
    words = ["compare", "lists.csv", "other.csv", "--truth", "truth.csv", "--metrics", "ndcg"]
    assert main([*words, "--cutoffs", "1,2"]) == 0
    out = capsys.readouterr().out
    assert "ndcg@1" in out
    assert "ndcg@2" in out


@pytest.mark.parametrize("option", ["--k", "--topk"])
def test_an_option_for_k_is_answered(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, option, "10"]) == 2
    hint = "cutoffs are part of a metric's name: --metrics ndcg@10, or --metrics ndcg --cutoffs 10"
    assert hint in capsys.readouterr().err


def test_metrics_are_listed_by_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    families = [line.partition(":")[0] for line in lines if ": " in line and line.endswith("?")]
    assert families[0] == "ranking"
    assert {"target", "catalogue", "popularity", "diversity", "fairness", "ratings"} <= {*families}
    assert lines[lines.index("ranking: Are relevant items near the top?") + 1].startswith("ndcg ")


def test_a_metric_is_explained_under_any_of_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "HR@10"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("hit@10: Hit rate.")
    assert "Family: ranking. Also called HR, hit_rate" in out
    assert main(["metrics", "acc"]) == 0
    assert capsys.readouterr().out.startswith("accuracy: Accuracy.")


def test_a_profile_shows_the_names_of_its_framework(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profiles", "show", "recbole"]) == 0
    assert "  ItemCoverage: coverage" in capsys.readouterr().out
