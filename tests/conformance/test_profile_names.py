"""The meaning of metric names under a profile: which entry applies, and which names are refused."""

from __future__ import annotations

import math

import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadName, UnknownName
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


def resolve(name: str, profile: Profile = PROFILE) -> Asked:
    return profile.resolve(parse(name)[0])


def test_name_with_all_its_variants_can_have_a_separate_entry() -> None:
    whole = resolve("recall[macro]@5")
    assert (whole.metric.name, whole.convention.class_average) == ("macro_recall", "all")
    assert whole.convention.recall_over == "relevant"  # [metrics.recall] does not apply
    assert resolve("recall@5").convention.recall_over == "reachable"


def test_without_such_an_entry_the_variants_are_applied_to_the_name() -> None:
    assert resolve("recall[plain]").metric.name == "recall"
    assert resolve("recall[recall_over=relevant]").convention.recall_over == "relevant"
    with pytest.raises(UnknownName, match="no variant 'micro'"):
        resolve("recall[micro]")


def test_entry_with_the_most_specific_cutoff_applies() -> None:
    ties = {
        name: resolve(name).convention.ties for name in ("accuracy", "accuracy@1", "accuracy@5")
    }
    assert ties == {
        "accuracy": "given", "accuracy@1": "item_ascending", "accuracy@5": "item_descending",
    }  # fmt: skip


def test_fixed_switch_overrides_the_convention_but_not_the_entry_of_the_metric() -> None:
    percent = rt.PROFILES["default"].replace(scale="percent")
    assert resolve("mrr", percent).convention.scale == "percent"
    assert resolve("cross_entropy", percent).convention.scale == "fraction"
    custom = from_toml("custom", f'{TEXT}\n[metrics.cross_entropy]\nscale = "percent"\n')
    assert resolve("cross_entropy", custom).convention.scale == "percent"


def test_error_for_an_absent_metric_says_what_it_means_in_the_framework() -> None:
    with pytest.raises(BadName, match=r"'mcc' of Example is not available: .* something else"):
        resolve("mcc@5")


def test_cutoff_is_refused_if_the_metric_takes_none() -> None:
    with pytest.raises(BadName, match=r"'mean_rank@5' has a cutoff(.|\n)*write mean_rank\."):
        resolve("mean_rank@5")


def test_e_is_accepted_as_a_number() -> None:
    assert resolve("dcg[log_base=e]@5").numbers == {"log_base": math.e}
    with pytest.raises(BadArgument, match="'log_base' of metric 'dcg' is 'f'"):
        resolve("dcg[log_base=f]")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('[metrics.x]\nmetric = "recal"', "no metric 'recal'"),
        ('[metrics."recall[a]@k"]\ngain = "linear"', "no switch or number 'gain'"),
        ('[metrics.ndcg]\nideal = "best"', "no choice 'best'"),
        ("[metric]\n", "no key 'metric'"),
    ],
)
def test_profile_with_a_wrong_entry_is_refused(wrong: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        from_toml("wrong", f'framework = "Example"\nversions = ["1"]\n{wrong}')


def test_every_profile_has_a_description_and_versions() -> None:
    for name, profile in rt.PROFILES.items():
        assert profile.about, name
        assert profile.versions or name == "default"
