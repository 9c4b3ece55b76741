"""The SMGCN line."""

from __future__ import annotations

from cli_files import Run

FIVE = "0.66667\t0.66667"


def test_the_line_has_four_arrays_at_the_usual_cutoffs(evaluate: Run) -> None:
    said = evaluate("good.csv", "--format", "smgcn")
    # Precision: ann has 2 hits, bob 1, cid no list: (2 + 1 + 0) / (3 k).
    # F1 at 5: (4/7 + 2/6 + 0) / 3. Every hit stands at its place in the truth, so RMRR = recall.
    assert said.code == 0
    assert said.out.startswith(
        f"recall=[{FIVE}\t{FIVE}], precision=[0.20000\t0.10000\t0.06667\t0.05000], F1=[0.30159\t"
    )
    assert said.out.endswith(f", RMRR=[{FIVE}\t{FIVE}]\n")


def test_cutoffs_come_from_the_metrics_asked_in_their_order(evaluate: Run) -> None:
    said = evaluate("good.csv", "--format", "smgcn", "--metrics", "recall@2", "f1@1")
    assert said.out == (
        "recall=[0.66667\t0.50000], precision=[0.50000\t0.66667], "
        "F1=[0.55556\t0.55556], RMRR=[0.66667\t0.50000]\n"
    )


def test_ndcg_is_there_if_asked_for(evaluate: Run) -> None:
    said = evaluate("good.csv", "--format", "smgcn", "--metrics", "ndcg@1")
    assert [part.partition("=")[0] for part in said.out.split(", ")] == [
        "recall", "precision", "F1", "ndcg", "RMRR",
    ]  # fmt: skip


def test_several_runs_have_a_line_each(evaluate: Run) -> None:
    lines = evaluate("good.csv", "poor.csv", "--format", "smgcn").out.splitlines()
    assert [line.partition(": recall=[")[0] for line in lines] == ["good", "poor"]


def test_other_metrics_have_no_place(evaluate: Run) -> None:
    for name in ("hit@5", "ndcg", "ndcg[gain=exp2]@5"):
        said = evaluate("good.csv", "--format", "smgcn", "--metrics", name)
        assert said.code == 2
        assert "the SMGCN line has no place for" in said.err


def test_f1_is_0_without_hits_and_nan_never_shows(evaluate: Run) -> None:
    said = evaluate("poor.csv", "--format", "smgcn", "--metrics", "f1@1")
    # poor has no hit at rank 1: precision + recall = 0 for every user.
    assert said.out == "recall=[0.00000], precision=[0.00000], F1=[0.00000], RMRR=[0.00000]\n"


def test_a_failing_metric_is_named_in_its_array(evaluate: Run) -> None:
    said = evaluate("good.csv", "--format", "smgcn", "--convention", "f1_without_hits=undefined")
    # cid has no hit, so F1 is 0/0 there, and the convention forbids that.
    assert said.code == 1
    assert "F1=[failed\tfailed\tfailed\tfailed]" in said.out
    assert f"recall=[{FIVE}\t{FIVE}]" in said.out
    assert said.err.startswith("error: UndefinedValue: ")
