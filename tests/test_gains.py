"""Gains by grade: a table in a name, in a convention, on the command line."""

from __future__ import annotations

from math import log2
from pathlib import Path

import pytest

import rectitude as rt
from rectitude.cli.options import convention_of
from rectitude.convention import Convention
from rectitude.errors import BadArgument
from rectitude.metrics.names import parse, split_names

LISTS = {"ann": ["tea", "rye", "jam"]}
TRUTH = {"ann": {"tea": 1, "rye": 2, "jam": 0, "oil": 3}}
DCG = 3 + 7 / log2(3)  # tea has grade 1, rye has grade 2
IDEAL = 7 + 3 / log2(3) + 3 / log2(4)  # oil keeps its grade 3 as gain


def test_a_name_sets_the_gain_of_each_grade() -> None:
    names = ["dcg[gains={1: 3, 2: 7}]@10", "ndcg[gains={1: 3, 2: 7}]@10"]
    found = rt.evaluate(LISTS, TRUTH, names)
    assert found[names[0]] == pytest.approx(DCG, rel=1e-15)
    assert found[names[1]] == pytest.approx(DCG / IDEAL, rel=1e-15)


def test_a_grade_in_the_table_gains_even_if_it_is_not_relevant() -> None:
    found = rt.evaluate(LISTS, TRUTH, "dcg[gains={0:4,1:0}]")
    assert found["dcg[gains={0:4,1:0}]"] == pytest.approx(2 / log2(3) + 4 / log2(4), rel=1e-15)


def test_every_graded_metric_obeys_a_convention_with_gains() -> None:
    found = rt.evaluate(LISTS, TRUTH, ["dcg", "rbp"], {"gain": {1: 3, 2: 7}})
    assert found["dcg"] == pytest.approx(DCG, rel=1e-15)
    assert found["rbp"] == pytest.approx(0.2 * (3 + 7 * 0.8), rel=1e-15)
    assert found.manifest["profile"] == "default, gain={1:3,2:7}"


def test_a_name_with_gains_reads_the_same_however_it_is_written() -> None:
    texts = ["ndcg[gains={2: 7, 1: 3.0}]@10", "ndcg( gains={1:3,2:7} )@10"]
    assert [str(name) for text in texts for name in parse(text)] == ["ndcg[gains={1:3,2:7}]@10"] * 2
    assert parse(str(parse(texts[0])[0])) == parse(texts[0])
    both = "ndcg[relevant_from=2,gains={1: 3, 2: 7}]@5,10 mrr"
    assert split_names(both) == [
        "ndcg[relevant_from=2,gains={1: 3, 2: 7}]@5",
        "ndcg[relevant_from=2,gains={1: 3, 2: 7}]@10",
        "mrr",
    ]


def test_equal_tables_have_one_fingerprint_and_other_tables_another() -> None:
    tables = ["{1:3,2:7}", "{2: 7.0, 1: 3}", "{1:3,2:8}"]
    results = [rt.evaluate(LISTS, TRUTH, f"dcg[gains={t}]").results for t in tables]
    prints = [next(iter(result.values())).fingerprint for result in results]
    assert prints[0] == prints[1] != prints[2]


def test_the_definition_shows_the_gains() -> None:
    text = rt.evaluate(LISTS, TRUTH, "dcg[gains={1:3,2:7}]").definition("dcg[gains={1:3,2:7}]")
    assert "gain = by grade {1:3,2:7}" in text
    assert "gain: {1:3,2:7} (the gain of each grade" in text


def test_the_command_line_takes_gains_as_one_word() -> None:
    settings = convention_of(["trec_eval-9,gain={1:3,2:7},relevant_from=2"])
    assert settings == {"profile": "trec_eval-9", "gain": "{1:3,2:7}", "relevant_from": 2.0}


def test_an_evaluation_with_gains_is_stored_and_read(tmp_path: Path) -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, "dcg", {"gain": {1: 3, 2: 7}})
    evaluation.save(tmp_path / "saved.json")
    assert rt.load(tmp_path / "saved.json") == evaluation


@pytest.mark.parametrize("table", ["{}", "{1:-1}", "{a:1}", "{1:1,1:2}", "{1:inf}", "{1}"])
def test_a_wrong_table_is_an_error(table: str) -> None:
    with pytest.raises(BadArgument, match="gains by grade"):
        Convention(gain=table)  # type: ignore[arg-type]
