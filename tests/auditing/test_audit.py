"""Audits of splits: every check by hand, effects compared with `evaluate`, and the report."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.auditing import CHECKS, Audit
from rectitude.data.log import open_log
from rectitude.errors import BadArgument, BadIds, BadTable, UnknownName
from rectitude.splits.split import Split

TRAIN = {"ann": ["a", "b"], "bob": ["b", "c"], "cid": ["a", "c"]}
TRUTH = {"ann": ["c"], "bob": ["a"], "cid": ["b"]}
LISTS = {"ann": ["c", "d"], "bob": ["d", "a"], "cid": ["d", "e"]}
METRICS = ("recall@2", "mrr")


def audited(train: Any = TRAIN, truth: Any = TRUTH, predictions: Any = LISTS, **more: Any) -> Audit:
    return rt.audit(train, truth, predictions, **{"metrics": METRICS, **more})


def timed(*rows: tuple[str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(rows, ["user", "item", "timestamp"], orient="row")


def test_a_sound_split_has_nothing_serious() -> None:
    found = audited(predictions={"ann": ["c", "b2"], "bob": ["a", "x"], "cid": ["b", "x"]})
    assert found.serious == ()
    assert found.exit_code == 0
    assert found["truth_in_train"].severity == "fine"


def test_truth_in_train_is_measured_with_and_without_these_rows() -> None:
    truth = {"ann": ["a", "c"], "bob": ["a"]}
    found = audited(truth=truth)["truth_in_train"]
    assert (found.severity, found.count, found.of) == ("serious", 1, 3)
    assert found.example == "user 'ann', item 'a'"
    before = rt.evaluate(LISTS, truth, METRICS)
    after = rt.evaluate(LISTS, {"ann": ["c"], "bob": ["a"]}, METRICS)
    assert found.effect == {name: (before[name], after[name]) for name in METRICS}
    assert found.effect["recall@2"] == (0.75, 1.0)


def test_shared_pairs_are_a_notice_if_pairs_also_repeat_in_train() -> None:
    train = pl.DataFrame({"user": ["ann", "ann", "bob"], "item": ["a", "a", "b"]})
    truth = {"ann": ["a", "c"], "bob": ["d"]}
    found = audited(train, truth)["truth_in_train"]
    assert found.severity == "notice"
    assert "users also return to items within train" in found.about
    everything = audited(train, {"ann": ["a"], "bob": ["b"]})["truth_in_train"]
    assert everything.severity == "serious", "nearly all rows of the truth are in train"


def test_the_same_event_in_both_parts_is_serious_even_if_users_return_to_items() -> None:
    train = timed(("ann", "a", 1), ("ann", "a", 2), ("bob", "b", 1))
    truth = timed(("ann", "a", 2), ("ann", "c", 3), ("bob", "d", 3))
    found = audited(train, truth)["truth_in_train"]
    assert found.severity == "serious"
    assert "1 with the same timestamp" in found.about


def test_validation_in_train_is_measured_against_validation() -> None:
    validation = {"ann": ["a", "c"], "bob": ["a"]}
    found = audited(validation=validation)["validation_in_train"]
    assert (found.severity, found.count, found.of) == ("serious", 1, 3)
    assert found.effect["recall@2"] == (0.75, 1.0)


def test_if_all_of_validation_is_in_train_there_is_no_value_without_it() -> None:
    found = audited(validation={"ann": ["a"], "bob": ["c"]})["validation_in_train"]
    assert (found.effect, found.lists) == ({}, (2, 0))
    assert found.too_few == "none of 2 lists would be left"


def leave_few(users: int, left: int) -> Audit:
    """Audit a split in which only the rows of some users are later than all training rows."""
    train = timed(*((f"u{n}", "a", 10) for n in range(users)))
    truth = timed(*((f"u{n}", "b", 20 if n < left else 5) for n in range(users)))
    return audited(train, truth, {f"u{n}": ["b"] for n in range(users)}, metrics="recall@2")


def test_no_effect_is_given_if_few_lists_are_left() -> None:
    audit = leave_few(users=200, left=1)
    found = audit["older_than_train"]
    assert (found.count, found.effect, found.lists) == (199, {}, (200, 1))
    sentence = (
        "Effect: not measured, because only 1 of 200 lists would be left, too few to compare."
    )
    assert sentence in str(audit)
    assert "%" not in str(audit)
    stored = {finding["name"]: finding for finding in json.loads(audit.to_json())["findings"]}
    assert stored["older_than_train"]["effect"] == {}
    assert stored["older_than_train"]["lists"] == [200, 1]
    assert stored["older_than_train"]["too_few"].startswith("only 1 of 200 lists")


@pytest.mark.parametrize(
    ("users", "left", "given"),
    [(400, 40, True), (400, 39, False), (200, 30, True), (200, 29, False), (8, 4, True),
     (8, 3, False)],
)  # fmt: skip
def test_a_tenth_of_the_lists_and_thirty_or_half_must_be_left(
    users: int, left: int, given: bool
) -> None:
    assert bool(leave_few(users, left)["older_than_train"].effect) == given


def test_truth_in_validation_is_found() -> None:
    found = audited(validation={"ann": ["c"], "bob": ["x"]})
    assert found["truth_in_validation"].count == 1
    assert found["truth_in_validation"].severity == "serious"


def test_truth_older_than_the_users_own_training_is_a_leak() -> None:
    train = timed(("ann", "a", 1), ("ann", "b", 5), ("bob", "b", 2))
    truth = timed(("ann", "c", 3), ("bob", "a", 4), ("bob", "d", 2))
    found = audited(train, truth)
    own, anybody = found["older_than_own_train"], found["older_than_train"]
    assert (own.severity, own.count, own.of) == ("serious", 1, 3)
    assert own.example == "user 'ann', item 'c': 3, training up to 5"
    assert (anybody.severity, anybody.count) == ("notice", 3)
    without = rt.evaluate(LISTS, {"bob": ["a", "d"]}, METRICS)
    assert own.effect["mrr"][1] == without["mrr"]
    assert own.lists == (2, 1)


def test_dates_and_numbers_are_compared_as_such() -> None:
    days = [datetime(2024, 1, day) for day in (1, 9)]
    train = pl.DataFrame({"user": ["ann", "bob"], "item": ["a", "b"], "timestamp": days})
    text = {"user": ["ann", "bob"], "item": ["c", "a"], "timestamp": ["2024-01-02", "2024-01-03"]}
    found = audited(train, pl.DataFrame(text))
    assert found["older_than_own_train"].count == 1
    with pytest.raises(BadTable, match="timestamps are"):
        audited(train, timed(("ann", "c", 3)))


def test_without_timestamps_checks_of_time_leaks_are_skipped() -> None:
    found = audited()
    assert "timestamps" in found.skipped["older_than_train"]
    with pytest.raises(UnknownName, match="the check was skipped: it needs timestamps"):
        found["older_than_train"]


def test_unknown_users_and_items_are_counted_and_measured() -> None:
    truth = {**TRUTH, "dan": ["a"], "cid": ["z"]}
    found = audited(truth=truth)
    users, items = found["unknown_users"], found["unknown_items"]
    assert (users.count, users.of, users.example) == (1, 4, "user 'dan'")
    assert (items.count, items.of, items.example) == (1, 4, "user 'cid', item 'z'")
    assert users.effect["recall@2"] == (0.5, pytest.approx(2 / 3))
    assert items.effect["recall@2"] == (0.5, pytest.approx(2 / 3))


def test_duplicate_truth_is_measured_although_an_evaluation_refuses_it() -> None:
    truth = pl.DataFrame({"user": ["ann", "ann", "ann", "bob"], "item": ["c", "c", "e", "a"]})
    found = audited(truth=truth)
    once = found["duplicate_truth"]
    assert (once.severity, once.count) == ("serious", 1)
    counted = rt.evaluate(LISTS, truth, "recall@2", {"duplicate_truth": "counted"})
    assert once.effect["recall@2"] == (counted["recall@2"], 0.75)
    assert found.relaxed["duplicate_truth"] == ("error", "once")
    assert found.values["recall@2"] == 0.75


def test_duplicate_truth_keeps_the_highest_grade() -> None:
    truth = pl.DataFrame({"user": ["ann"] * 3, "item": ["c", "c", "e"], "grade": [0, 2, 1]})
    found = audited(truth=truth)
    expected = rt.evaluate(LISTS, truth, METRICS, {"duplicate_truth": "once"})
    assert found.values == expected.values()


def test_duplicate_train_is_a_notice_that_changes_no_metric() -> None:
    train = pl.DataFrame({"user": ["ann", "ann", "bob"], "item": ["a", "a", "b"]})
    found = audited(train)["duplicate_train"]
    assert (found.severity, found.count, found.of, dict(found.effect)) == ("notice", 1, 3, {})


def test_users_and_pairs_in_several_folds_are_found() -> None:
    folds = {"one": {"ann": ["c"], "bob": ["a"]}, "two": {"ann": ["c", "d"], "cid": ["b"]}}
    found = audited(folds=folds)
    users, pairs = found["users_in_folds"], found["pairs_in_folds"]
    assert (users.severity, users.count, users.of, users.example) == ("notice", 1, 3, "user 'ann'")
    assert (pairs.severity, pairs.count, pairs.of) == ("serious", 1, 4)
    assert pairs.effect["recall@2"] == (pytest.approx(2 / 3), 0.5)
    assert audited(folds=[{"ann": ["c"]}, {"bob": ["c"]}])["users_in_folds"].severity == "fine"


def test_truth_outside_the_catalogue_is_found() -> None:
    found = audited(items=["a", "b", "d", "e"])["truth_outside_catalogue"]
    assert (found.count, found.example) == (1, "user 'ann', item 'c'")


def test_a_shift_of_popularity_is_measured_on_a_truth_without_it() -> None:
    train = {f"u{n}": ["hit"] if n % 2 else [f"rare{n}"] for n in range(400)}
    truth = {f"u{n}": ["hit"] if n % 20 == 0 else [f"rare{n + 2}"] for n in range(0, 398, 2)}
    found = audited(train, truth, {user: ["hit"] for user in truth}, metrics="recall@1")
    shift = found["popularity_shift"]
    assert (shift.severity, shift.count, shift.of) == ("notice", 20, 199)
    assert "50.0% of train" in shift.about
    assert shift.effect["recall@1"] == (pytest.approx(20 / 199), 0.5)
    assert shift.lists == (199, 40)


def test_a_truth_like_train_has_no_shift() -> None:
    train = {f"u{n}": ["hit"] if n % 2 else [f"rare{n}"] for n in range(400)}
    truth = {f"v{n}": ["hit"] if n % 2 else [f"rare{n}"] for n in range(100)}
    assert audited(train, truth, None)["popularity_shift"].severity == "fine"


def test_findings_do_not_depend_on_the_order_of_rows() -> None:
    rows = [(f"u{n % 30}", f"i{n * n % 23}", n * 37 % 101) for n in range(300)]
    frame = timed(*rows).unique(["user", "item"], keep="first", maintain_order=True)
    train, truth = frame[: frame.height // 2], frame[frame.height // 2 :]
    lists = pl.DataFrame(
        [(f"u{n % 30}", f"i{n}", float(n % 4)) for n in range(23 * 5)],
        ["user", "item", "score"], orient="row",
    )  # fmt: skip
    one = audited(train, truth, lists)
    other = audited(
        *(part.sample(fraction=1, shuffle=True, seed=3) for part in (train, truth, lists))
    )
    assert one.values == other.values
    facts = [
        {(f.name, f.severity, f.count, f.of, *f.effect.items()) for f in found.findings}
        for found in (one, other)
    ]
    assert facts[0] == facts[1]


def test_popular_items_replace_missing_predictions() -> None:
    found = rt.audit(TRAIN, {"ann": ["c", "a"], "bob": ["a"], "cid": ["b"]}, metrics="recall@1")
    assert "most popular items" in found.measured_on
    assert found.values == {"recall@1": pytest.approx((0.5 + 1 + 1) / 3)}, "each misses one item"
    assert found["truth_in_train"].effect["recall@1"][1] == 1.0
    assert "predictions" in found.skipped["missing_lists"]


def test_seen_popular_items_are_kept_if_users_return_to_items() -> None:
    train = pl.DataFrame({"user": ["ann", "ann", "bob"], "item": ["a", "a", "b"]})
    found = rt.audit(train, {"ann": ["a"], "bob": ["c"]}, metrics="recall@1")
    assert found.values["recall@1"] == 0.5


def test_a_profile_that_ranks_by_score_can_measure_popular_items() -> None:
    found = rt.audit(TRAIN, TRUTH, metrics="recall@2", convention="trec_eval-9")
    assert found.failures == {}
    assert found.profile == "trec_eval-9"


def test_predictions_alone_are_audited_without_effects() -> None:
    found = rt.audit(predictions={"ann": ["a", "a"]}, metrics=METRICS)
    assert found["duplicate_items"].count == 1
    assert found["duplicate_items"].effect == {}
    assert found.values == {}
    assert "nothing" in found.measured_on


def test_only_the_users_to_evaluate_count() -> None:
    truth = {**TRUTH, "dan": ["a"]}
    found = audited(truth=truth, users=["ann", "bob"])
    assert found["unknown_users"].count == 0
    assert found.sizes["truth"] == 2
    assert found.values["recall@2"] == 1.0


def test_a_split_is_audited_as_a_whole() -> None:
    rows = ({"ann": ["a"], "bob": ["b"]}, {"ann": ["c"]}, {"bob": ["c"]}, {"bob": ["b"]})
    parts = [open_log(part) for part in rows]
    inner = Split(parts[0], parts[1])
    split = Split(parts[0], parts[2], fold_in=parts[3], validation=inner)
    found = rt.audit(split, predictions={"bob": ["c"]}, metrics="mrr")
    assert found.sizes == {"train": 3, "validation": 1, "truth": 1, "predictions": 1}
    assert found["validation_in_train"].severity == "fine"


def test_ids_of_different_types_are_an_error() -> None:
    with pytest.raises(BadIds):
        audited({1: ["a"]}, {"1": ["a"]})


def test_nothing_to_audit_is_an_error() -> None:
    with pytest.raises(BadArgument, match="nothing to audit"):
        rt.audit()
    with pytest.raises(BadArgument, match="folds"):
        audited(folds="u1.test")


def test_huge_ids_are_distinguished() -> None:
    big = 2**62
    train = pl.DataFrame({"user": [-big, big], "item": [-big, big]})
    truth = pl.DataFrame({"user": [-big, big], "item": [big, big]})
    assert audited(train, truth, None)["truth_in_train"].count == 1


def test_the_report_has_the_worst_first_and_lists_passed_checks() -> None:
    found = audited(truth={"ann": ["a", "c"], "bob": ["z"], "dan": ["c"]})
    severities = [finding.severity for finding in found.findings]
    assert severities == sorted(severities, key=["serious", "notice", "fine"].index)
    text = str(found)
    assert text.index("truth_in_train (serious)") < text.index("unknown_users (notice)")
    assert "Effect (3 lists as is, 2 if fixed)" in text
    assert "Passed: " in text
    assert "Skipped (needs validation): " in text
    widths = {len(line) for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1, "columns are aligned"


def test_json_has_the_same_content() -> None:
    found = audited(truth={"ann": ["a", "c"], "bob": ["a"]})
    stored = json.loads(found.to_json())
    assert (stored["format"], stored["version"], stored["serious"]) == ("rectitude.audit", 1, 1)
    one = next(f for f in stored["findings"] if f["name"] == "truth_in_train")
    assert one["effect"]["recall@2"] == {"as_is": 0.75, "without": 1.0}
    assert {f["name"] for f in stored["findings"]} | set(stored["skipped"]) == set(CHECKS)


def test_every_check_has_a_description_and_advice() -> None:
    for check in CHECKS.values():
        assert check.look.__doc__
        assert check.advice.endswith("."), check.name


def test_the_page_about_audits_names_every_check() -> None:
    page = Path(__file__).parents[2] / "docs" / "audit.md"
    text = page.read_text("utf-8")
    assert [name for name in CHECKS if f"`{name}`" not in text] == []


@pytest.mark.parametrize("times", [{}, {"timestamp": pl.String}, {"timestamp": pl.Date}])
def test_an_empty_truth_is_reported_not_raised(times: dict[str, Any]) -> None:
    empty = pl.DataFrame(schema={"user": pl.String, "item": pl.String, **times})
    found = audited(truth=empty)
    assert set(found.failures) == set(METRICS)
    assert found["truth_in_train"].count == 0
    assert (found["empty_parts"].severity, found.exit_code) == ("serious", 1)
    assert "1 of 3 parts have no rows: truth." in str(found)
    assert "No problems were found" not in str(rt.audit(TRAIN, empty, metrics=METRICS))


def test_parts_without_rows_are_found_and_an_empty_validation_is_a_notice() -> None:
    none = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
    found = audited(validation=none)["empty_parts"]
    assert (found.severity, found.count, found.of) == ("notice", 1, 4)
    both = audited(none, none)["empty_parts"]
    assert (both.severity, str(both)) == ("serious", "2 of 3 parts have no rows: train, truth")
    assert audited()["empty_parts"].severity == "fine"


def test_the_report_agrees_with_the_exit_code() -> None:
    lists = {"ann": ["c", "d"], "bob": ["a", "c"], "cid": ["a", "b"]}
    train = {"ann": ["a", "b"], "bob": ["b", "d"], "cid": ["c", "d"]}
    truth = {"ann": ["c"], "bob": ["a"], "cid": ["a"]}
    fine = rt.audit(train, truth, lists, metrics="recall@2")
    assert (fine.exit_code, "No problems were found." in str(fine)) == (0, True)
    found = rt.audit(train, truth, lists, metrics=["auc", "recall@2"])
    assert (found.exit_code, found.serious) == (1, ())
    assert "No problems were found" not in str(found)
    assert "no value (serious)\n  1 of 2 metrics have no value (first: auc)." in str(found)
