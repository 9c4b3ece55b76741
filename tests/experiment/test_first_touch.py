"""What a person meets first: the number of users, missing attributes, and the files of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from experiments import SMALL, write

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import BadArgument, MissingNeed, UnknownName, UnwritableFile

RATINGS = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 2, 3, 3],
        "item": ["a", "b", "c", "a", "c", "d", "a", "b"],
        "rating": [5, 3, 1, 4, 5, 2, 5, 4],
        "timestamp": [1, 2, 3, 1, 2, 7, 8, 9],
    }
)  # after 7: user 2, and user 3, who is new
EXPERIMENT: dict[str, Any] = {
    "data": {"path": "ratings.csv"},
    "split": {"how": "at_time", "t": 7},
    "models": {"popularity": {}, "random": {}},
    "evaluate": {"metrics": ["ndcg@2", "recall@2"], "slices": []},
    "audit": {"mode": "off"},
    "explain": {"mode": "off"},
    "report": {"mode": "off"},
}


@pytest.fixture
def ratings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the ratings, which is the current one."""
    monkeypatch.chdir(tmp_path)
    RATINGS.write_csv("ratings.csv")
    return tmp_path


def vary(**tables: Any) -> dict[str, Any]:
    """Return the experiment with some tables changed."""
    return {**EXPERIMENT, **{name: {**EXPERIMENT[name], **more} for name, more in tables.items()}}


@pytest.mark.usefixtures("ratings")
def test_a_run_names_the_users_who_count_and_not_those_of_the_truth() -> None:
    assert "2 models, 2 users\n" in str(rt.run(vary(), folder="plain"))
    known = vary(evaluate={"convention": "elliot"})
    run = rt.run(known, folder="elliot")
    assert "2 models, 1 of 2 users count\n" in str(run)
    assert run.evaluations["popularity"][0].results["recall@2"].counted == 1


@pytest.mark.usefixtures("ratings")
def test_counts_that_differ_are_a_range() -> None:
    metrics = {"metrics": ["recall@2", "ndcg[unknown_users=drop]@2"]}
    run = rt.run(vary(evaluate=metrics), folder="range")
    assert "1 to 2 of 2 users count, by metric and model" in str(run)


@pytest.mark.parametrize(
    ("evaluate", "message"),
    [
        ('slices = ["gendre"]', r"line \d+: this evaluation has no attribute 'gendre'"),
        ('slices = [["known", "users.agee:3"]]', r"line \d+: .*no attribute 'users.agee'"),
    ],
)
def test_a_slice_that_does_not_exist_stops_a_run_before_it_starts(
    ratings: Path, capsys: pytest.CaptureFixture[str], evaluate: str, message: str
) -> None:
    pl.DataFrame({"user": [1, 2, 3], "gender": ["f", "m", "f"]}).write_csv("users.csv")
    text = '[data]\npath = "ratings.csv"\nusers = "users.csv"\n[split]\n[models.popularity]\n'
    path = write(ratings, f'{text}[evaluate]\nmetrics = ["ndcg@2"]\n{evaluate}\n')
    with pytest.raises(UnknownName, match=message):
        rt.run(path)
    assert main(["run", str(path)]) == 2
    assert main(["run", str(path), "--dry-run"]) == 2
    assert "no attribute" in capsys.readouterr().err
    assert not (ratings / "runs").exists()


def test_the_nearest_attribute_is_suggested(ratings: Path) -> None:
    pl.DataFrame({"user": [1, 2, 3], "gender": ["f", "m", "f"]}).write_csv("users.csv")
    with pytest.raises(UnknownName, match="did you mean 'gender'"):
        rt.run(vary(data={"users": "users.csv"}, evaluate={"slices": ["gendre"]}))
    run = rt.run(vary(data={"users": "users.csv"}, evaluate={"slices": ["gender", "time:2"]}))
    assert run.exit_code == 0, run.failures
    assert "slices left out" not in str(run)


