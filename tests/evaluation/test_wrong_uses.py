"""Sixty mistakes that newcomers make, each as they would type it, and the answer they get."""

from __future__ import annotations

import contextlib
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rectitude as rt
from rectitude.cli import main
from rectitude.errors import RectitudeError

LISTS = {"ann": ["tea", "rye", "jam"], "bob": ["oil", "tea"]}
TRUTH = {"ann": ["jam"], "bob": ["rye"]}
TEST = pl.DataFrame(
    {"user": [1, 1, 2], "item": [7, 8, 9], "rating": [4, 5, 3], "timestamp": [1, 2, 3]}
)
RECS = pl.DataFrame({"user": [1, 1, 2], "item": [7, 5, 9], "score": [0.9, 0.5, 0.4]})
LOG = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9], "timestamp": [1, 2, 3, 4]})
SCORES = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.3]])
LOGITS = rt.Logits(SCORES)


def lists_with(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"user": [1, 1], "item": [7, 8], **columns})


def write(path: str, text: str | bytes) -> str:
    Path(path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_workbook(path: str) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return path


def type_in(command: str) -> None:
    """Run a command line; raise what it prints on stderr if it refuses the command."""
    write("recs.csv", "user,item,score\n1,7,0.9\n")
    write("test.csv", "user,item\n1,7\n")
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed):
        code = main(command.split())
    if code == 2:
        raise SystemExit(printed.getvalue())


def evaluation() -> rt.Evaluation:
    return rt.evaluate(LISTS, TRUTH, "mrr")


