"""The SMGCN line: the metrics and the convention of the script that a format names."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from cli_files import Run

import rectitude as rt
from rectitude.cli import main

FIVE = "0.66667\t0.66667"


def labels(line: str) -> list[str]:
    return [part.partition("=")[0] for part in line.split(", ")]


def test_the_line_has_four_arrays_at_the_usual_cutoffs(evaluate: Run) -> None:
    said = evaluate("good.csv", "--format", "smgcn-f1")
    # Precision: ann has 2 hits, bob 1, cid no list: (2 + 1 + 0) / (3 k).
    # F1 at 5: (4/7 + 2/6 + 0) / 3. Every hit has its rank in the truth, so RMRR = recall.
    assert said.code == 0
    assert said.out.startswith(
        f"recall=[{FIVE}\t{FIVE}], precision=[0.20000\t0.10000\t0.06667\t0.05000], F1=[0.30159\t"
    )
    assert said.out.endswith(f", RMRR=[{FIVE}\t{FIVE}]\n")


def test_cutoffs_come_from_the_metrics_asked_in_their_order(evaluate: Run) -> None:
    said = evaluate("good.csv", "--format", "smgcn-f1", "--metrics", "recall@2", "f1@1")
    assert said.out == (
        "recall=[0.66667\t0.50000], precision=[0.50000\t0.66667], "
        "F1=[0.55556\t0.55556], RMRR=[0.66667\t0.50000]\n"
    )


def test_smgcn_prints_ndcg_and_smgcn_f1_prints_f1_and_either_prints_what_is_asked_for(
    evaluate: Run,
) -> None:
    said = evaluate("good.csv", "--format", "smgcn")
    assert (said.code, labels(said.out)) == (0, ["recall", "precision", "ndcg", "RMRR"])
    said = evaluate("good.csv", "--format", "smgcn-f1")
    assert labels(said.out) == ["recall", "precision", "F1", "RMRR"]
    for form, name in (("smgcn", "f1@1"), ("smgcn-f1", "ndcg@1")):
        said = evaluate("good.csv", "--format", form, "--metrics", name)
        assert labels(said.out) == ["recall", "precision", "F1", "ndcg", "RMRR"]


@pytest.mark.parametrize("form", ["smgcn", "smgcn-f1"])
def test_the_command_line_and_a_history_print_the_same_line(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # Four items of equal score: under SMGCN's convention the lower item comes first.
    tied = pl.DataFrame({"user": [1, 1, 1, 1], "item": [4, 3, 2, 1], "score": [1.0] * 4})
    tied.write_csv("tied.csv")
    pl.DataFrame({"user": [1, 1], "item": [1, 9]}).write_csv("truth.csv")
    command = ["evaluate", "--truth", "truth.csv", "--predictions", "tied.csv", "--format", form]
    assert main(command) == 0
    said = capsys.readouterr()
    names = ("recall", "precision", "f1", "ndcg", "rmrr")
    metrics = [f"{name}@{{5,10,15,20}}" for name in names]
    history = rt.History()
    history.add(0, rt.evaluate("tied.csv", "truth.csv", metrics, form))
    assert history.best_line(form).endswith(f"]\t{said.out.rstrip()}")  # type: ignore[arg-type]
    assert f"convention: {form}; for rectitude's own: --convention default\n" in said.err
    assert main([*command, "--convention", "default"]) == 0
    ours = capsys.readouterr()
    assert ours.out != said.out
    assert "convention: default\n" in ours.err


def test_switches_change_the_convention_of_the_script(evaluate: Run) -> None:
    said = evaluate("good.csv", "--format", "smgcn", "--convention", "scale=percent")
    assert re.search(r"convention: smgcn, scale=percent; for", said.err)
    assert said.out.startswith("recall=[66.66667\t")


def test_several_runs_have_a_line_each(evaluate: Run) -> None:
    lines = evaluate("good.csv", "poor.csv", "--format", "smgcn").out.splitlines()
    assert [line.partition(": recall=[")[0] for line in lines] == ["good", "poor"]


def test_other_metrics_are_refused(evaluate: Run) -> None:
    for name in ("hit@5", "ndcg", "ndcg[gain=exp2]@5"):
        said = evaluate("good.csv", "--format", "smgcn", "--metrics", name)
        assert said.code == 2
        assert "the SMGCN line cannot show" in said.err


def test_f1_is_0_without_hits_and_nan_never_shows(evaluate: Run) -> None:
    said = evaluate("poor.csv", "--format", "smgcn-f1", "--metrics", "f1@1")
    # poor has no hit at rank 1: precision + recall = 0 for every user.
    assert said.out == "recall=[0.00000], precision=[0.00000], F1=[0.00000], RMRR=[0.00000]\n"


def test_a_failing_metric_is_named_in_its_array(evaluate: Run) -> None:
    failing = ["--convention", "f1_without_hits=undefined"]
    said = evaluate("good.csv", "--format", "smgcn-f1", *failing)
    # cid has no hit, so F1 is 0/0 there, and the convention forbids that.
    assert said.code == 1
    assert "F1=[failed\tfailed\tfailed\tfailed]" in said.out
    assert f"recall=[{FIVE}\t{FIVE}]" in said.out
    assert "error: UndefinedValue: " in said.err