@pytest.mark.usefixtures("ratings")
def test_a_metric_of_a_missing_attribute_stops_a_run_before_it_starts() -> None:
    pl.DataFrame({"item": list("abcd"), "genre": list("xxyy")}).write_csv("items.csv")
    wrong = {"metrics": ["ndcg@2", "category_coverage[by=gnre]@2"]}
    with pytest.raises(MissingNeed, match="needs the column 'gnre' of items"):
        rt.run(vary(evaluate=wrong))
    with pytest.raises(MissingNeed, match="did you mean 'genre'"):
        rt.run(vary(evaluate=wrong, data={"items": "items.csv"}))
    right = {"metrics": ["ndcg@2", "category_coverage[by=genre]@2"]}
    run = rt.run(vary(evaluate=right, data={"items": "items.csv"}))
    assert run.exit_code == 0, run.failures


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ('how = "loo"', r"line 4: .*no split 'loo'.*did you mean 'leave_last' or 'leave_random'"),
        ('how = "time_ratio"\ntest_size = 0.2', r"line 5: .*no parameter 'test_size'.*'ratio'\?"),
        (
            'protocol = "daisyrec"\nmethod = "tsbr"\nunknown = { users = "drop", known = "all" }',
            r"line 6: known is 'all', so no id counts as unknown",
        ),
    ],
)
def test_a_split_that_cannot_work_stops_a_run_before_it_starts(
    ratings: Path, split: str, message: str
) -> None:
    text = f'[data]\npath = "ratings.csv"\n[split]\n{split}\n[models.popularity]\n'
    with pytest.raises((UnknownName, BadArgument), match=f"(?s){message}"):
        rt.run(write(ratings, text))
    assert not (ratings / "runs").exists()


@pytest.mark.usefixtures("ratings")
def test_the_parts_of_a_run_can_be_evaluated_again() -> None:
    run = rt.run(vary(), folder="again")
    assert run.results["splits"][0]["files"] == {"train": "train.parquet", "truth": "truth.parquet"}
    paths = [run.folder / name for name in ("predictions/popularity.parquet", "truth.parquet")]
    again = rt.evaluate(*paths, ["ndcg@2", "recall@2"], train=run.folder / "train.parquet")
    assert again.values() == run.evaluations["popularity"][0].values()
    told = rt.explain(*paths, "ndcg@2", "recbole", "elliot", train=run.folder / "train.parquet")
    assert told.metric == "ndcg@2"


@pytest.mark.usefixtures("ratings")
def test_the_parts_of_several_splits_have_a_folder_each() -> None:
    series = {**EXPERIMENT, "split": {"how": "k_fold", "folds": 2}}
    run = rt.run(series, folder="shared")
    names = {path.relative_to(run.folder).as_posix() for path in run.folder.rglob("t*.parquet")}
    found = {name for name in names if not name.startswith("stages")}
    folds = ("fold-1", "fold-2")
    assert found == {
        f"splits/{fold}/{part}.parquet" for fold in folds for part in ("train", "truth")
    }
    single = rt.run(vary(), folder="shared")
    assert (single.folder / "truth.parquet").is_file()
    assert not (single.folder / "splits").exists()
    rt.run(series, folder="shared")
    assert not (single.folder / "truth.parquet").exists()


@pytest.mark.usefixtures("ratings")
def test_the_data_of_a_user_are_never_replaced() -> None:
    Path("mine").mkdir()
    RATINGS.write_parquet("mine/train.parquet")
    before = Path("mine/train.parquet").read_bytes()
    with pytest.raises(
        UnwritableFile, match=r"contains train\.parquet, but is not the folder of a"
    ):
        rt.run(vary(), folder="mine")
    assert Path("mine/train.parquet").read_bytes() == before


def test_fold_in_is_shown_if_there_is_one(tmp_path: Path) -> None:
    text = SMALL.replace(
        'how = "time_ratio"\nratio = 0.2\nvalid', 'how = "strong_generalisation"\nvalid'
    )
    run = rt.run(write(tmp_path, text))
    assert set(run.results["splits"][0]["files"]) == {"train", "fold_in", "truth"}


@pytest.mark.usefixtures("ratings")
def test_a_table_of_one_model_explains_no_star() -> None:
    one = {**EXPERIMENT, "models": {"popularity": {}}}
    assert "* best in its column" not in str(rt.run(one, folder="one"))
    assert "* best in its column" in str(rt.run(vary(), folder="two"))
