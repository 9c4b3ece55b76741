"""The guide: its tables are what the formulas give, and its rules are what the laws test."""

from __future__ import annotations

import json
import re
from math import exp, fsum, log, log2
from typing import Any

import pytest

from rectitude.cli import main
from rectitude.metrics import METRICS
from rectitude.metrics.names import parse
from rectitude.reports.guide import (
    CARD,
    WIDTH,
    Section,
    as_dict,
    by_chance,
    by_rank,
    guide,
    of_classes,
    text,
)


@pytest.fixture(scope="module")
def sections() -> dict[str, Section]:
    return {section.title: section for section in guide()}


def test_the_value_of_a_list_follows_from_the_rank_of_its_target(
    sections: dict[str, Section],
) -> None:
    rows = sections["The value of a list by the rank of its target"].rows
    assert {row["rank"] for row in rows} >= {1, 2, 3, 5, 10, 100, 1000}
    for row in rows:
        rank = row["rank"]
        assert row["mrr"] == 1 / rank
        assert row["ndcg"] == pytest.approx(1 / log2(rank + 1), rel=1e-15)
        assert row["ndcg@10"] == (row["ndcg"] if rank <= 10 else 0)
        for k in (1, 5, 10):
            assert row[f"accuracy@{k}"] == (rank <= k)


def test_mrr_and_ndcg_are_compared_property_by_property(sections: dict[str, Section]) -> None:
    rows = {row["property"]: row for row in sections["MRR and NDCG@10 side by side"].rows}
    assert rows["from rank 1 to 2"]["ndcg@10"] == f"loses {1 - 1 / log2(3):.3f}: gentler"
    assert (rows["at rank 11"]["mrr"], rows["at rank 11"]["ndcg@10"][:5]) == ("0.091", "0.000")


def test_who_asks_for_calibration_finds_its_metrics(sections: dict[str, Section]) -> None:
    rows = {row["when"]: row for row in sections["Which metric when"].rows}
    chosen = rows["a probability must mean what it says"]
    assert chosen["look at"] == "expected_calibration_error"
    assert "brier" in chosen["and beside it"]
    assert "reliability diagram" in sections["What a loss means as a probability"].about


def test_a_loss_is_a_geometric_mean_probability(sections: dict[str, Section]) -> None:
    rows = sections["What a loss means as a probability"].rows
    for row in rows:
        assert row["geometric mean probability"] == exp(-row["loss"])
        assert row["as guessing among classes"] == exp(row["loss"])
    probabilities = [row["geometric mean probability"] for row in rows]
    assert probabilities == sorted(probabilities, reverse=True)


@pytest.mark.parametrize("classes", [1, 2, 10, 100])
def test_guessing_gives_the_mean_over_all_ranks(classes: int) -> None:
    for k in (1, 5, 10):
        assert by_chance(f"accuracy@{k}", classes) == pytest.approx(min(k, classes) / classes)
    harmonic = fsum(1 / rank for rank in range(1, classes + 1))
    assert by_chance("mrr", classes) == pytest.approx(harmonic / classes, rel=1e-14)


def test_the_loss_of_guessing_is_the_logarithm_of_the_classes(sections: dict[str, Section]) -> None:
    for row in sections["What random guessing gives"].rows:
        assert row["loss"] == log(row["classes"])


def test_the_two_places_have_the_right_f1(sections: dict[str, Section]) -> None:
    # A: 600 of 1000 right, predicted 609 times; B: 1 of 10 right, predicted 401 times.
    recalls, precisions = (600 / 1000, 1 / 10), (600 / 609, 1 / 401)
    f1 = [2 * p * r / (p + r) for p, r in zip(precisions, recalls, strict=True)]
    first, second, third = sections["What happens to a rare class"].rows
    assert first["weighted_f1"] == pytest.approx((1000 * f1[0] + 10 * f1[1]) / 1010, rel=1e-14)
    assert f"{first['weighted_f1']:.3f}" == "0.738"
    assert first["accuracy@1"] == 601 / 1010
    assert 0 < first["weighted_f1"] - second["weighted_f1"] < 0.001
    assert (third["mcc"], third["balanced_accuracy"]) == (0, 0.5)


def test_every_false_rule_has_a_valid_counterexample(sections: dict[str, Section]) -> None:
    rules = {row["no rule"] for row in sections["What does not always hold"].rows}
    assert {"weighted_f1 <= accuracy@1", "mrr <= ndcg@10", "ndcg@10 <= accuracy@5"} <= rules
    assert of_classes("weighted_f1", [1000, 10], [600, 1]) > 601 / 1010
    assert by_rank("mrr", [11]) > by_rank("ndcg@10", [11])
    assert by_rank("ndcg@10", [6]) > by_rank("accuracy@5", [6])


def test_every_metric_that_the_guide_names_exists(sections: dict[str, Section]) -> None:
    rows = [*sections["Which metric when"].rows, *sections["Applications"].rows]
    cells = [row[key] for row in rows for key in row if key in ("look at", "metric")]
    named = [cell for cell in cells if " " not in cell]
    assert len(named) > 10
    for name in named:
        assert parse(name.replace("@k", "@3"))[0].base in METRICS
    assert set(CARD) <= set(METRICS)


def test_the_guide_fits_a_screen_and_is_in_order(sections: dict[str, Section]) -> None:
    shown = text(list(sections.values()))
    assert max(map(len, shown.splitlines())) <= WIDTH
    positions = [shown.index(f"{title}\n{'=' * len(title)}\n") for title in sections]
    assert positions == sorted(positions)


def test_numbers_are_right_aligned_and_long_texts_wrap() -> None:
    rows = [{"n": 5, "x": 0.5, "w": "word " * 30}, {"n": 50, "x": 1.0, "w": "end"}]
    shown = text([Section("T", "About.", rows)])
    lines = shown.splitlines()
    assert lines[4:6] == [" n       x  w", "--  ------  " + "-" * (WIDTH - 12)]
    assert lines[6].startswith(" 5  0.5000  word word")
    assert lines[7].startswith(" " * 12 + "word")
    assert lines[-1] == "50  1.0000  end"


def test_the_command_prints_the_guide(capsys: Any) -> None:
    assert main(["metrics", "--guide"]) == 0
    assert capsys.readouterr().out == text(guide()) + "\n"
    assert main(["metrics", "--guide", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(as_dict(guide())))


@pytest.mark.parametrize("words", [["mrr", "--guide"], ["--guide", "--convention", "ranx"]])
def test_the_guide_refuses_a_metric_and_a_convention(words: list[str], capsys: Any) -> None:
    assert main(["metrics", *words]) == 2
    assert "--guide was given together with a metric" in capsys.readouterr().err


def test_metrics_say_what_they_need_and_whether_they_have_a_cutoff(capsys: Any) -> None:
    assert main(["metrics"]) == 0
    rows = [re.split(r"  +", line) for line in capsys.readouterr().out.splitlines()]
    needs = {row[0]: row[4:] for row in rows if row[0] in METRICS}
    assert needs["cross_entropy"] == ["none", "logits"]
    assert needs["mrr"] == ["optional", "lists"]
    assert needs["geometric_mean_probability"] == ["none", "logits"]
