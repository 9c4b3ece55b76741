"""The lines that SMGCN's training scripts print, computed by hand."""

from __future__ import annotations

import pytest

import rectitude as rt
from rectitude.errors import BadArgument, MissingNeed, UnknownName
from rectitude.metrics import METRICS, Ratio
from rectitude.reports.smgcn import STYLES

NAMES = [f"{name}@{{1,2,4}}" for name in ("recall", "precision", "f1", "ndcg", "rmrr")]
LOSSES = {"loss": 6.5, "mf_loss": 4.25, "emb_loss": 1.125, "reg_loss": 1.0, "cl_loss": 0.125}


def evaluated(*ranked: str) -> rt.Evaluation:
    return rt.evaluate({"ann": list(ranked)}, {"ann": ["a", "b"]}, NAMES)


def history() -> rt.History:
    made = rt.History()
    made.add(9, evaluated("x", "a", "y", "z"), LOSSES, seconds=(1.25, 2.25))
    made.add(19, evaluated("a", "x", "y", "b"), LOSSES, seconds=(1.0, 2.0))
    return made


def test_an_epoch_has_losses_and_metrics_at_the_first_and_the_last_cutoff() -> None:
    # The one hit of two relevant items is at rank 2: P@4 = 1/4, F1@4 = 2/6; RMRR: 1/(1+1)/2.
    assert history().line("smgcn-f1", index=0) == (
        "Epoch 9 [1.2s + 2.2s]: train==[6.50000=4.25000 + 1.12500 + 1.00000 + 0.12500]\n"
        " recall=[0.00000, 0.50000], precision=[0.00000, 0.25000], F1=[0.00000, 0.33333],"
        " RMRR=[0.00000, 0.25000]"
    )


def test_the_last_epoch_is_shown_unless_another_is_named() -> None:
    assert history().line("smgcn").startswith("Epoch 19 [1.0s + 2.0s]: ")


def test_the_scripts_differ_in_spaces_and_in_what_they_print() -> None:
    lines = {form: history().line(form) for form in STYLES}  # type: ignore[arg-type]
    assert " + 1.00000]\n" in lines["smgcn"]
    assert " + 1.00000 ]\n" in lines["smgcn-icde"]
    assert ",  ndcg=[" in lines["smgcn-torch-master"]
    assert "RMRR" not in lines["smgcn-icde"]


def test_losses_and_times_that_were_not_recorded_are_left_out() -> None:
    made = rt.History()
    made.add(0, evaluated("a", "b"))
    assert made.line("smgcn").startswith("Epoch 0\n recall=[0.50000, 1.00000]")
    made.add(1, evaluated("a", "b"), losses=0.5)
    assert made.line("smgcn").startswith("Epoch 1: train==[0.50000]\n ")
    made.add(2, evaluated("a", "b"), losses={"other": 1.0, "mf_loss": 0.5, "loss": 2.0})
    assert made.line("smgcn").startswith("Epoch 2: train==[2.00000=0.50000]\n ")


def test_the_best_line_has_the_index_among_evaluated_epochs_and_all_cutoffs() -> None:
    # Recall at the first cutoff chooses: 1/2 in the second epoch, index 1.
    assert history().best_line("smgcn-f1") == (
        "Best Iter=[1]@[6.5]\trecall=[0.50000\t0.50000\t1.00000], "
        "precision=[1.00000\t0.50000\t0.50000], F1=[0.66667\t0.50000\t0.66667], "
        "RMRR=[0.50000\t0.50000\t0.66667]"
    )


def test_another_metric_can_choose_the_best_line() -> None:
    made = history()
    made.add(29, evaluated("a", "b", "x", "y"), losses={"loss": 9.0})
    assert made.best_line("smgcn").startswith("Best Iter=[1]@[6.5]\t")
    assert made.best_line("smgcn", metric="recall@2", seconds=7.25).startswith(
        "Best Iter=[2]@[7.2]\t"
    )


def test_a_record_has_the_settings_and_the_best_line() -> None:
    made = history()
    best = made.best_line("smgcn-f1")
    settings = {"embed_size": 64, "lr": 2e-5, "layer_size": [128, 256]}
    written = made.record(settings, "smgcn-f1")
    assert written == f"embed_size=64, lr=0.0000, layer_size=[128, 256]\n\t{best}\n"
    timed = made.record({"lr": 2e-5}, "smgcn-icde", time="2026-01-01 00:00:00")
    assert timed == f"time=2026-01-01 00:00:00, lr=2e-05\n\t{made.best_line('smgcn-icde')}\t"


def test_a_metric_that_was_not_evaluated_is_named() -> None:
    made = rt.History()
    made.add(0, rt.evaluate({"ann": ["a"]}, {"ann": ["a"]}, ["recall@2", "precision@2", "ndcg"]))
    with pytest.raises(MissingNeed, match="shows ndcg, but ndcg was not evaluated at any cutoff"):
        made.line("smgcn")


def test_a_metric_that_failed_does_not_break_the_line() -> None:
    def fails(lists: object, k: int | None) -> Ratio:
        raise RuntimeError("no")

    usual = METRICS["ndcg"]
    METRICS.remove("ndcg")
    rt.metric("Fails", name="ndcg")(fails)
    try:
        made = rt.History()
        made.add(0, evaluated("a", "b"))
    finally:
        METRICS.remove("ndcg")
        METRICS.add(usual)
    assert ",  ndcg=[failed, failed], " in made.line("smgcn")


def test_a_format_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(UnknownName, match="did you mean 'smgcn"):
        history().line("smgcnf1")  # type: ignore[arg-type]


def test_a_record_says_that_its_settings_come_first() -> None:
    with pytest.raises(
        BadArgument, match=r"settings is 'smgcn-f1'.(?s:.*)or record\(format='smgcn-f1'\)"
    ):
        history().record("smgcn-f1")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=r"settings is \['lr'\]"):
        history().record(["lr"])  # type: ignore[arg-type]
    assert "F1=[" in history().record(format="smgcn-f1")
    assert "ndcg=[" in history().record({"lr": 0.1})
