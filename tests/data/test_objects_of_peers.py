"""What people hold in their hands after using another library: its own objects, as they are."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pytest

import rectitude as rt
from rectitude.data import read as read_module
from rectitude.errors import BadArgument, BadTable

LISTS, TRUTH = {1: {12: 0.9, 10: 0.5}, 2: {11: 0.4}}, {1: {10: 1}, 2: {11: 2}}
MRR = (1 / 2 + 1) / 2


def mrr(predictions: Any, truth: Any) -> float:
    return float(rt.evaluate(predictions, truth, "mrr")["mrr"])


# ranx


class Run:
    """As in ranx: ids are text, and `run` is a typed dict of numba."""

    def __init__(self, run: dict[int, dict[int, float]]) -> None:
        self.run = {str(q): {str(d): s for d, s in docs.items()} for q, docs in run.items()}

    def to_dict(self) -> dict[str, dict[str, float]]:
        return defaultdict(dict, self.run)


class Qrels:
    """As in ranx, with `qrels` instead of `run`."""

    def __init__(self, qrels: dict[int, dict[int, int]]) -> None:
        self.qrels = {str(q): {str(d): s for d, s in docs.items()} for q, docs in qrels.items()}

    def to_dict(self) -> dict[str, dict[str, int]]:
        return defaultdict(dict, self.qrels)


def test_runs_and_qrels_of_ranx_are_read() -> None:
    evaluation = rt.evaluate(Run(LISTS), Qrels(TRUTH), "mrr")
    assert evaluation["mrr"] == MRR
    assert evaluation.ledger.notes["predictions"] == "ranx Run (user, item, score)"
    assert mrr(Run(LISTS), TRUTH) == mrr(LISTS, Qrels(TRUTH)) == MRR


def test_qrels_and_a_run_of_ranx_in_its_own_order_are_refused() -> None:
    for predictions, truth in (
        (Qrels(TRUTH), Run(LISTS)),
        (Qrels(TRUTH), LISTS),
        (TRUTH, Run(LISTS)),
    ):
        with pytest.raises(BadArgument, match="swap the two"):
            rt.evaluate(predictions, truth, "mrr")
    assert mrr(Run(LISTS), Run(LISTS)) == mrr(Qrels(TRUTH), Qrels(TRUTH)) == 1


def test_runs_of_ranx_are_compared_and_the_qrels_come_last() -> None:
    runs = [Run(LISTS), Run(LISTS)]
    assert rt.compare(runs, Qrels(TRUTH), "mrr") is not None
    for models in (runs, {"a": runs[0], "b": runs[1]}):
        with pytest.raises(BadArgument, match=r"swap the two: rt.compare\(\[a, b\], truth\)"):
            rt.compare(Qrels(TRUTH), models, "mrr")


# named tuples


class ScoredDoc(NamedTuple):
    """As in ir_measures."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    """As in ir_measures."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Prediction(NamedTuple):
    """As in Surprise: the true rating comes before the estimate."""

    uid: int
    iid: int
    r_ui: float
    est: float
    details: dict[str, object]


def run() -> Iterator[ScoredDoc]:
    return (ScoredDoc(str(q), str(d), s) for q, docs in LISTS.items() for d, s in docs.items())


def qrels() -> Iterator[Qrel]:
    return (Qrel(str(q), str(d), r) for q, docs in TRUTH.items() for d, r in docs.items())


def test_named_tuples_and_generators_of_ir_measures_are_read() -> None:
    assert mrr(list(run()), list(qrels())) == mrr(run(), qrels()) == MRR


def test_qrels_and_a_run_of_ir_measures_in_its_own_order_are_refused() -> None:
    for predictions, truth in ((qrels(), run()), (list(qrels()), list(run()))):
        with pytest.raises(BadArgument, match="predictions are given as a list of Qrel"):
            rt.evaluate(predictions, truth, "mrr")
    with pytest.raises(BadArgument, match="swap the two"):
        rt.compare(list(qrels()), [list(run()), list(run())], "mrr")
    compared = rt.compare([list(run()), list(run())], list(qrels()), "mrr")
    assert {*compared.values["mrr"].values()} == {MRR}


def test_generators_can_be_explained_and_compared() -> None:
    explained = rt.explain(run(), qrels(), "mrr", "default", "recbole")
    assert explained.first.value == MRR
    compared = rt.compare({"one": run(), "same": run()}, truth=qrels(), metrics="mrr")
    assert compared.values["mrr"] == {"one": MRR, "same": MRR}


def test_predictions_of_surprise_are_ranked_by_their_estimates() -> None:
    made = [Prediction(1, 10, 3.0, 4.5, {}), Prediction(1, 11, 5.0, 2.5, {})]
    evaluation = rt.evaluate(made, {1: [11]}, "mrr")
    assert evaluation["mrr"] == 1 / 2
    words = "list of Prediction (user = 'uid', item = 'iid', score = 'est')"
    assert evaluation.ledger.notes["predictions"] == words
    squares = ((3.0 - 4.5) ** 2 + (5.0 - 2.5) ** 2) / 2
    assert rt.evaluate(made, made, "rmse")["rmse"] == pytest.approx(squares**0.5, rel=1e-15)


