"""Profile files: errors name the file, the line, the choices and the nearest names."""

from __future__ import annotations

from pathlib import Path

import pytest

import rectitude as rt
from rectitude.errors import BadSetting, RectitudeError, UnknownName, UnreadableFile
from rectitude.metrics.names import parse
from rectitude.profiles import profile_of
from rectitude.profiles.profile import compare_profiles
from rectitude.profiles.reading import from_file, from_toml

GOOD = """\
framework = "Shop"
versions = ["2.1"]
about = "Custom."

[convention]
ap_over = "reachable"
relevant_from = 2

[metrics.hits]
metric = "hit"
hit_as = "count"

[variants]
burges = { gain = "exp2" }
rel = "relevant_from"
p = "persistence"

[absent]
mcc = "something else"

[known_differences]
map = "ties"
"""
LISTS, TRUTH = {"u": ["a", "b"]}, {"u": {"a": 2, "b": 3, "c": 1}}


def error_of(text: str) -> RectitudeError:
    with pytest.raises(RectitudeError) as caught:
        from_toml("mine", text, "mine.toml")
    return caught.value


def error_after(old: str, new: str) -> RectitudeError:
    assert old in GOOD
    return error_of(GOOD.replace(old, new))


def test_valid_file_is_read_as_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    profile = from_file(path)
    assert (profile.name, profile.framework, profile.versions) == ("mine", "Shop", ("2.1",))
    assert profile.resolve(parse("map@1")[0]).convention.ap_over == "reachable"


def test_custom_file_is_used_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    for convention in (str(path), path, {"profile": str(path)}, profile_of(str(path))):
        evaluation = rt.evaluate(LISTS, TRUTH, ["map@1", "hits@2"], convention)
        assert evaluation.values() == {"map@1": 1.0, "hits@2": 2.0}
        assert evaluation.manifest["profile"] == "mine"
    flipped = {"profile": str(path), "ap_over": "relevant"}
    assert rt.evaluate(LISTS, TRUTH, "map@1", flipped)["map@1"] == 0.5


def test_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"gone\.toml cannot be read: No such file"):
        rt.evaluate(LISTS, TRUTH, "map", str(tmp_path / "gone.toml"))
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UnreadableFile, match="not UTF-8"):
        profile_of(tmp_path / "odd.toml")


def test_error_in_toml_names_the_line() -> None:
    error = error_after('about = "Custom."', "about = Custom.")
    assert isinstance(error, UnreadableFile)
    assert str(error).startswith("mine.toml, line 3, column 9: Invalid value.")
    assert "mine.toml, end of document" in str(error_of('versions = ["1"'))


def test_error_for_an_unknown_key_names_the_line_and_the_nearest_key() -> None:
    error = error_after("[variants]", "[varients]")
    assert isinstance(error, UnknownName)
    assert str(error).startswith("mine.toml, line 13 has no key 'varients'.")
    assert "did you mean 'variants'?" in str(error)
    assert "known: about, absent, convention" in str(error)


def test_error_for_an_unknown_switch_names_the_line_and_the_nearest_switch() -> None:
    error = error_after("relevant_from = 2", "relevent_from = 2")
    assert str(error).startswith("mine.toml, line 7: convention has no switch 'relevent_from'.")
    assert "did you mean 'relevant_from'?" in str(error)


def test_error_for_an_unknown_choice_names_the_line_and_the_choices() -> None:
    error = error_after('ap_over = "reachable"', 'ap_over = "reachible"')
    assert str(error).startswith("mine.toml, line 6: switch 'ap_over' has no choice 'reachible'.")
    assert "known: found, k, reachable" in str(error)
    error = error_after('ap_over = "reachable"', "ap_over = 3")
    assert "line 6: switch 'ap_over' has no choice '3'" in str(error)


def test_error_for_a_value_that_is_not_a_number_names_the_line() -> None:
    assert "line 7: switch 'relevant_from' is 'two'" in str(
        error_after("relevant_from = 2", 'relevant_from = "two"')
    )
    assert "line 7: switch 'relevant_from' is True" in str(
        error_after("relevant_from = 2", "relevant_from = true")
    )


def test_error_for_contradicting_switches_names_the_line_of_their_table() -> None:
    error = error_after("relevant_from = 2", 'unit = "user"\naverage = "micro"')
    assert str(error).startswith("mine.toml, line 5: unit='user' and average='micro'")


