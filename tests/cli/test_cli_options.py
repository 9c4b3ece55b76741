"""Options with several values, conventions and labels."""

from __future__ import annotations

import pytest

from rectitude.cli.options import convention_of, label_paths, pairs, spell_out
from rectitude.errors import BadArgument, UnknownName


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("--metrics a b --json", "--metrics a --metrics b --json"),
        ("--metrics a --metrics b", "--metrics a --metrics b"),
        ("--metrics=a b", "--metrics=a --metrics b"),
        ("--truth t --columns a=b c=d --json", "--truth t --columns a=b --columns c=d --json"),
        ("metrics ndcg --json", "metrics ndcg --json"),
        ("conformance dir --profile a b", "conformance dir --profile a --profile b"),
        ("--predictions - b", "--predictions - --predictions b"),
        ("", ""),
    ],
)  # fmt: skip
def test_values_in_a_row_become_repeated_options(typed: str, read: str) -> None:
    assert spell_out(typed.split()) == read.split()


def test_two_dashes_end_the_values_and_stay() -> None:
    assert spell_out(["metrics", "--convention", "ranx", "--", "ndcg", "--json"]) == [
        "metrics", "--convention", "ranx", "--", "ndcg", "--json",
    ]  # fmt: skip


@pytest.mark.parametrize("typed", ["--predictions", "--metrics --json", "--metrics -- a"])
def test_an_option_without_value_swallows_nothing(typed: str) -> None:
    with pytest.raises(BadArgument, match="was given no value"):
        spell_out(typed.split())


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["a.csv", "--truth", ""], " after --truth"),
        (["--truth="], " after --truth"),
        (["", "--json"], ""),
    ],
)
def test_an_empty_argument_is_refused(words: list[str], place: str) -> None:
    with pytest.raises(BadArgument, match=f"an argument{place} is empty"):
        spell_out(["evaluate", *words])


def test_spelling_out_twice_changes_nothing_more() -> None:
    once = spell_out(["evaluate", "--metrics", "a", "b", "--columns", "user=u", "item=i"])
    assert spell_out(once) == once


def test_a_convention_is_a_profile_and_switches() -> None:
    assert convention_of([]) == {"profile": "default"}
    assert convention_of(["ranx"]) == {"profile": "ranx"}
    assert convention_of(["ties=given", "decimals=3"]) == {
        "profile": "default", "ties": "given", "decimals": 3.0,
    }  # fmt: skip
    assert convention_of(["trec_eval-9", "relevant_from=none"])["relevant_from"] is None


def test_two_profiles_or_an_unknown_switch_are_refused() -> None:
    with pytest.raises(BadArgument, match="several profiles: ranx, replay"):
        convention_of(["ranx", "replay"])
    with pytest.raises(UnknownName, match="did you mean 'ties'"):
        convention_of(["tie=given"])


@pytest.mark.parametrize("word", ["user", "user=", "=visitor"])
def test_a_pair_needs_both_sides(word: str) -> None:
    with pytest.raises(BadArgument, match="user=visitor"):
        pairs([word], "--columns", "user=visitor")


def test_labels_are_short_and_unique() -> None:
    assert label_paths(["x/a.csv", "b.tsv.gz"]) == {"a": "x/a.csv", "b": "b.tsv.gz"}
    assert list(label_paths(["x/a.csv", "y/a.csv", "b.csv"])) == ["x/a.csv", "y/a.csv", "b"]
    with pytest.raises(BadArgument, match="twice"):
        label_paths(["a.csv", "a.csv"])
