"""Precision with capped importance weights, beside the weights that RePlay 0.22.0rc0 computes."""

from __future__ import annotations

import pytest

import rectitude as rt

LISTS = {"user": [0, 0, 0, 1, 1], "item": [1, 2, 3, 2, 4], "score": [3.0, 2.0, 1.0, 0.5, 0.25]}
TRUTH = {0: [1, 3], 1: [4]}
ITEMS = {"item": [1, 2, 3, 4], "previous": [1.0, 4.0, 0.01, None]}

# What NCISMetric._get_enriched_recommendations of RePlay 0.22.0rc0 returns for these inputs.
WEIGHTS = {
    "ncis_precision@2": ([3.0, 0.5], [0.125, 10.0]),
    "ncis_precision@3": ([3.0, 0.5, 10.0], [0.125, 10.0]),
    "ncis_precision[activation=sigmoid]@3": (
        [1.3030065642722448, 0.8969294391923774, 1.4548430028635444],
        [0.6338600715350707, 1.1243530017715961],
    ),
    "ncis_precision[activation=softmax]@3": (
        [10.0, 0.26144019092625986, 5.198916627293666],
        [0.5724731226677545, 10.0],
    ),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_weight_of_hits_is_divided_by_the_weight_of_the_list(name: str) -> None:
    first, second = WEIGHTS[name]
    found = rt.evaluate(LISTS, TRUTH, name, items=ITEMS).result(name).values
    assert found is not None
    hits = sum(first[::2])  # items 1 and, at 3, item 3
    assert [*found] == pytest.approx([hits / sum(first), second[1] / sum(second)], rel=1e-12)


def test_a_wrong_cap_or_activation_is_refused() -> None:
    names = [f"ncis_precision[{wrong}]@2" for wrong in ("cap=0.5", "activation=relu")]
    failures = rt.evaluate(LISTS, TRUTH, [*names, "mrr"], items=ITEMS).failures
    assert "cap is 0.5" in str(failures[names[0]])
    assert "sigmoid" in str(failures[names[1]])
