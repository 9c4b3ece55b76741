"""What `compare` takes: evaluations, stored ones, folders of runs, predictions, and slices."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.comparison.opening import parted
from rectitude.errors import (
    BadIds,
    BadName,
    MissingNeed,
    NothingToEvaluate,
    UnknownName,
    UnreadableFile,
)

METRICS = ["ndcg@5", "recall@5"]
Lists = dict[str, list[str]]


def truth(users: int = 40) -> Lists:
    chance = np.random.default_rng(0)
    return {f"u{u}": [f"i{i}" for i in chance.choice(30, 3, replace=False)] for u in range(users)}


def lists(skill: float, seed: int) -> Lists:
    """Lists that begin with an item of the truth as often as the skill says."""
    chance, found = np.random.default_rng(seed), {}
    for user, wanted in truth().items():
        others = [f"i{item}" for item in chance.permutation(30)]
        first = wanted[:1] if chance.random() < skill else []
        found[user] = list(dict.fromkeys([*first, *others]))[:10]
    return found


SKILLS = {"poor": 0.0, "good": 0.8}
PEOPLE = pl.DataFrame(
    {"user": [f"u{u}" for u in range(40)], "group": ["a", "b", "b", None] * 10, "one": ["x"] * 40}
    | {"age": [float(20 + 7 * u % 30) for u in range(40)], "tags": [["p", "q"], ["q"]] * 20}
)


def evaluated(name: str, seed: int = 1, **given: Any) -> rt.Evaluation:
    return rt.evaluate(lists(SKILLS[name], seed), truth(), METRICS, **given)


def stored(folder: Path) -> Path:
    """Two models of two seeds each, as zips in folders."""
    for name in SKILLS:
        (folder / name).mkdir()
        for seed in (1, 2):
            evaluated(name, seed).save(folder / name / f"seed{seed}.zip")
    return folder


def written(path: Path, found: Lists) -> str:
    rows = [(user, item, rank) for user, of in found.items() for rank, item in enumerate(of, 1)]
    pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row").write_csv(path)
    return str(path)


def test_stored_evaluations_give_what_evaluations_give(tmp_path: Path) -> None:
    stored(tmp_path)
    found = rt.compare({name: tmp_path / name / "seed1.zip" for name in SKILLS})
    assert found.as_dict() == rt.compare({n: evaluated(n) for n in SKILLS}).as_dict()


def test_a_folder_stands_for_the_runs_in_it(tmp_path: Path) -> None:
    stored(tmp_path)
    runs = {name: [evaluated(name, seed) for seed in (1, 2)] for name in SKILLS}
    expected = rt.compare(runs).as_dict()
    assert rt.compare({name: tmp_path / name for name in SKILLS}).as_dict() == expected
    for name in SKILLS:
        shutil.unpack_archive(tmp_path / name / "seed2.zip", tmp_path / name / "seed2")
        (tmp_path / name / "seed2.zip").unlink()
        (tmp_path / name / "log.txt").write_text("trained")
    assert rt.compare({name: tmp_path / name for name in SKILLS}).as_dict() == expected


def test_a_folder_may_hold_predictions(tmp_path: Path) -> None:
    for name, skill in SKILLS.items():
        (tmp_path / name).mkdir()
        for seed in (1, 2):
            written(tmp_path / name / f"{seed}.csv", lists(skill, seed))
    folders = {name: tmp_path / name for name in SKILLS}
    runs = {name: [evaluated(name, seed) for seed in (1, 2)] for name in SKILLS}
    found, expected = rt.compare(folders, truth(), METRICS), rt.compare(runs)
    assert found.of("ndcg@5", "good") == expected.of("ndcg@5", "good")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToEvaluate, match="empty holds no file"):
        rt.compare({"poor": tmp_path / "poor", "none": tmp_path / "empty"}, truth(), METRICS)


def test_stored_evaluations_and_predictions_can_be_mixed(tmp_path: Path) -> None:
    stored(tmp_path)
    models = {"poor": tmp_path / "poor" / "seed1.zip", "good": lists(0.8, 1)}
    found = rt.compare(models, truth(), METRICS)
    expected = rt.compare({n: evaluated(n) for n in SKILLS})
    assert found.of("ndcg@5", "good").p == expected.of("ndcg@5", "good").p


def test_metrics_choose_among_those_that_are_stored(tmp_path: Path) -> None:
    stored(tmp_path)
    models = {name: tmp_path / name for name in SKILLS}
    assert [*rt.compare(models, metrics="recall@5").values] == ["recall@5"]
    with pytest.raises(UnknownName, match="the evaluation poor has no value 'mrr'"):
        rt.compare(models, metrics=["recall@5", "mrr"])
    with pytest.raises(BadName, match="a convention was given, and all models are evaluated"):
        rt.compare(models, convention="recbole")


def test_stored_evaluations_without_values_say_what_to_do(tmp_path: Path) -> None:
    for name in SKILLS:
        evaluated(name).save(tmp_path / f"{name}.json")
    models = {name: tmp_path / f"{name}.json" for name in SKILLS}
    with pytest.raises(MissingNeed, match=r"rectitude evaluate --output NAME.zip"):
        rt.compare(models)
    for name in SKILLS:
        evaluated(name).save(tmp_path / f"{name}.json", per_list="kept")
    assert rt.compare(models).of("ndcg@5", "good").users == 40


def test_json_that_is_no_evaluation_is_taken_for_predictions(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"format": "something else"}))
    with pytest.raises(MissingNeed, match="a is no evaluation, and there is no truth"):
        rt.compare({"a": tmp_path / "a.json", "good": evaluated("good")})


@pytest.mark.parametrize(
    "by", ["group", "group+one", "age:3", "users.age:30,40", "group+age:2", "tags"]
)
def test_slices_of_stored_evaluations_are_those_of_predictions(by: str) -> None:
    made = {name: evaluated(name) for name in SKILLS}
    found = rt.compare(made, by=by, users=PEOPLE)
    models = {name: lists(skill, 1) for name, skill in SKILLS.items()}
    expected = rt.compare(models, truth(), METRICS, by=by, users=PEOPLE)
    assert [*found.slices] == [*expected.slices]
    assert found.tests == expected.tests == 2 * (1 + len(found.slices))
    for label, one in found.slices.items():
        other = expected.slices[label].of("ndcg@5", "good")
        mine = one.of("ndcg@5", "good")
        assert (mine.users, mine.p, mine.corrected) == (other.users, other.p, other.corrected)
        assert one.values["ndcg@5"]["good"] == pytest.approx(
            expected.slices[label].values["ndcg@5"]["good"], rel=1e-12
        )


def test_a_slice_is_the_comparison_of_its_users() -> None:
    made = {name: evaluated(name) for name in SKILLS}
    found = rt.compare(made, by="group", users=PEOPLE, correct="none")
    inside = PEOPLE.filter(pl.col("group") == "b")["user"].to_list()
    only = {user: items for user, items in truth().items() if user in inside}
    models = {
        name: {u: of for u, of in lists(skill, 1).items() if u in inside}
        for name, skill in SKILLS.items()
    }
    expected = rt.compare(models, only, METRICS, correct="none").of("recall@5", "good")
    one = found.slices["b"].of("recall@5", "good")
    assert (one.users, one.p, one.difference) == pytest.approx(
        (20, expected.p, expected.difference)
    )
    assert "group: b" in str(found)
    assert {row["slice"] for row in found.rows()} == {"all", "a", "b", "no value"}


def test_all_slices_are_corrected_together() -> None:
    made = {name: evaluated(name) for name in SKILLS}
    found = rt.compare(made, by="group", users=PEOPLE, correct="bonferroni")
    for one in (found, *found.slices.values()):
        for difference in one.differences:
            assert difference.corrected == pytest.approx(min(1, 8 * difference.p))
    assert "for 8 tests" in str(found.slices["a"])


def test_slices_that_cannot_be_compared_are_noted() -> None:
    lonely = PEOPLE.with_columns(
        group=pl.when(pl.col("user") == "u0").then(pl.lit("lonely")).otherwise(pl.lit("rest"))
    )
    found = rt.compare({n: evaluated(n) for n in SKILLS}, by="group", users=lonely)
    assert [*found.slices] == ["rest"]
    assert "! slice lonely is left out: there is one user to compare by ndcg@5." in str(found)


def test_slices_that_need_more_than_users_need_predictions() -> None:
    made = {name: evaluated(name) for name in SKILLS}
    with pytest.raises(MissingNeed, match="slices by activity:3 need what it was made of"):
        rt.compare(made, by="activity:3", users=PEOPLE)
    with pytest.raises(MissingNeed, match="a column of users="):
        rt.compare(made, by="group")
    with pytest.raises(MissingNeed, match="slices by grup need") as error:
        rt.compare(made, by="grup", users=PEOPLE)
    assert "a column of users= (--users): group, one, age, tags" in str(error.value)
    with pytest.raises(BadIds, match="user ids are text in units"):
        rt.compare(made, by="group", users={"user": [1, 2], "group": ["a", "b"]})


def test_parts_of_an_evaluation_have_the_means_of_their_lists() -> None:
    whole = evaluated("good")
    found = parted(whole, "group", {"users": PEOPLE}, "good")
    assert [*found] == ["all", "a", "b", "no value"]
    assert found["a"].result("ndcg@5").counted == 10
    shares = {"a": 10, "b": 20, "no value": 10}
    mean = sum(count * found[label]["ndcg@5"] for label, count in shares.items()) / 40
    assert mean == pytest.approx(whole["ndcg@5"])


@pytest.mark.parametrize("convention", [{}, {"unit": "user"}, {"scale": "percent"}])
@pytest.mark.parametrize("weighed", [True, False])
def test_slices_of_sessions_have_the_numbers_of_predictions(
    convention: dict[str, str], weighed: bool
) -> None:
    chance = np.random.default_rng(3)
    rows = [(f"s{n}", f"u{n % 15}", int(chance.integers(0, 9))) for n in range(60)]
    wanted = pl.DataFrame(rows, schema=["session", "user", "item"], orient="row")
    drawn = [
        wanted.with_columns(item=pl.Series(np.random.default_rng(seed).integers(0, 9, 60)), rank=1)
        for seed in (1, 2)
    ]
    weights = pl.DataFrame({"session": wanted["session"], "weight": chance.random(60)})
    given: Any = {"list_key": "session"} | ({"weights": weights} if weighed else {})
    people = pl.DataFrame({"user": [f"u{u}" for u in range(15)], "old": [True, False, None] * 5})
    expected = rt.compare(drawn, wanted, "mrr", convention, by="old", users=people, **given)
    made = [rt.evaluate(one, wanted, "mrr", convention, **given) for one in drawn]
    found = rt.compare(made, by="old", users=people)
    assert [*found.slices] == ["false", "true", "no value"]
    for label, one in found.slices.items():
        theirs = expected.slices[label]
        assert one.values["mrr"] == pytest.approx(theirs.values["mrr"], rel=1e-12)
        assert (one.of("mrr", "2").users, one.of("mrr", "2").p) == (5, theirs.of("mrr", "2").p)
        assert one.notes == theirs.notes


def test_micro_averages_of_slices_need_predictions() -> None:
    made = {name: evaluated(name, convention={"average": "micro"}) for name in SKILLS}
    found = rt.compare(made, by="group", users=PEOPLE)
    assert not found.slices
    assert "slice a is left out" in str(found)
    assert "do not tell a micro average" in str(found)


def test_a_slice_may_be_called_all() -> None:
    people = PEOPLE.with_columns(group=pl.Series(["all", "b"] * 20))
    made = {name: evaluated(name) for name in SKILLS}
    models = {name: lists(skill, 1) for name, skill in SKILLS.items()}
    for found in (
        rt.compare(made, by="group", users=people),
        rt.compare(models, truth(), METRICS, by="group", users=people),
    ):
        assert found.of("ndcg@5", "good").users == 40
        assert {label: one.slice for label, one in found.slices.items()} == {
            "group: all": "group: all", "b": "group: b",
        }  # fmt: skip


@pytest.mark.parametrize("by", ["age:3", "group", "letter"])
def test_every_slice_has_a_label_of_its_own_in_latex(by: str) -> None:
    people = PEOPLE.with_columns(letter=pl.Series(["α", "β", "ж", "б"] * 10))
    found = rt.compare({name: evaluated(name) for name in SKILLS}, by=by, users=people)
    labels = re.findall(r"\\label{(.*)}", found.to_latex())
    assert len({*labels}) == len(labels) == 2 * (1 + len(found.slices))


def test_notes_on_all_users_are_not_repeated_in_slices() -> None:
    models = {name: lists(skill, 1) for name, skill in SKILLS.items()}
    found = rt.compare(models, truth(), ["mrr", "gini@5"], by="group", users=PEOPLE)
    assert "gini@5 is left out" in found.notes[0]
    assert str(found).count("gini@5 is left out") == 1


def test_a_file_that_does_not_exist_is_said_to_be_missing(tmp_path: Path) -> None:
    evaluated("good").save(tmp_path / "good.zip")
    with pytest.raises(UnreadableFile, match=r"god\.zip does not exist") as error:
        rt.compare({"a": tmp_path / "good.zip", "b": tmp_path / "god.zip"})
    assert "did you mean 'good.zip'" in str(error.value)