@pytest.mark.parametrize(("old", "new", "message"), [
    ('metric = "hit"', 'metric = "hitt"', "line 10: rectitude has no metric 'hitt'"),
    ('metric = "hit"\n', "", "line 9: rectitude has no metric 'hits'"),
    ('hit_as = "count"', 'hit_as = "counts"', "line 11: switch 'hit_as' has no choice 'counts'"),
    ('hit_as = "count"', 'hitas = "count"', "line 11: metric 'hit' has no switch or number 'hitas"),
    ('hit_as = "count"', 'gain = "exp2"', "line 11: metric 'hit' has no switch or number 'gain'"),
    ("[metrics.hits]", "[metrics.'hits@']", r"line 9: 'hits@' is not a valid metric name"),
    ('gain = "exp2"', 'gain = "exp3"', "line 14: switch 'gain' has no choice 'exp3'"),
    ('gain = "exp2"', 'gane = "exp2"', "line 14 has no switch or number 'gane'"),
    ('"persistence"', '"persistance"', "line 16 has no switch or number 'persistance'"),
    ("mcc =", "mxc =", "line 19: rectitude has no metric 'mxc'"),
])  # fmt: skip
def test_error_for_a_wrong_entry_names_the_line(old: str, new: str, message: str) -> None:
    assert f"mine.toml, {message}" in str(error_after(old, new))


@pytest.mark.parametrize(("old", "new", "message"), [
    ('"Shop"', "3", "line 1: framework is a number (3).\n  expected text."),
    ('["2.1"]', '"2.1"', "line 2: versions is text ('2.1').\n  expected a list of texts"),
    ('["2.1"]', "[2.1]", "line 2: versions is a list ([2.1])"),
    ('about = "Custom."', "about = true", "line 3: about is a boolean (True)"),
    ('about = "Custom."', "padding = 0.5", "line 3: padding is a number (0.5).\n  expected the"),
    ("[metrics.hits]", "[metrics]", "line 10: metrics.metric is text ('hit').\n  expected tables"),
    ('{ gain = "exp2" }', "2", "line 14: variants.burges is a number (2)"),
    ('"something else"', "1979-05-27", "line 19: absent.mcc is a date or time"),
    ('map = "ties"', "map = { a = 1 }", "line 22: known_differences.map is a table."),
])  # fmt: skip
def test_error_for_a_wrong_type_names_the_expected_type(old: str, new: str, message: str) -> None:
    error = error_after(old, new)
    assert isinstance(error, BadSetting)
    assert f"mine.toml, {message}" in str(error)


def test_profile_without_versions_is_refused() -> None:
    error = error_after('versions = ["2.1"]\n', "")
    assert "mine.toml, line 1: versions is missing." in str(error)
    assert 'versions = ["1.0"]' in str(error)


def test_line_is_found_for_dotted_and_quoted_keys() -> None:
    dotted = 'versions = ["1"]\nconvention.ties = "give"\n'
    assert "mine.toml, line 2: switch 'ties'" in str(error_of(dotted))
    quoted = 'versions = ["1"]\n\n[ "metrics" . "recall[a]@5" ]  # odd\n\n"gain" = "linear"\n'
    assert "mine.toml, line 5: metric 'recall'" in str(error_of(quoted))


def test_line_is_found_after_nested_tables_and_multiline_text() -> None:
    inner = GOOD.replace("[metrics.hits]", "[metrix.hits]")
    assert str(error_of(inner)).startswith("mine.toml, line 9 has no key 'metrix'.")
    quoted = (
        'versions = ["1"]\nabout = """\n[convention]\nties = 1\n"""\n[convention]\nties = "give"\n'
    )
    assert "mine.toml, line 7: switch 'ties'" in str(error_of(quoted))


def test_every_shipped_profile_is_valid() -> None:
    assert all(rt.PROFILES[name].name == name for name in rt.PROFILES)


def test_two_profiles_are_compared_by_the_meaning_of_each_metric() -> None:
    first, second = rt.PROFILES["default"], from_toml("mine", GOOD)
    by_name = {difference.name: difference for difference in compare_profiles(first, second)}
    assert by_name["map"].switches == {
        "relevant_from": (None, 2.0), "ap_over": ("relevant", "reachable"),
    }  # fmt: skip
    assert by_name["recall"].switches == {"relevant_from": (None, 2.0)}
    assert "mcc" not in by_name, "absent from one of them"
    assert all(difference.same for difference in compare_profiles(first, first))


def test_metrics_and_numbers_are_compared_too() -> None:
    text = 'versions = ["1"]\n[metrics.rbp]\npersistence = 0.5\n[metrics.mrr]\nmetric = "hit"\n'
    numbers, renamed = compare_profiles(
        rt.PROFILES["default"], from_toml("o", text), ["rbp@5", "mrr"]
    )
    assert (numbers.name, numbers.numbers) == ("rbp@5", {"persistence": (0.8, 0.5)})
    assert renamed.metric == ("mrr", "hit")
    assert not renamed.same


def test_a_profile_has_a_short_repr() -> None:
    assert repr(rt.PROFILES["recbole"]).startswith("<Profile recbole: RecBole ")
    assert all(len(repr(profile)) < 200 for profile in rt.PROFILES.values())
