"""`rectitude convert`: what it recognises, what it says, and what it leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from cli_files import Run

from rectitude.cli import main


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_predictions_become_a_run(shop: Path, run: Run) -> None:
    said = run("convert", "good.csv", "good.run")
    assert said.code == 0
    assert "read good.csv as csv (text in columns; separated by commas, with a header)" in said.out
    assert "predictions: it has the column" in said.out
    assert "wrote good.run as trec" in said.out
    assert (shop / "good.run").read_text().splitlines()[0] == "ann Q0 a 1 3.0 good"
    common = ("evaluate", "--truth", "truth.csv", "--json", "--predictions")
    csv, trec = (json.loads(run(*common, name).out) for name in ("good.csv", "good.run"))
    assert csv["results"] == trec["results"]


def test_rows_without_items_are_not_kept_and_counted(tmp_path: Path, run: Run) -> None:
    herbs = write(tmp_path / "herbs.txt", "1 2\t3 4\n5 6\t\n1\t4\n")
    lines = write(tmp_path / "lines.txt", "1 2 3\n2\n")
    for source, form, first in ((herbs, "sets", "1"), (lines, "adjacency", "2")):
        said = run("convert", source, str(tmp_path / "t.csv"), "--from", form, "--as", "truth")
        assert f"not kept: 1 empty lists (first: '{first}'): every row needs an item" in said.out
        assert f"{3 - (form == 'adjacency')} rows, {2 - (form == 'adjacency')} lists" in said.out


def test_truth_becomes_qrels_and_comes_back(shop: Path, run: Run) -> None:
    assert run("convert", "truth.csv", "truth.qrels").code == 0
    back = run("convert", "truth.qrels", "back.csv")
    assert "truth: its lines have 4 fields" in back.out
    first, second = (pl.read_csv(shop / name) for name in ("truth.csv", "back.csv"))
    assert set(first[:, :2].rows()) == set(second[:, :2].rows())


def test_integers_stay_integers_and_zeros_in_front_stay(tmp_path: Path, run: Run) -> None:
    source = write(tmp_path / "a.csv", "user,item,score\n1,007,2\n2,8,1\n")
    said = run("convert", source, str(tmp_path / "a.parquet"))
    assert "note: user ids are written as integers" in said.out
    assert pl.read_parquet(tmp_path / "a.parquet").rows() == [(1, "007", 2.0), (2, "8", 1.0)]


def test_what_cannot_be_kept_is_said(tmp_path: Path, run: Run) -> None:
    source = write(tmp_path / "a.json", '{"1": {"7": 0.5}, "2": {}}')
    said = run("convert", source, str(tmp_path / "a.csv"))
    assert "not kept: 1 empty lists (first: '2'): every row needs an item" in said.out
    rows = write(tmp_path / "r.csv", "user,item,score,rank\n1,7,0.5,1\n")
    assert (
        "not kept: rank: the format has no column for it"
        in run("convert", rows, str(tmp_path / "r.json")).out
    )
    timed = write(tmp_path / "t.csv", "user,item,rating,timestamp\n1,7,5,99\n")
    assert "not kept: timestamp" in run("convert", timed, str(tmp_path / "t.qrels")).out


def test_guesses_are_overruled(tmp_path: Path, run: Run) -> None:
    source = write(tmp_path / "scores.tsv", "1\t7\t0.5\n1\t8\t0.25\n")
    guess = run("convert", source, str(tmp_path / "t.csv"))
    assert "truth: it has no column of scores or ranks" in guess.out
    said = run(
        "convert",
        source,
        str(tmp_path / "r.parquet"),
        "--from",
        "elliot",
        "--to",
        "rectools",
        "--as",
        "predictions",
    )
    assert "predictions: as requested" in said.out
    frame = pl.read_parquet(tmp_path / "r.parquet")
    assert frame.columns == ["user_id", "item_id", "score", "rank"]
    assert frame.rows() == [(1, 7, 0.5, 1), (1, 8, 0.25, 2)]


def test_columns_are_named_by_role(tmp_path: Path, run: Run) -> None:
    source = write(tmp_path / "a.csv", "visitor,thing,points\n1,7,3\n")
    target = str(tmp_path / "b.csv")
    said = run("convert", source, target, "--columns", "user=visitor", "item=thing", "score=points")
    assert said.code == 0, said.err
    assert "columns: user = visitor, item = thing, score = points" in said.out
    assert Path(target).read_text() == "user,item,score\n1,7,3.0\n"


def test_recpack_is_two_files_which_come_back(tmp_path: Path, run: Run) -> None:
    source = write(tmp_path / "a.csv", "user,item,timestamp\n1,7,99\n0,8,98\n")
    said = run("convert", source, str(tmp_path / "p.csv"), "--to", "recpack")
    assert said.code == 0, said.err
    assert (tmp_path / "p.csv").read_text() == "iid,uid,interactionid,ts\n7,1,0,99\n8,0,1,98\n"
    assert "num_users: 2" in (tmp_path / "p_properties.yaml").read_text()
    back = run("convert", str(tmp_path / "p_properties.yaml"), str(tmp_path / "b.csv"))
    assert (tmp_path / "b.csv").read_text() == "user,item,timestamp\n1,7,99\n0,8,98\n", back.err


def test_dates_become_seconds_where_timestamps_are_numbers(tmp_path: Path, run: Run) -> None:
    source = write(tmp_path / "a.csv", "user,item,timestamp\n1,7,1970-01-02\n1,8,1970-01-03\n")
    said = run("convert", source, str(tmp_path / "a.inter"))
    assert "timestamps are written as seconds since 1970" in said.out
    assert (tmp_path / "a.inter").read_text().splitlines()[1:] == ["1\t7\t86400", "1\t8\t172800"]
    run("convert", source, str(tmp_path / "b.parquet"))
    dates = pl.read_parquet(tmp_path / "b.parquet")["timestamp"]
    assert dates.dtype == pl.Datetime("us")
    run("convert", str(tmp_path / "b.parquet"), str(tmp_path / "c.csv"))
    run("convert", str(tmp_path / "c.csv"), str(tmp_path / "d.parquet"))
    assert pl.read_parquet(tmp_path / "d.parquet")["timestamp"].equals(dates)


def test_negatives_of_ncf_become_candidates(tmp_path: Path, run: Run) -> None:
    source = write(tmp_path / "ml.test.negative", "(0,25)\t10\t11\n")
    said = run("convert", source, str(tmp_path / "c.csv"))
    assert "candidates: ncf files hold candidates" in said.out
    assert (tmp_path / "c.csv").read_text() == "user,item\n0,25\n0,10\n0,11\n"
    assert (
        run(
            "convert", str(tmp_path / "c.csv"), str(tmp_path / "d.negative"), "--as", "candidates"
        ).code
        == 0
    )
    assert (tmp_path / "d.negative").read_text() == "(0,25)\t10\t11\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"q": {"d": 1}}', "truth"),
        ('{"q": {"d": 0.5}}', "predictions"),
        ('{"q": ["d"]}', "predictions"),
    ],
)
def test_json_is_taken_for_what_its_numbers_suggest(
    tmp_path: Path, run: Run, text: str, kind: str
) -> None:
    said = run("convert", write(tmp_path / "a.json", text), str(tmp_path / "b.csv"))
    assert f"  {kind}: " in said.out


def test_all_formats_are_listed(run: Run) -> None:
    said = run("convert", "--formats")
    assert said.code == 0
    assert "recbole" in said.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "convert needs two files"),
        (("a.csv",), "convert needs two files"),
        (("a.csv", "b.csv", "--as", "items"), "--as is 'items'"),
        (("a.csv", "b.csv", "--to", "cvs"), "did you mean 'csv'"),
        (("a.csv", "b.csv", "--from", "cvs"), "did you mean 'csv'"),
        (("none.csv", "b.csv"), "does not exist"),
        (("a.csv", "none/b.csv"), "cannot be written"),
    ],
)
def test_bad_use_is_said_and_nothing_written(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", "user,item\n1,2\n")
    done = run("convert", *arguments)
    assert done.code == 2
    assert said in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    source = write(tmp_path / "a.csv", "user,item,score\nann,green tea,1\n")
    target = write(tmp_path / "a.run", "old")
    assert main(["convert", source, target]) == 2
    assert Path(target).read_text() == "old"
