"""Every choice of every switch, in a minimal example in which it changes the outcome.

The examples are in docs/switch_examples.py; docs/conventions.md shows them, too.
"""

from __future__ import annotations

import sys
from itertools import combinations
from math import log2
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import rectitude as rt
from rectitude.convention import SWITCHES, Convention
from rectitude.errors import BadArgument, UnknownName
from rectitude.metrics.choices import CHOICES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
from switch_examples import EXAMPLES, MORE, Example, outcome  # add examples there

CASES = list(EXAMPLES.items())
CASES += [(switch, example) for switch, examples in MORE.items() for example in examples]


@pytest.mark.parametrize(("switch", "example"), CASES, ids=[switch for switch, _ in CASES])
def test_a_choice_gives_its_own_outcome(switch: str, example: Example) -> None:
    for choice, expected in example.outcomes.items():
        value = outcome(example, switch, choice)
        assert value == (
            expected if isinstance(expected, type) else pytest.approx(expected, rel=1e-15)
        )


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_two_choices_of_a_switch_differ_in_some_example(switch: str) -> None:
    examples = [example for name, example in CASES if name == switch]
    shown = {choice for example in examples for choice in example.outcomes}
    choices = list(SWITCHES[switch].choices) or list(shown)
    if switch == "undefined":
        choices.remove("nan")  # NaN equals nothing: see test_population
    assert set(choices) <= shown, f"no example shows {set(choices) - shown}"
    for one, other in combinations(choices, 2):
        assert (
            any(
                one in e.outcomes and other in e.outcomes and e.outcomes[one] != e.outcomes[other]
                for e in examples
            )
            or (switch, {one, other}) in SAME
        ), f"no example distinguishes {one} and {other}"


# "auto" is one of the other three by its nature.
SAME = [("order", {"auto", "score"}), ("order", {"auto", "rank"})]


def test_an_example_exists_for_every_switch() -> None:
    assert set(EXAMPLES) == set(SWITCHES)


@pytest.mark.parametrize(
    "switch", [s for s in SWITCHES.values() if s.choices], ids=lambda s: s.name
)
def test_types_sentences_and_functions_list_the_same_choices(switch: Any) -> None:
    declared = get_args(get_type_hints(Convention)[switch.name])
    assert tuple(c for c in declared if isinstance(c, str)) == tuple(switch.choices)
    assert switch.default in switch.choices
    assert switch.about.endswith(".") and all(switch.choices.values())
    if switch.stage == "metrics":
        assert tuple(CHOICES[switch.name]) == tuple(switch.choices)


def test_functions_exist_for_the_switches_of_metrics_and_no_others() -> None:
    assert set(CHOICES) == {s.name for s in SWITCHES.values() if s.stage == "metrics"}


def test_every_switch_of_the_metrics_is_obeyed_by_a_metric() -> None:
    obeyed = {switch for metric in rt.METRICS.values() for switch in metric.switches}
    assert obeyed == set(CHOICES)


def test_the_ideal_of_k_hits_is_a_hit_at_every_rank_also_above_a_threshold() -> None:
    # From grade 2 on: a is a hit at rank 1 of 2; the ideal has hits at ranks 1 and 2.
    convention = {"ideal": "k", "relevant_from": 2}
    evaluation = rt.evaluate({"u": ["a", "x"]}, {"u": {"a": 2}}, "ndcg@2", convention)
    assert evaluation["ndcg@2"] == pytest.approx(1 / (1 + 1 / log2(3)), rel=1e-15)


def test_a_convention_can_be_changed_and_compared() -> None:
    changed = Convention().replace(ties="error", decimals=3)
    assert Convention().differences(changed) == {
        "ties": ("pessimistic", "error"), "decimals": (None, 3),
    }  # fmt: skip
    assert Convention(**changed.as_dict()) == changed
    assert list(changed.as_dict()) == list(SWITCHES)


@pytest.mark.parametrize("wrong", ["pesimistic", None, 3, ["given"], {"given"}])
def test_a_choice_that_does_not_exist_is_refused_with_the_nearest(wrong: Any) -> None:
    with pytest.raises(UnknownName, match="switch 'ties' has no choice") as caught:
        Convention(ties=wrong)
    if wrong == "pesimistic":
        assert "did you mean 'pessimistic'" in str(caught.value)


@pytest.mark.parametrize(("switch", "wrong"), [
    ("decimals", -1), ("decimals", 2.5), ("decimals", float("inf")), ("decimals", True),
    ("relevant_from", "2"), ("relevant_from", float("nan")), ("relevant_from", float("inf")),
])  # fmt: skip
def test_an_invalid_number_for_a_switch_is_refused(switch: str, wrong: Any) -> None:
    with pytest.raises(BadArgument, match=f"switch '{switch}' is"):
        Convention(**{switch: wrong})


def test_numpy_numbers_are_accepted() -> None:
    np = pytest.importorskip("numpy")
    assert Convention(relevant_from=np.int64(2)) == Convention(relevant_from=2)
    assert Convention(relevant_from=np.float32(2)).relevant_from == 2.0
    assert Convention(decimals=np.int64(2)).decimals == 2
