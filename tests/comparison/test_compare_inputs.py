"""What `compare` accepts: evaluations, stored ones, folders of runs, predictions, and slices."""

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
from rectitude.comparison.opening import slice_evaluation
from rectitude.errors import (
    BadArgument,
    BadIds,
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
    """Return lists that begin with an item of the truth with a probability of `skill`."""
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


def test_a_folder_means_the_runs_in_it(tmp_path: Path) -> None:
    stored(tmp_path)
    runs = {name: [evaluated(name, seed) for seed in (1, 2)] for name in SKILLS}
    expected = rt.compare(runs).as_dict()
    assert rt.compare({name: tmp_path / name for name in SKILLS}).as_dict() == expected
    for name in SKILLS:
        shutil.unpack_archive(tmp_path / name / "seed2.zip", tmp_path / name / "seed2")
        (tmp_path / name / "seed2.zip").unlink()
        (tmp_path / name / "log.txt").write_text("trained")
    assert rt.compare({name: tmp_path / name for name in SKILLS}).as_dict() == expected


def test_a_folder_may_contain_predictions(tmp_path: Path) -> None:
    for name, skill in SKILLS.items():
        (tmp_path / name).mkdir()
        for seed in (1, 2):
            written(tmp_path / name / f"{seed}.csv", lists(skill, seed))
    folders = {name: tmp_path / name for name in SKILLS}
    runs = {name: [evaluated(name, seed) for seed in (1, 2)] for name in SKILLS}
    found, expected = rt.compare(folders, truth(), METRICS), rt.compare(runs)
    assert found.of("ndcg@5", "good") == expected.of("ndcg@5", "good")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToEvaluate, match="empty contains no file"):
        rt.compare({"poor": tmp_path / "poor", "none": tmp_path / "empty"}, truth(), METRICS)


def test_stored_evaluations_and_predictions_can_be_mixed(tmp_path: Path) -> None:
    stored(tmp_path)
    models = {"poor": tmp_path / "poor" / "seed1.zip", "good": lists(0.8, 1)}
    found = rt.compare(models, truth(), METRICS)
    expected = rt.compare({n: evaluated(n) for n in SKILLS})
    assert found.of("ndcg@5", "good").p == expected.of("ndcg@5", "good").p


def test_metrics_select_from_those_that_are_stored(tmp_path: Path) -> None:
    stored(tmp_path)
    models = {name: tmp_path / name for name in SKILLS}
    assert [*rt.compare(models, metrics="recall@5").values] == ["recall@5"]
    with pytest.raises(UnknownName, match="the evaluation poor has no value 'mrr'"):
        rt.compare(models, metrics=["recall@5", "mrr"])
    with pytest.raises(BadArgument, match="all models have already been evaluated"):
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


def test_json_that_is_not_an_evaluation_is_treated_as_predictions(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"format": "something else"}))
    with pytest.raises(MissingNeed, match="a is not an evaluation, and there is no truth"):
        rt.compare({"a": tmp_path / "a.json", "good": evaluated("good")})


@pytest.mark.parametrize(
    "by", ["group", "group+one", "age:3", "users.age:30,40", "group+age:2", "tags"]
)
def test_slices_of_stored_evaluations_equal_those_of_predictions(by: str) -> None:
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
    assert "! slice lonely is left out: good and poor have one user in common for ndcg@5." in str(
        found
    )


def test_slices_that_need_more_than_users_need_predictions() -> None:
    made = {name: evaluated(name) for name in SKILLS}
    with pytest.raises(
        MissingNeed, match="poor is a stored evaluation, which cannot be sliced by activity:3"
    ):
        rt.compare(made, by="activity:3", users=PEOPLE)
    with pytest.raises(MissingNeed, match="a column of users="):
        rt.compare(made, by="group")
    with pytest.raises(MissingNeed, match="cannot be sliced by grup") as error:
        rt.compare(made, by="grup", users=PEOPLE)
    assert "a column of users= (--users): group, one, age, tags" in str(error.value)
    with pytest.raises(BadIds, match="user ids are text in units"):
        rt.compare(made, by="group", users={"user": [1, 2], "group": ["a", "b"]})


def test_slices_of_an_evaluation_have_the_means_of_their_lists() -> None:
    whole = evaluated("good")
    found = slice_evaluation(whole, "group", {"users": PEOPLE}, "good")
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
    assert "a micro average of some lists cannot be computed" in str(found)


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
def test_every_slice_has_a_unique_label_in_latex(by: str) -> None:
    people = PEOPLE.with_columns(letter=pl.Series(["α", "β", "ж", "б"] * 10))
    found = rt.compare({name: evaluated(name) for name in SKILLS}, by=by, users=people)
    labels = re.findall(r"\\label{(.*)}", found.to_latex())
    assert len({*labels}) == len(labels) == 2 * (1 + len(found.slices))


def test_notes_on_all_users_are_not_repeated_in_slices() -> None:
    models = {name: lists(skill, 1) for name, skill in SKILLS.items()}
    found = rt.compare(models, truth(), ["mrr", "gini@5"], by="group", users=PEOPLE)
    assert "gini@5 is left out" in found.notes[0]
    assert str(found).count("gini@5 is left out") == 1


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    evaluated("good").save(tmp_path / "good.zip")
    with pytest.raises(UnreadableFile, match=r"god\.zip does not exist") as error:
        rt.compare({"a": tmp_path / "good.zip", "b": tmp_path / "god.zip"})
    assert "did you mean 'good.zip'" in str(error.value)


