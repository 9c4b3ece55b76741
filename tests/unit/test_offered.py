"""Evaluations among candidates: what competes, what is counted, what is said of samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import rectitude as rt
from rectitude.candidates.protocols import candidates_of
from rectitude.candidates.sampling import sampled
from rectitude.candidates.sets import full, given, train_items
from rectitude.candidates.value import Candidates
from rectitude.data.log import open_log
from rectitude.errors import BadTable, NothingToEvaluate
from rectitude.explanation.trace import trace
from rectitude.splits.split import Split

METRICS = ["recall@5", "ndcg@5", "mrr"]


@pytest.fixture
def split() -> Split:
    """A split whose truth is the first to hold the last items."""
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
    candidates = candidates_of(split, kind, **counted)
    table, truth = table_of(split), truth_of(split)
    allowed = candidates.source.select("user", "item")
    if candidates.without_truth:
        allowed = pl.concat([allowed, truth])
    alone = table.join(allowed.unique(), on=["user", "item"], how="semi")
    wanted = rt.evaluate(alone, truth, METRICS).values()
    for predictions in (table, scores_of(table)):
        for handed in (candidates, candidates.source.select("user", "item")):
            convention = {"candidates": "with_truth"} if candidates.without_truth else None
            found = rt.evaluate(predictions, truth, METRICS, convention, candidates=handed)
            assert found.values() == wanted
    assert wanted != rt.evaluate(table, truth, METRICS).values() or kind == "full"


def test_candidates_without_the_truth_are_joined_by_it(split: Split) -> None:
    drawn = candidates_of(split, "elliot", count=12)
    table, truth = table_of(split), truth_of(split)
    for predictions in (table, scores_of(table)):
        found = rt.evaluate(predictions, truth, "recall@5", candidates=drawn)
        assert found["recall@5"] > 0
        assert found.ledger["truth_added"] == truth.height
        assert "truth_outside" not in found.ledger


def test_what_candidates_leave_out_is_counted(split: Split) -> None:
    table, truth = table_of(split), truth_of(split)
    some = truth.filter(pl.col("user") != "u00").head(30)
    rows_of_first = truth.filter(user="u00").height
    assert rows_of_first
    users = truth["user"].n_unique() - some["user"].n_unique()
    for handed in (given(split, some), some):
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


def test_an_emptied_list_is_a_list() -> None:
    lists, truth = {"x": ["a", "b"], "y": ["a", "b"]}, {"x": ["b"], "y": ["c"]}
    offered = {"x": ["b", "c"], "y": ["c"]}
    values = {
        needed: rt.evaluate(lists, truth, "hit@1", {"list_needed": needed}, candidates=offered)
        for needed in ("handed", "items")
    }
    assert (values["handed"]["hit@1"], values["items"]["hit@1"]) == (0.5, 1.0)


def test_lists_that_end_before_all_candidates_are_ranked_say_so(split: Split) -> None:
    table, truth = table_of(split), truth_of(split)
    drawn = sampled(split, 12)
    best = table.sort("score", descending=True).group_by("user", maintain_order=True).head(10)
    cut = rt.evaluate(best, truth, "recall@5", candidates=drawn).ledger
    assert cut["candidates_not_listed"] > 0
    assert rt.evaluate(table, truth, "auc", candidates=drawn).ledger["candidates_not_listed"] == 0
    assert "auc" in rt.evaluate(best, truth, "auc", candidates=drawn).failures


def test_a_sample_is_said_wherever_the_numbers_go(split: Split, tmp_path: Path) -> None:
    drawn = sampled(split, 12)
    table, truth = table_of(split), truth_of(split)
    sentence = "each positive meets 12 of 46 items"
    for predictions in (table, scores_of(table)):
        found = rt.evaluate(predictions, truth, "recall@5", candidates=drawn)
        assert sentence in str(found)
        assert any(sentence in str(entry) for entry in found.ledger.warnings())
        found.save(tmp_path / "e.json")
        assert sentence in str(rt.Evaluation.load(tmp_path / "e.json"))
        stored = json.loads((tmp_path / "e.json").read_text())["manifest"]["inputs"]["candidates"]
        assert (stored["hash"], stored["seed"]) == (drawn.hash, 0)
    assert "sample" not in str(rt.evaluate(table, truth, "recall@5", candidates=full(split)))


@pytest.mark.parametrize("dense", [True, False])
def test_batches_keep_the_warning_and_the_counts(split: Split, dense: bool, tmp_path: Path) -> None:
    drawn, table, truth = sampled(split, 12), table_of(split), truth_of(split)
    form = scores_of if dense else (lambda rows: rows)
    early = pl.col("user") < "u12"
    evaluators = []
    for part in (early, ~early):
        one = rt.Evaluator(METRICS)
        one.update(form(table.filter(part)), truth.filter(part), candidates=drawn)
        one.save(tmp_path / "part.json")
        evaluators.append(rt.Evaluator.load(tmp_path / "part.json"))
    merged = sum(evaluators).compute()
    whole = rt.evaluate(form(table), truth, METRICS, candidates=drawn)
    assert merged.values() == whole.values()
    for name in ("lists_sampled", "users_without_candidates", "truth_outside"):
        assert merged.ledger.entries[name] == whole.ledger.entries[name]
    assert merged.manifest["inputs"]["candidates"] == whole.manifest["inputs"]["candidates"]


def test_batches_of_different_candidates_do_not_claim_one_hash(split: Split) -> None:
    table, truth = table_of(split), truth_of(split)
    evaluator = rt.Evaluator("mrr")
    for seed, part in enumerate((pl.col("user") < "u12", pl.col("user") >= "u12")):
        drawn = sampled(split, 12, seed=seed)
        evaluator.update(table.filter(part), truth.filter(part), candidates=drawn)
    first = sampled(split, 12, seed=0).hash
    assert evaluator.compute().manifest["inputs"]["candidates"]["hash"] == f"{first}, ..."


def test_a_stored_file_is_taken_for_what_it_is(split: Split, tmp_path: Path) -> None:
    table, truth = table_of(split), truth_of(split)
    for made in (sampled(split, 12), train_items(split)):
        made.save(tmp_path / "c.parquet")
        for predictions in (table, scores_of(table)):
            one, other = (
                rt.evaluate(predictions, truth, METRICS, candidates=handed)
                for handed in (made, str(tmp_path / "c.parquet"))
            )
            assert one.to_json() == other.to_json()


def test_items_without_a_score_are_counted_and_left_out(split: Split) -> None:
    table, truth = table_of(split), truth_of(split)
    known = table.join(split.train.frame.select("item").unique(), on="item", how="semi")
    drawn = sampled(split, 12)
    found = rt.evaluate(scores_of(known), truth, METRICS, candidates=drawn)
    assert found.values() == rt.evaluate(known, truth, METRICS, candidates=drawn).values()
    lost = truth.filter(~pl.col("item").is_in(known["item"].unique().implode())).height
    assert found.ledger["candidates_without_score"] == lost > 0
    with pytest.raises(BadTable, match="no column of the scores stands for"):
        rt.evaluate(scores_of(known), truth, METRICS, candidates=drawn.frame)


def test_what_was_seen_stays_masked_among_shared_candidates(split: Split) -> None:
    table, truth, train = table_of(split), truth_of(split), split.train.frame
    offered = given(split, [f"i{i:03}" for i in range(0, 50, 2)])
    unseen = table.join(train, on=["user", "item"], how="anti")
    unseen = unseen.filter(pl.col("item").is_in(offered.frame["item"].implode()))
    found = rt.evaluate(scores_of(table), truth, METRICS, train=train, candidates=offered)
    assert found.values() == rt.evaluate(unseen, truth, METRICS).values()


def test_positions_of_a_sparse_matrix_are_candidates_of_scores_and_of_lists() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    offered = csr_matrix(np.array([[0, 1, 1], [1, 1, 0]]))
    truth = {"user": [0, 1], "item": [2, 0]}
    lists = [{"user": u, "item": i, "score": scores[u, i]} for u in range(2) for i in range(3)]
    for predictions in (rt.Scores(scores), lists):
        found = rt.evaluate(predictions, truth, "mrr", candidates=offered)
        assert found["mrr"] == 0.5
        assert found.ledger["truth_outside"] == 0


def test_candidates_of_users_serve_all_their_lists() -> None:
    lists = pl.DataFrame(
        {"user": ["x", "x", "x"], "session": [1, 1, 2], "item": ["a", "b", "b"], "score": 1.0}
    ).with_columns(score=pl.Series([2.0, 1.0, 1.0]))
    truth = pl.DataFrame({"user": ["x", "x"], "session": [1, 2], "item": ["b", "b"]})
    frame = pl.DataFrame({"user": ["x", "x"], "item": ["b", "c"]})
    value = Candidates(frame, frame["user"].unique(), {"kind": "given"})
    found = rt.evaluate(lists, truth, "mrr", list_key="session", candidates=value)
    assert found["mrr"] == 1.0
    by_list = frame.select(pl.lit(1).alias("session"), "item")
    found = rt.evaluate(lists, truth, "mrr", list_key="session", candidates=by_list)
    assert found["mrr"] == 0.5
    assert found.ledger["users_without_candidates"] == 1


def test_ids_from_text_fit_candidates_that_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text("user,item,score\n1,7,2\n1,8,1\n")
    frame = pl.DataFrame({"user": [1], "item": [8]})
    value = Candidates(frame, frame["user"], {"kind": "given"})
    truth = {"user": [1], "item": [8]}
    assert rt.evaluate(str(tmp_path / "lists.csv"), truth, "mrr", candidates=value)["mrr"] == 1.0


def test_explanations_and_traces_see_the_candidates_alone(split: Split) -> None:
    drawn = candidates_of(split, "sampled", count=12)
    table, truth = table_of(split), truth_of(split)
    found = rt.evaluate(table, truth, "mrr", candidates=drawn)
    user = truth["user"][0]
    one = trace(table, truth, "mrr", user, candidates=drawn)
    assert one.value == dict(found.per_list().select("user", "mrr").iter_rows())[user]
    told = rt.explain(
        table, truth, "mrr", first={}, second={"candidates": "with_truth"}, candidates=drawn
    )
    assert told.first.value == found["mrr"]


def test_candidates_of_nobody_are_an_error_that_says_so() -> None:
    scores = rt.Scores(np.ones((1, 2)), users=["x"], items=["a", "b"])
    with pytest.raises(NothingToEvaluate, match="no candidate belongs to any row"):
        rt.evaluate(scores, {"x": ["b"]}, "mrr", candidates={"y": ["a"]})
    with pytest.raises(NothingToEvaluate, match=r"none of 1 recommended items is a candidate"):
        rt.evaluate({"x": ["a"]}, {"x": ["b"]}, "mrr", candidates={"x": ["b"]})


def test_a_metric_cannot_have_candidates_of_its_own() -> None:
    lists, truth, offered = {"x": ["a", "b"]}, {"x": ["b"]}, {"x": ["a"]}
    scores = rt.Scores(np.array([[2.0, 1.0]]), users=["x"], items=["a", "b"])
    for predictions in (lists, scores):
        found = rt.evaluate(
            predictions, truth, ["mrr", "mrr[candidates=with_truth]"], candidates=offered
        )
        assert found["mrr"] == 0.0
        (error,) = found.failures.values()
        assert "candidates are taken once" in str(error)