def test_named_tuples_under_other_names_are_read_by_position() -> None:
    class Row(NamedTuple):
        who: int
        what: int
        points: float

    assert mrr([Row(1, 10, 0.1), Row(1, 11, 0.2)], {1: [10]}) == 1 / 2


# pairs, series and columns of lists


def test_pairs_of_item_and_score_are_scored_lists() -> None:
    top_n = defaultdict(list, {1: [(2, 0.9), (3, 0.5)], 2: [(3, 0.1), (2, 0.7)]})
    assert mrr(top_n, {1: [3], 2: [3]}) == 1 / 2
    assert mrr({1: [[2, 0.9], [3, 0.5]]}, {1: [(3, 4.0)]}) == 1 / 2


def test_pairs_of_whole_numbers_could_be_ids() -> None:
    with pytest.raises(BadTable, match="pairs of whole numbers") as caught:
        rt.evaluate({1: [(2, 9), (3, 5)]}, {1: [3]}, "mrr")
    assert "{user: dict(pairs)}" in str(caught.value)


def test_the_index_of_a_series_of_lists_is_its_users() -> None:
    lists = pd.DataFrame({"user": [1, 1, 2], "item": [12, 10, 11]}).groupby("user")["item"]
    assert mrr(lists.apply(list), pd.Series([{10}, {11}], index=[1, 2])) == MRR
    with pytest.raises(BadTable, match="the index has 1 more than once"):
        mrr(pd.Series([[12], [10]], index=[1, 1]), TRUTH)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_column_may_hold_lists(kind: Any) -> None:
    assert mrr(kind({"user": [1, 2], "items": [[12, 10], [11]]}), TRUTH) == MRR


@pytest.mark.parametrize("text", ["[12, 10]", "['a', 'b']", "[12 10]", "[12]"])
def test_lists_written_as_text_must_be_parsed(text: str) -> None:
    for lists in (pd.DataFrame({"user": [1], "items": [text]}), {1: text}):
        with pytest.raises(BadTable) as caught:
            mrr(lists, TRUTH)
        assert "json.loads" in str(caught.value) and "ast.literal_eval" in str(caught.value)


def test_ids_in_brackets_are_ids() -> None:
    assert mrr(pd.DataFrame({"user": [1], "item": ["[tea]"]}), {1: ["[tea]"]}) == 1


# engines with a connection


def test_tables_of_one_connection_are_read_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_module, "_ENGINES", ("test_objects_of_peers",))
    threads = set()

    class Relation(dict[str, Any]):
        """A table that notes in which thread its columns are taken."""

        def __getitem__(self, name: str) -> Any:
            threads.add(threading.get_ident())
            return super().__getitem__(name)

    lists = Relation(user=[1, 1, 2], item=[12, 10, 11])
    assert mrr(lists, Relation(user=[1, 2], item=[10, 11])) == MRR
    assert threads == {threading.get_ident()}


def test_relations_of_one_duckdb_connection_are_read() -> None:
    duckdb = pytest.importorskip("duckdb", reason="missing: pip install duckdb")
    connection = duckdb.connect()
    lists = connection.sql("from (values (1, 12, 0.9), (1, 10, 0.5)) t(userId, itemId, score)")
    truth = connection.sql("from (values (1, 10)) t(userId, itemId)")
    assert mrr(lists, truth) == mrr(rt.Lists(lists), rt.Interactions(truth)) == 1 / 2


# LensKit and RecTools


class ItemListCollection:
    """As in LensKit: `to_arrow` has one row per list, also for empty lists."""

    def to_arrow(self) -> Any:
        lists = [[{"item_id": i, "score": s} for i, s in items.items()] for items in LISTS.values()]
        return pl.DataFrame({"user_id": [*LISTS, 3], "items": [*lists, []]}).to_arrow()


class LensKitDataset:
    """As in LensKit: numbers inside, and the own ids if they are asked for."""

    def interaction_table(self, *, format: str, original_ids: bool = False) -> pd.DataFrame:  # noqa: A002
        assert (format, original_ids) == ("pandas", True)
        return frame_of_truth()


class Interactions:
    """As in RecTools: a frame in an attribute."""

    def __init__(self) -> None:
        self.df = frame_of_truth()


class RecToolsDataset:
    """As in RecTools: numbers inside, and a method that returns the own ids."""

    def get_raw_interactions(self) -> pd.DataFrame:
        return frame_of_truth()


def frame_of_truth() -> pd.DataFrame:
    rows = [(user, item, grade) for user, items in TRUTH.items() for item, grade in items.items()]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "weight"])


@pytest.mark.parametrize("truth", [LensKitDataset(), Interactions(), RecToolsDataset()])
def test_objects_of_lenskit_and_rectools_are_read(truth: Any) -> None:
    assert mrr(ItemListCollection(), truth) == MRR


def test_empty_lists_of_a_collection_count_as_lists() -> None:
    truth, handed = {**TRUTH, 3: {10: 1}, 4: {10: 1}}, {"list_needed": "handed"}
    evaluation = rt.evaluate(ItemListCollection(), truth, "mrr", convention=handed)
    assert evaluation["mrr"] == (1 / 2 + 1 + 0) / 3
