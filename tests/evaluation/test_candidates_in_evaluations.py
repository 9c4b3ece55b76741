"""Evaluations among candidates: what is ranked, what is counted, and warnings about samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import rectitude as rt
from rectitude.candidate_sets.protocols import candidates as make_candidates
from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.candidate_sets.sets import full, take_given, train_items
from rectitude.candidate_sets.value import Candidates
from rectitude.data.log import open_log
from rectitude.errors import BadTable, NothingToEvaluate
from rectitude.explanation.trace import trace
from rectitude.splits.split import Split

METRICS = ["recall@5", "ndcg@5", "mrr"]


@pytest.fixture
def split() -> Split:
    """A split whose last items occur in the truth only."""
    random = np.random.default_rng(4)
    rows = [(f"u{u:02}", f"i{i:03}") for u in range(25) for i in random.choice(50, 10, False)]
    frame = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    late = (frame["item"] >= "i046") | (pl.Series(range(frame.height)) % 4 == 0)
    return Split(open_log(frame.filter(~late)), open_log(frame.filter(late)))


def table_of(split: Split) -> pl.DataFrame:
    """A score for every user of the truth and every item."""
    users = split.truth.frame.select(pl.col("user").unique().sort())
    items = pl.DataFrame({"item": [f"i{i:03}" for i in range(50)]})
    pairs = users.join(items, how="cross")
    return pairs.with_columns(score=np.random.default_rng(1).normal(size=pairs.height))


def scores_of(table: pl.DataFrame) -> rt.Scores:
    users, items = (table[name].unique().sort() for name in ("user", "item"))
    return rt.Scores(table["score"].to_numpy().reshape(len(users), -1), users=users, items=items)


def truth_of(split: Split) -> pl.DataFrame:
    return split.truth.frame.select("user", "item")


@pytest.mark.parametrize(
    "kind", ["full", "train_items", "sampled", "elliot", "recbole", "daisyrec"]
)
def test_lists_and_scores_have_the_same_value_among_candidates(split: Split, kind: str) -> None:
    counted = {} if kind in ("full", "train_items") else {"count": 12}
    candidates = make_candidates(split, kind, **counted)
    table, truth = table_of(split), truth_of(split)
    allowed = candidates.source.select("user", "item")
    if candidates.without_truth:
        allowed = pl.concat([allowed, truth])
    alone = table.join(allowed.unique(), on=["user", "item"], how="semi")
    wanted = rt.evaluate(alone, truth, METRICS).values()
    for predictions in (table, scores_of(table)):
        for handed in (candidates, candidates.source.select("user", "item")):
            convention = {"candidates": "with_truth"} if candidates.without_truth else None
            evaluation = rt.evaluate(predictions, truth, METRICS, convention, candidates=handed)
            assert evaluation.values() == wanted
    assert wanted != rt.evaluate(table, truth, METRICS).values() or kind == "full"


def test_the_truth_is_added_to_candidates_without_it(split: Split) -> None:
    drawn = make_candidates(split, "elliot", count=12)
    table, truth = table_of(split), truth_of(split)
    for predictions in (table, scores_of(table)):
        evaluation = rt.evaluate(predictions, truth, "recall@5", candidates=drawn)
        assert evaluation["recall@5"] > 0
        assert evaluation.ledger["truth_added"] == truth.height
        assert "truth_outside" not in evaluation.ledger


def test_items_outside_the_candidates_are_counted(split: Split) -> None:
    table, truth = table_of(split), truth_of(split)
    some = truth.filter(pl.col("user") != "u00").head(30)
    rows_of_first = truth.filter(user="u00").height
    assert rows_of_first
    users = truth["user"].n_unique() - some["user"].n_unique()
    for handed in (take_given(split, some), some):
        for predictions in (table, scores_of(table)):
            ledger = rt.evaluate(predictions, truth, "recall@5", candidates=handed).ledger
            assert ledger["truth_outside"] == truth.height - 30
            assert ledger["users_without_candidates"] == users
            assert {"truth_outside", "users_without_candidates"} <= {
                entry.name for entry in ledger.warnings()
            }
        lists = rt.evaluate(table, truth, "recall@5", candidates=handed).ledger
        assert lists["outside_candidates"] == table.height - 30
        assert lists["lists_empty"] == users


def test_a_list_that_becomes_empty_stays_a_list() -> None:
    lists, truth = {"x": ["a", "b"], "y": ["a", "b"]}, {"x": ["b"], "y": ["c"]}
    offered = {"x": ["b", "c"], "y": ["c"]}
    values = {
        needed: rt.evaluate(lists, truth, "hit@1", {"list_needed": needed}, candidates=offered)
        for needed in ("handed", "items")
    }
    assert (values["handed"]["hit@1"], values["items"]["hit@1"]) == (0.5, 1.0)


def test_lists_that_do_not_rank_all_candidates_are_reported(split: Split) -> None:
    table, truth = table_of(split), truth_of(split)
    drawn = sample_negatives(split, 12)
    best = table.sort("score", descending=True).group_by("user", maintain_order=True).head(10)
    cut = rt.evaluate(best, truth, "recall@5", candidates=drawn).ledger
    assert cut["candidates_not_listed"] > 0
    assert rt.evaluate(table, truth, "auc", candidates=drawn).ledger["candidates_not_listed"] == 0
    assert "auc" in rt.evaluate(best, truth, "auc", candidates=drawn).failures


def test_every_output_says_that_candidates_are_a_sample(split: Split, tmp_path: Path) -> None:
    drawn = sample_negatives(split, 12)
    table, truth = table_of(split), truth_of(split)
    sentence = "each positive is ranked against 12 of 46 items"
    for predictions in (table, scores_of(table)):
        evaluation = rt.evaluate(predictions, truth, "recall@5", candidates=drawn)
        assert sentence in str(evaluation)
        assert any(sentence in str(entry) for entry in evaluation.ledger.warnings())
        evaluation.save(tmp_path / "e.json")
        assert sentence in str(rt.Evaluation.load(tmp_path / "e.json"))
        stored = json.loads((tmp_path / "e.json").read_text())["manifest"]["inputs"]["candidates"]
        assert (stored["hash"], stored["seed"]) == (drawn.hash, 0)
    assert "sample" not in str(rt.evaluate(table, truth, "recall@5", candidates=full(split)))


@pytest.mark.parametrize("dense", [True, False])
def test_a_plain_table_says_that_lists_rank_a_sample(split: Split, dense: bool) -> None:
    table, truth = table_of(split), truth_of(split)
    predictions = scores_of(table) if dense else table
    drawn = sample_negatives(split, 12).source.select("user", "item")
    evaluation = rt.evaluate(predictions, truth, "recall@5", candidates=drawn)
    per_list = drawn.height / drawn["user"].n_unique()
    note = f"candidates: polars DataFrame; on average {per_list:.0f} of 50 items per list"
    assert note in str(evaluation.ledger)
    assert "lists rank a sample of the items: values are higher" in str(evaluation)
    assert evaluation.ledger["lists_sampled"] == table["user"].n_unique()
    most = table.filter(pl.col("item") > "i005").select("user", "item")
    assert "sample" not in str(rt.evaluate(predictions, truth, "recall@5", candidates=most))


def test_a_catalogue_or_training_data_says_how_many_items_there_are() -> None:
    lists, truth = {1: [5, 6], 2: [6, 7]}, {1: [5], 2: [7]}
    alone = rt.evaluate(lists, truth, "recall@1", candidates=lists)
    assert "2 of 3 items per list" in str(alone.ledger)
    assert "lists_sampled" not in alone.ledger
    for more in ({"items": {"item": range(9)}}, {"train": {1: range(8, 15), 3: [0, 1]}}):
        ledger = rt.evaluate(lists, truth, "recall@1", candidates=lists, **more).ledger
        assert "2 of 9 items per list" in str(ledger)
        assert ledger["lists_sampled"] == 2


def test_candidates_among_scores_do_not_hide_a_test_set_in_the_training_data() -> None:
    truth, train = csr_matrix([[1, 0, 1]]), csr_matrix([[1, 0, 0]])
    scores, offered = rt.Scores([[0.9, 0.1, 0.5]]), csr_matrix([[1, 1, 1]])
    ledger = rt.evaluate(scores, truth, "mrr", train=train, candidates=offered).ledger
    assert "1 of 2 truth rows have an item from the user's training data" in str(ledger)


@pytest.mark.parametrize("dense", [True, False])
def test_batches_keep_the_warning_and_the_counts(split: Split, dense: bool, tmp_path: Path) -> None:
    drawn, table, truth = sample_negatives(split, 12), table_of(split), truth_of(split)
    form = scores_of if dense else (lambda rows: rows)
    early = pl.col("user") < "u12"
    evaluators = []
    for part in (early, ~early):
        evaluator = rt.Evaluator(METRICS)
        evaluator.update(form(table.filter(part)), truth.filter(part), candidates=drawn)
        evaluator.save(tmp_path / "part.json")
        evaluators.append(rt.Evaluator.load(tmp_path / "part.json"))
    merged = sum(evaluators).compute()
    whole = rt.evaluate(form(table), truth, METRICS, candidates=drawn)
    assert merged.values() == whole.values()
    for name in ("lists_sampled", "users_without_candidates", "truth_outside"):
        assert merged.ledger.entries[name] == whole.ledger.entries[name]
    assert merged.manifest["inputs"]["candidates"] == whole.manifest["inputs"]["candidates"]


def test_batches_with_different_candidates_do_not_share_a_hash(split: Split) -> None:
    table, truth = table_of(split), truth_of(split)
    evaluator = rt.Evaluator("mrr")
    for seed, part in enumerate((pl.col("user") < "u12", pl.col("user") >= "u12")):
        drawn = sample_negatives(split, 12, seed=seed)
        evaluator.update(table.filter(part), truth.filter(part), candidates=drawn)
    first = sample_negatives(split, 12, seed=0).hash
    assert evaluator.compute().manifest["inputs"]["candidates"]["hash"] == f"{first}, ..."


def test_a_stored_file_of_candidates_is_recognised(split: Split, tmp_path: Path) -> None:
    table, truth = table_of(split), truth_of(split)
    for candidates in (sample_negatives(split, 12), train_items(split)):
        candidates.save(tmp_path / "c.parquet")
        for predictions in (table, scores_of(table)):
            from_value, from_file = (
                rt.evaluate(predictions, truth, METRICS, candidates=handed)
                for handed in (candidates, str(tmp_path / "c.parquet"))
            )
            assert from_value.to_json() == from_file.to_json()


def test_items_without_a_score_are_counted_and_left_out(split: Split) -> None:
    table, truth = table_of(split), truth_of(split)
    known = table.join(split.train.frame.select("item").unique(), on="item", how="semi")
    drawn = sample_negatives(split, 12)
    evaluation = rt.evaluate(scores_of(known), truth, METRICS, candidates=drawn)
    assert evaluation.values() == rt.evaluate(known, truth, METRICS, candidates=drawn).values()
    lost = truth.filter(~pl.col("item").is_in(known["item"].unique().implode())).height
    assert evaluation.ledger["candidates_without_score"] == lost > 0
    with pytest.raises(BadTable, match="not a column of the scores"):
        rt.evaluate(scores_of(known), truth, METRICS, candidates=drawn.frame)


def test_seen_items_stay_masked_among_shared_candidates(split: Split) -> None:
    table, truth, train = table_of(split), truth_of(split), split.train.frame
    offered = take_given(split, [f"i{i:03}" for i in range(0, 50, 2)])
    unseen = table.join(train, on=["user", "item"], how="anti")
    unseen = unseen.filter(pl.col("item").is_in(offered.frame["item"].implode()))
    evaluation = rt.evaluate(scores_of(table), truth, METRICS, train=train, candidates=offered)
    assert evaluation.values() == rt.evaluate(unseen, truth, METRICS).values()


def test_a_sparse_matrix_gives_candidates_for_scores_and_lists() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    offered = csr_matrix(np.array([[0, 1, 1], [1, 1, 0]]))
    truth = {"user": [0, 1], "item": [2, 0]}
    lists = [{"user": u, "item": i, "score": scores[u, i]} for u in range(2) for i in range(3)]
    for predictions in (rt.Scores(scores), lists):
        evaluation = rt.evaluate(predictions, truth, "mrr", candidates=offered)
        assert evaluation["mrr"] == 0.5
        assert evaluation.ledger["truth_outside"] == 0


def test_candidates_of_users_apply_to_all_their_lists() -> None:
    lists = pl.DataFrame(
        {"user": ["x", "x", "x"], "session": [1, 1, 2], "item": ["a", "b", "b"], "score": 1.0}
    ).with_columns(score=pl.Series([2.0, 1.0, 1.0]))
    truth = pl.DataFrame({"user": ["x", "x"], "session": [1, 2], "item": ["b", "b"]})
    frame = pl.DataFrame({"user": ["x", "x"], "item": ["b", "c"]})
    value = Candidates(frame, frame["user"].unique(), {"kind": "given"})
    evaluation = rt.evaluate(lists, truth, "mrr", list_key="session", candidates=value)
    assert evaluation["mrr"] == 1.0
    by_list = frame.select(pl.lit(1).alias("session"), "item")
    evaluation = rt.evaluate(lists, truth, "mrr", list_key="session", candidates=by_list)
    assert evaluation["mrr"] == 0.5
    assert evaluation.ledger["users_without_candidates"] == 1


def test_ids_from_text_match_numeric_candidates(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text("user,item,score\n1,7,2\n1,8,1\n")
    frame = pl.DataFrame({"user": [1], "item": [8]})
    value = Candidates(frame, frame["user"], {"kind": "given"})
    truth = {"user": [1], "item": [8]}
    assert rt.evaluate(str(tmp_path / "lists.csv"), truth, "mrr", candidates=value)["mrr"] == 1.0


def test_explanations_and_traces_see_only_the_candidates(split: Split) -> None:
    drawn = make_candidates(split, "sampled", count=12)
    table, truth = table_of(split), truth_of(split)
    evaluation = rt.evaluate(table, truth, "mrr", candidates=drawn)
    user = truth["user"][0]
    traced = trace(table, truth, "mrr", user, candidates=drawn)
    assert traced.value == dict(evaluation.per_list().select("user", "mrr").iter_rows())[user]
    explanation = rt.explain(
        table, truth, "mrr", first={}, second={"candidates": "with_truth"}, candidates=drawn
    )
    assert explanation.first.value == evaluation["mrr"]


def test_candidates_without_a_matching_user_are_an_error() -> None:
    scores = rt.Scores(np.ones((1, 2)), users=["x"], items=["a", "b"])
    with pytest.raises(NothingToEvaluate, match="no candidate belongs to any row"):
        rt.evaluate(scores, {"x": ["b"]}, "mrr", candidates={"y": ["a"]})
    with pytest.raises(NothingToEvaluate, match=r"none of 1 recommended items is a candidate"):
        rt.evaluate({"x": ["a"]}, {"x": ["b"]}, "mrr", candidates={"x": ["b"]})


def test_a_single_metric_cannot_change_the_candidates() -> None:
    lists, truth, offered = {"x": ["a", "b"]}, {"x": ["b"]}, {"x": ["a"]}
    scores = rt.Scores(np.array([[2.0, 1.0]]), users=["x"], items=["a", "b"])
    for predictions in (lists, scores):
        evaluation = rt.evaluate(
            predictions, truth, ["mrr", "mrr[candidates=with_truth]"], candidates=offered
        )
        assert evaluation["mrr"] == 0.0
        (error,) = evaluation.failures.values()
        assert "candidates are applied once" in str(error)
