"""What metric names mean under a profile: which entry holds, and what is refused."""

from __future__ import annotations

import math

import pytest

import rectitude as rt
from rectitude.errors import BadName, UnknownName
from rectitude.metrics.names import parse
from rectitude.profiles import Asked, Profile
from rectitude.profiles.reading import from_toml

TEXT = """
framework = "Example"
versions = ["1"]

[convention]
ties = "given"

[metrics.recall]
recall_over = "reachable"

[metrics."recall[macro]"]
metric = "macro_recall"
class_average = "all"

[metrics."accuracy@k"]
ties = "item_descending"

[metrics."accuracy@1"]
ties = "item_ascending"

[variants]
capped = { recall_over = "reachable" }
plain = {}

[absent]
mcc = "something else"
"""
PROFILE = from_toml("example", TEXT)


def asked(name: str, profile: Profile = PROFILE) -> Asked:
    return profile.resolve(parse(name)[0])


def test_a_name_with_all_its_variants_has_an_entry_of_its_own() -> None:
    whole = asked("recall[macro]@5")
    assert (whole.metric.name, whole.convention.class_average) == ("macro_recall", "all")
    assert whole.convention.recall_over == "relevant"  # [metrics.recall] says nothing about it
    assert asked("recall@5").convention.recall_over == "reachable"


def test_without_such_an_entry_the_variants_are_applied_to_the_name() -> None:
    assert asked("recall[plain]").metric.name == "recall"
    assert asked("recall[recall_over=relevant]").convention.recall_over == "relevant"
    with pytest.raises(UnknownName, match="no variant 'micro'"):
        asked("recall[micro]")


def test_the_entry_nearest_to_the_cutoff_holds() -> None:
    ties = {name: asked(name).convention.ties for name in ("accuracy", "accuracy@1", "accuracy@5")}
    assert ties == {
        "accuracy": "given", "accuracy@1": "item_ascending", "accuracy@5": "item_descending",
    }  # fmt: skip


def test_what_a_metric_fixes_holds_against_the_convention_but_not_against_its_entry() -> None:
    percent = rt.PROFILES["default"].replace(scale="percent")
    assert asked("mrr", percent).convention.scale == "percent"
    assert asked("cross_entropy", percent).convention.scale == "fraction"
    own = from_toml("own", f'{TEXT}\n[metrics.cross_entropy]\nscale = "percent"\n')
    assert asked("cross_entropy", own).convention.scale == "percent"


def test_a_metric_that_is_another_one_there_is_refused_with_what_it_is() -> None:
    with pytest.raises(BadName, match=r"'mcc' of Example is not available: .* something else"):
        asked("mcc@5")


def test_a_cutoff_is_refused_where_a_metric_has_none() -> None:
    with pytest.raises(BadName, match=r"'mean_rank@5' has a cutoff(.|\n)*write mean_rank\."):
        asked("mean_rank@5")


def test_the_base_of_natural_logarithms_is_a_number() -> None:
    assert asked("dcg[log_base=e]@5").numbers == {"log_base": math.e}
    with pytest.raises(BadName, match="'log_base' of metric 'dcg' cannot be 'f'"):
        asked("dcg[log_base=f]")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('[metrics.x]\nmetric = "recal"', "no metric 'recal'"),
        ('[metrics."recall[a]@k"]\ngain = "linear"', "no switch or number 'gain'"),
        ('[metrics.ndcg]\nideal = "best"', "no choice 'best'"),
        ("[metric]\n", "no key 'metric'"),
    ],
)
def test_a_profile_with_a_wrong_entry_is_refused(wrong: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        from_toml("wrong", f'framework = "Example"\nversions = ["1"]\n{wrong}')


def test_every_profile_says_whose_numbers_it_gives() -> None:
    for name, profile in rt.PROFILES.items():
        assert profile.about, name
        assert profile.versions or name == "default"