E: Any = rt.evaluate
R: Any = rt
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    # what is handed over
    "truth first": (lambda: E(TEST, RECS, "mrr"), "truth.*'score'"),
    "interactions as predictions": (lambda: E(rt.Interactions(TEST), RECS), "rt.Interactions"),
    "scores as truth": (lambda: E(TEST, rt.Scores(SCORES)), "given as rt.Scores"),
    "compare with the truth first": (lambda: R.compare(TEST, [RECS, RECS]), "several tables"),
    "one table as models": (lambda: R.compare(RECS, TEST), "single table"),
    "an array beside targets": (lambda: E(SCORES, [0, 2], "mrr"), "logits.*scores"),
    "an array beside names": (lambda: E(rt.Scores(SCORES), {"ann": [0]}, "mrr"), "users="),
    "an array beside item ids": (lambda: E(rt.Scores(SCORES), {0: [3]}, "mrr"), "items="),
    "a truth of another shape": (lambda: E(SCORES, SCORES[:, :2] > 0.3, "mrr"), "shape"),
    "None": (lambda: E(None, TRUTH, "mrr"), "predictions is None"),
    "lists of lists beside a dict": (lambda: E([[7], [8]], {1: [7]}), "without users"),
    "lists of lists of unequal number": (lambda: E([[7], [8]], [[7]]), "2 lists"),
    "pairs of whole numbers": (lambda: E({1: [(2, 9), (3, 5)]}, {1: [3]}, "mrr"), "pairs"),
    "lists as text": (
        lambda: E(pd.DataFrame({"user": [1], "items": ["[12, 10]"]}), {1: [12]}, "mrr"),
        "written as text",
    ),
    "cos": (lambda: R.Embeddings(SCORES, SCORES, similarity="cos").open(), "'cosine'"),
    # columns
    "a score under a new name": (lambda: E(lists_with(model_score=[0.1, 0.2]), TEST), "score"),
    "a distance": (lambda: E(lists_with(distance=[0.1, 0.2]), TEST), "negate"),
    "no item column": (lambda: E(pl.DataFrame({"user": [1], "x": ["a"]}), TRUTH), "item"),
    "a column that does not exist": (
        lambda: E(RECS, TEST, "mrr", columns={"item": "movie"}),
        "movie",
    ),
    "a role that does not exist": (lambda: E(RECS, TEST, "mrr", columns={"usr": "u"}), "'usr'"),
    # ids and values
    "text against numbers": (lambda: E({"1": ["a"]}, {1: ["a"]}, "mrr"), "text.*integer"),
    "ids of two types": (lambda: E({1: [2], "2": [3]}, {1: [2]}, "mrr"), "several types"),
    "an item twice": (lambda: E({"ann": ["tea", "tea"]}, TRUTH, "mrr"), "tea"),
    "NaN as score": (lambda: E(lists_with(score=[0.1, float("nan")]), TEST), "score"),
    "NaN in an array": (lambda: E(rt.Scores(SCORES * np.nan), {0: [1]}, "mrr"), "NaN"),
    "a missing id": (lambda: E(pl.DataFrame({"user": [1], "item": [None]}), TEST), "missing|null"),
    "no common user": (lambda: E(LISTS, {"eve": ["tea"]}, "mrr"), "no user is in both"),
    "relevant from 6 of 5": (
        lambda: E(RECS, TEST, "ndcg@10", {"relevant_from": 6})["ndcg@10"],
        "highest: 5",
    ),
    # metrics
    "k=10": (lambda: E(LISTS, TRUTH, "ndcg", k=10), "cutoffs"),
    "metric=": (lambda: E(LISTS, TRUTH, metric="ndcg"), "'metrics'"),
    "a metric that does not exist": (lambda: E(LISTS, TRUTH, "xyz"), "by family"),
    "ndgc": (lambda: E(LISTS, TRUTH, "ndgc@5"), "did you mean 'ndcg@5'"),
    "coverage": (lambda: E(LISTS, TRUTH, "Coverage@10"), "different things"),
    "ndcg_hit": (lambda: E(LISTS, TRUTH, "ndcg_hit@20"), r"list_needed=hit"),
    "f1_at_k": (lambda: E(LISTS, TRUTH, "f1_at_k"), "'f1@10'"),
    "cutoffs for nobody": (lambda: E(LISTS, TRUTH, "ndcg@5", cutoffs=[10]), "no metric takes"),
    "a cutoff of 0": (lambda: E(LISTS, TRUTH, "ndcg", cutoffs=[0]), "cutoff is 0"),
    "a class as metric": (lambda: E(LISTS, TRUTH, {int: [5]}), "by its name"),
    "no metric": (lambda: E(LISTS, TRUTH, []), "no metric is given"),
    "a bare decorator": (lambda: R.metric(lambda lists, k: lists), "parentheses"),
    # conventions and comparisons
    "a profile that does not exist": (lambda: E(LISTS, TRUTH, "mrr", "recbol"), "'recbole'"),
    "a switch that does not exist": (lambda: E(LISTS, TRUTH, "mrr", {"tie": "error"}), "'ties'"),
    "no convention": (lambda: E(LISTS, TRUTH, "mrr", []), "empty list"),
    "a convention twice": (lambda: E(LISTS, TRUTH, "mrr", ["elliot"] * 2), "'elliot'"),
    "a number as convention": (lambda: E(LISTS, TRUTH, "mrr", 3), "type int"),
    "Tukey": (
        lambda: R.compare({"a": LISTS, "b": LISTS}, TRUTH, "mrr", test="tukey"),
        "Holm|holm",
    ),
    "the metric and value swapped": (lambda: R.identify(LISTS, TRUTH, 0.5, "mrr"), "mrr"),
    # splits
    "loo": (lambda: R.split(LOG, "loo"), "'leave_last'"),
    "test_size": (lambda: R.split(LOG, "random_ratio", test_size=0.2), "'ratio'"),
    "a split without times": (
        lambda: R.split(LOG.drop("timestamp"), "leave_last"),
        "order='file'",
    ),
    "drop where all is known": (
        lambda: R.split(LOG, unknown={"users": "drop", "known": "all"}),
        "no effect",
    ),
    # results
    "save as Parquet": (lambda: evaluation().save("e.parquet"), ".json or .zip"),
    "settings as format": (lambda: R.History().line({"lr": 1}), "format|evaluation"),
    "a metric that was not asked": (lambda: evaluation()["ndcg@5"], "ndcg@5"),
    "progress as text": (lambda: E(LISTS, TRUTH, "mrr", progress="yes"), "True"),
    "activity of logits": (
        lambda: E(LOGITS, [0, 1], "mrr", slices="activity", train=[1, 2]),
        "no users",
    ),
    # files
    "a missing file": (lambda: E("rcs.csv", TRUTH), "does not exist"),
    "an address": (lambda: E("https://example.com/recs.csv", TRUTH), "local files"),
    "a pickle": (lambda: E(write("r.pkl", pickle.dumps([1])), TRUTH), "never opens"),
    "a workbook": (lambda: E(write_workbook("r.xlsx"), TRUTH), "read_excel"),
    "a decimal comma": (lambda: E(write("d.csv", "user;item;score\n1;5;0,9\n"), {1: [5]}), "comma"),
    "a pattern without files": (lambda: E("parts/*.json", TRUTH), "no file matches"),
    "the same file twice": (lambda: E([write("a.csv", "user,item\n1,2\n")] * 2, TRUTH), "twice"),
    # the command line
    "--k": (lambda: type_in("evaluate recs.csv --truth test.csv --k 10"), "ndcg@10"),
    "--qrels": (lambda: type_in("evaluate recs.csv --qrels test.csv"), "--truth"),
    "no predictions": (lambda: type_in("evaluate --truth test.csv"), "no predictions"),
    "no truth": (lambda: type_in("evaluate recs.csv"), "--truth"),
    "numbers as Parquet": (
        lambda: type_in("evaluate recs.csv --truth test.csv --output o.parquet"),
        "--per-list",
    ),
    "a file among the metrics": (
        lambda: type_in("evaluate --truth test.csv --metrics mrr recs.csv"),
        "before the options",
    ),
}


def test_there_are_sixty_wrong_uses() -> None:
    assert len(WRONG) >= 60


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_gets_an_answer_that_helps(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, answer = WRONG[name]
    with pytest.raises((RectitudeError, SystemExit), match=f"(?s){answer}") as raised:
        call()
    message = str(raised.value)
    assert len(message.strip().splitlines()) >= 2, "it says only what is wrong"
    assert "object at 0x" not in message