def test_rows_lists_of_lists_and_arrays_are_predictions_and_not_runs() -> None:
    first, second = np.array([[0.9, 0.1, 0.5], [0.1, 0.8, 0.3]]), np.eye(2, 3)
    wanted = np.array([[1, 0, 0], [0, 0, 1]])
    compared = rt.compare({"a": first, "b": second}, truth=wanted, metrics="hit@1")
    assert compared.values["hit@1"] == {"a": 1 / 2, "b": 1 / 2}
    lists = rt.compare(
        {"a": [[7, 8], [5, 6]], "b": [[8, 7], [6, 5]]}, truth=[[7], [6]], metrics="hit@1"
    )
    assert lists.values["hit@1"] == {"a": 1 / 2, "b": 1 / 2}
    rows = {"a": [(1, 7, 0.9), (1, 8, 0.5)], "b": [(1, 7, 0.1), (1, 8, 0.5)]}
    assert rt.compare(rows, truth={1: [7], 2: [8]}, metrics="hit@1").values["hit@1"] == {
        "a": 1 / 2,
        "b": 0,
    }


def test_warnings_of_the_evaluations_stand_under_a_comparison() -> None:
    good, poor = lists(0.8, 1), lists(0.0, 2)
    overlapping = [(user, item) for user, items in truth().items() for item in items]
    train = pl.DataFrame(overlapping, ["user", "item"], orient="row")
    comparison = rt.compare({"good": good, "poor": poor}, truth(), "ndcg@5", train=train)
    warned = [line for line in str(comparison).splitlines() if line.startswith("! ")]
    assert len(warned) == 1
    assert "train and test overlap" in warned[0]
    assert "train and test overlap" in comparison.to_html()
    assert "train and test overlap" in json.loads(comparison.to_json())["notes"][0]


def test_a_warning_about_one_model_names_it() -> None:
    short = {user: items for user, items in lists(0.8, 1).items() if user != "u3"}
    comparison = rt.compare({"short": short, "poor": lists(0.0, 2)}, truth(), "ndcg@5")
    assert comparison.notes == (
        "short: 1 of 40 users in the truth have no predictions (first: 'u3')",
    )
    runs = rt.compare(
        {"short": [short, lists(0.8, 2)], "poor": [lists(0.0, 3)] * 2}, truth(), "ndcg@5"
    )
    assert any(note.endswith("(first: 'u3') (in 1 of 2 runs)") for note in runs.notes)


@pytest.mark.parametrize(
    "models",
    [{1: [2, 3], 2: [3]}, {"ann": ["tea", "rye"], "bob": ["tea"]}, {1: {2: 0.3}, 2: {3: 0.4}},
     {1: np.array([2, 3]), 2: {3}}, np.eye(4), [[1, 2], [3]]],
)  # fmt: skip
def test_the_predictions_of_one_model_are_not_taken_for_several(models: Any) -> None:
    with pytest.raises(BadArgument, match="models is the predictions of one model") as error:
        rt.compare(models, {1: [2], 2: [3]}, "mrr")
    assert "rt.evaluate(predictions, truth)" in str(error.value)


def test_models_in_a_list_are_named_after_their_files(tmp_path: Path) -> None:
    for name in SKILLS:
        evaluated(name).save(tmp_path / f"{name}.zip")
    good, poor = tmp_path / "good.zip", str(tmp_path / "poor.zip")
    assert [*rt.compare([good, poor])["ndcg@5"]] == ["good", "poor"]
    assert [*rt.compare([good, good])["ndcg@5"]] == ["1", "2"]
    assert [*rt.compare([good, evaluated("poor")])["ndcg@5"]] == ["good", "2"]


def test_runs_of_ranx_in_a_list_have_their_own_names() -> None:
    class Run:
        def __init__(self, name: str | None, lists: Lists) -> None:
            self.name = name
            self.run = {u: {item: 1 / n for n, item in enumerate(items, 1)}
                        for u, items in lists.items()}  # fmt: skip

        def to_dict(self) -> dict[str, dict[str, float]]:
            return self.run

    runs = [Run("bm25", lists(0.0, 1)), Run(None, lists(0.8, 1))]
    assert [*rt.compare(runs, truth(), "ndcg@5")["ndcg@5"]] == ["bm25", "2"]


@pytest.mark.parametrize("keyword", ["kk", "trian", "slices"])
def test_an_unknown_argument_of_compare_gets_all_known_ones(keyword: str) -> None:
    with pytest.raises(UnknownName, match=f"compare has no argument '{keyword}'") as error:
        rt.compare([lists(0.0, 1), lists(0.8, 1)], truth(), "ndcg", **{keyword: 10})
    for name in ("baseline", "train", "candidates", "columns"):
        assert f"{name}, " in str(error.value)


def test_a_cutoff_as_argument_of_compare_is_told_where_cutoffs_go() -> None:
    with pytest.raises(UnknownName, match=r"cutoffs=\[10\]"):
        rt.compare([lists(0.0, 1), lists(0.8, 1)], truth(), "ndcg", k=10)  # type: ignore[call-arg]


def test_other_names_of_tests_and_corrections_get_the_name_here() -> None:
    models: Any = [lists(0.0, 1), lists(0.8, 1)]
    with pytest.raises(UnknownName, match="did you mean 't'"):
        rt.compare(models, truth(), METRICS, test="ttest")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean 'benjamini_hochberg'"):
        rt.compare(models, truth(), METRICS, correct="BH")  # type: ignore[arg-type]
