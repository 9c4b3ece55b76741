"""The built-in models: compared with plain formulas, in any order of rows, blocks and users."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.data.log import Log, open_log
from rectitude.errors import BadArgument, BadTable, MissingExtra, NothingToEvaluate, UnknownName
from rectitude.models import MODELS, factors, model_of, predict_split
from rectitude.splits.split import Split

USERS, ITEMS = 40, 30


def make_log(seed: int = 0, name: str = "{}") -> pl.DataFrame:
    """Interactions with tastes: each half of the users likes one half of the items."""
    random = np.random.default_rng(seed)
    rows = []
    for user in range(USERS):
        half = np.arange(ITEMS) % 2 == user % 2
        chance = np.where(half, 4.0, 1.0) / (1 + np.arange(ITEMS))
        chosen = random.choice(ITEMS, 8, replace=False, p=chance / chance.sum())
        pairs = [(name.format(user), name.format(int(item))) for item in chosen]
        rows += [(*pair, int(random.integers(1000)), 3) for pair in pairs]
    schema = ["user", "item", "timestamp", "grade"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame if name != "{}" else frame.cast({"user": pl.Int64, "item": pl.Int64})


def vectors(seed: int = 1) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(ITEMS, 5))


PARAMETERS: dict[str, dict[str, Any]] = {
    "embeddings": {"items": vectors()},
    "ials": {"factors": 8, "iterations": 3},
    "bpr": {"factors": 8, "iterations": 5},
    "ease": {"regularisation": 10.0},
}
ALL = sorted(MODELS)


def make_model(name: str, **more: Any) -> Any:
    return model_of(name, **PARAMETERS.get(name, {}), **more)


def dense(frame: pl.DataFrame) -> np.ndarray[Any, Any]:
    matrix = np.zeros((USERS, ITEMS))
    matrix[frame["user"].to_numpy(), frame["item"].to_numpy()] = 1.0
    return matrix


def items_of(table: pl.DataFrame, user: object) -> list[Any]:
    return table.filter(pl.col("user") == user)["item"].to_list()


def expected(scores: np.ndarray[Any, Any], seen: np.ndarray[Any, Any], k: int) -> list[list[int]]:
    """The best unseen items of each row with a score above -inf; ties in order of number."""
    scores = np.where(seen > 0, -np.inf, scores)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    pairs = zip(order, scores, strict=True)
    return [[int(i) for i in top if row[i] > -np.inf] for top, row in pairs]


@pytest.mark.parametrize("name", ALL)
def test_every_model_gives_lists_that_evaluate_takes(name: str) -> None:
    split = rt.split(make_log(), "leave_last")
    assert isinstance(split, Split)
    predicted = predict_split(make_model(name).fit(split.train), split, 10)
    assert predicted.table.columns == ["user", "item", "score", "rank"]
    assert predicted.table["item"].dtype == pl.Int64
    assert 0 <= rt.evaluate(predicted.table, split.truth)["ndcg@10"] <= 1
    assert predicted.ledger["lists_empty"] == 0


@pytest.mark.parametrize("name", ALL)
def test_blocks_and_order_of_rows_and_users_change_no_bit(name: str) -> None:
    frame, users = make_log(), pl.Series(range(USERS))
    whole = make_model(name).fit(frame).recommend(users, 7)
    model = make_model(name).fit(frame.sample(fraction=1.0, shuffle=True, seed=5))
    model.block_cells = 1
    blocks = model.recommend(users, 7)
    assert blocks.equals(whole)
    alone = [model.recommend([user], 7) for user in range(USERS)]
    assert pl.concat(alone).equals(whole)
    backwards = model.recommend(users.reverse(), 7)
    assert backwards.sort("user", "rank").equals(whole)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"embeddings", "random", "ials", "bpr"}))
def test_ids_of_text_give_the_same_lists_as_numbers_that_sort_alike(name: str) -> None:
    numbers = make_model(name).fit(make_log()).recommend(range(USERS), 5)
    wide = pl.col("user", "item").cast(pl.String).str.zfill(4)
    texts = make_model(name).fit(make_log().with_columns(wide)).recommend(["0003"], 5)
    assert items_of(texts, "0003") == [f"{item:04}" for item in items_of(numbers, 3)]


def test_categories_come_back_as_categories() -> None:
    frame = make_log(name="x{}").with_columns(pl.col("user", "item").cast(pl.Categorical))
    table = make_model("item-knn").fit(frame).recommend(frame["user"].unique(), 3)
    assert table["item"].dtype == pl.Categorical
    split = rt.split(frame, "leave_last")
    assert isinstance(split, Split)
    lists = predict_split(make_model("ease").fit(split.train), split, 4).table
    assert lists["user"].dtype == pl.Categorical
    again = predict_split(model_of("predictions", source=lists).fit(split.train), split, 4)
    assert again.table.equals(lists)


def test_no_users_get_an_empty_table() -> None:
    table = make_model("item-knn").fit(make_log()).recommend([], 3)
    assert table.is_empty()
    assert table.columns == ["user", "item", "score", "rank"]


def test_ids_may_be_dates_or_fractions() -> None:
    frame = make_log().with_columns(pl.from_epoch("user", time_unit="d"), pl.col("item") + 0.5)
    for name in ("random", "item-knn", "popularity"):
        table = make_model(name).fit(frame).recommend(frame["user"].unique().sort(), 3)
        assert table.schema["user"] == pl.Date
        assert table.schema["item"] == pl.Float64
        assert table.height == 3 * USERS


@pytest.mark.parametrize("name", ALL)
def test_seen_items_are_recommended_only_on_request(name: str) -> None:
    frame = make_log()
    model = make_model(name).fit(frame)
    pairs = frame.select("user", "item")
    usual = model.recommend(range(USERS), 10)
    assert usual.join(pairs, on=["user", "item"]).is_empty()
    kept = model.recommend(range(USERS), 10, seen=pairs.clear())
    assert not kept.join(pairs, on=["user", "item"]).is_empty()
    table = pl.DataFrame({"user": [3], "item": [items_of(kept, 3)[0]]})
    assert items_of(kept, 3)[0] not in items_of(model.recommend([3], 10, seen=table), 3)


@pytest.mark.parametrize("name", ALL)
def test_nothing_but_candidates_is_recommended(name: str) -> None:
    model = make_model(name).fit(make_log())
    shared = model.recommend(range(USERS), 30, candidates=[1, 4, 7, 99])
    assert set(shared["item"]) <= {1, 4, 7}
    assert model.ledger["candidates_not_known"] == 1
    pairs = pl.DataFrame({"user": [0, 0, 0, 1], "item": [2, 5, 8, 3]})
    restricted = model.recommend([0, 1, 2], 30, candidates=pairs, seen=pairs.clear())
    assert set(items_of(restricted, 0)) <= {2, 5, 8}
    assert set(items_of(restricted, 1)) <= {3}
    assert items_of(restricted, 2) == []
    assert model.ledger["users_without_candidates"] == 1


@pytest.mark.parametrize("name", ALL)
def test_candidates_are_in_the_order_of_the_whole_list(name: str) -> None:
    model = make_model(name).fit(make_log())
    whole = items_of(model.recommend([4], ITEMS), 4)
    pairs = pl.DataFrame({"user": [4] * len(whole), "item": whole})
    assert items_of(model.recommend([4], ITEMS, candidates=pairs), 4) == whole
    assert items_of(model.recommend([4], ITEMS, candidates=whole[::2]), 4) == whole[::2]


@pytest.mark.parametrize("name", ALL)
def test_update_learns_as_if_all_rows_had_been_there(name: str) -> None:
    frame = make_log().sort("timestamp")
    cut = frame["timestamp"][frame.height // 2]
    early, late = (frame.filter((pl.col("timestamp") < cut) == side) for side in (True, False))
    updated = make_model(name).fit(early).update(late).recommend(range(USERS), 5)
    assert updated.equals(make_model(name).fit(frame).recommend(range(USERS), 5))


LARGER = """
import hashlib, sys
import numpy as np, polars as pl
from rectitude.models import model_of

random = np.random.default_rng(0)
user, item = random.integers(0, 400, 20_000), random.integers(0, 500, 20_000)
frame = pl.DataFrame({"user": user, "item": item})
history = frame.head(3_000).with_columns(pl.col("user") + 1_000)
users = pl.concat([frame["user"], history["user"]]).unique().sort()
for name, parameters in (("ease", {}), ("ials", {"iterations": 2}), ("user-knn", {})):
    table = model_of(name, **parameters).fit(frame).recommend(users, 10, history=history)
    print(hashlib.sha256(table["score"].to_numpy().tobytes()).hexdigest())
"""


def test_the_number_of_threads_changes_no_bit() -> None:
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    outputs = set()
    for threads in ("1", "2", "4"):
        limits = {"OPENBLAS_NUM_THREADS": threads, "RECTITUDE_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", LARGER], env={**os.environ, **limits}, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == 3


@pytest.mark.parametrize("name", ["ease", "ials", "embeddings", "random"])
def test_compiled_code_gives_the_same_lists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    model = make_model(name).fit(make_log())
    for k in (5, ITEMS - 3, 2 * ITEMS):
        both = []
        for kind in ("numpy", "numba"):
            monkeypatch.setenv("RECTITUDE_KERNELS", kind)
            shared = model.recommend(range(USERS), k, candidates=[*range(0, ITEMS, 2)])
            both.append(pl.concat([model.recommend(range(USERS), k), shared]))
        assert both[0].equals(both[1])


def test_popularity_counts_users_rows_or_grades() -> None:
    rows = {"user": [1, 1, 2, 3], "item": [10, 10, 11, 11], "grade": [5.0, 4.0, 1.0, 1.0]}
    frame = pl.DataFrame(rows)
    tops = {}
    for weights in ("binary", "count", "grade"):
        model = model_of("popularity", weights=weights).fit(frame)
        tops[weights] = model.recommend([9], 2)["score"].to_list()
    assert tops == {"binary": [2.0, 1.0], "count": [2.0, 2.0], "grade": [5.0, 2.0]}


def test_recent_popularity_uses_a_window_or_decaying_rows() -> None:
    frame = pl.DataFrame(
        {"user": range(5), "item": [1, 1, 1, 2, 2], "timestamp": [0, 1, 2, 100, 100]}
    )
    window = model_of("recent-popularity", window=10).fit(frame).recommend([9], 2)
    assert window.select("item", "score").rows() == [(2, 2.0), (1, 0.0)]
    fading = model_of("recent-popularity", half_life=50).fit(frame).recommend([9], 2)
    expected = sum(2.0 ** -((100 - t) / 50) for t in (0, 1, 2))
    assert fading["item"].to_list() == [2, 1]
    assert fading["score"].to_list() == pytest.approx([2.0, expected])
    days = frame.with_columns(pl.from_epoch("timestamp", time_unit="d").cast(pl.Datetime("us")))
    dated = model_of("recent-popularity", half_life="50D").fit(days).recommend([9], 2)
    assert dated["score"].to_list() == pytest.approx([2.0, expected])


def test_item_neighbours_are_those_of_the_formula() -> None:
    frame = make_log()
    x = dense(frame)
    lengths = np.sqrt((x**2).sum(axis=0))
    near = (x.T @ x) / (lengths[:, None] * lengths[None, :] + 3.0)
    np.fill_diagonal(near, 0.0)
    for row in near:
        row[np.argsort(-row, kind="stable")[6:]] = 0.0
    scores = x @ near
    model = model_of("item-knn", neighbours=6, shrinkage=3.0, rest="left_out").fit(frame)
    table = model.recommend(range(USERS), 5)
    wanted = expected(np.where(scores > 0, scores, -np.inf), x, 5)
    scores_found = table["score"].to_numpy()
    ideal = [scores[u, i] for u, items in enumerate(wanted) for i in items]
    np.testing.assert_allclose(scores_found, ideal, rtol=1e-12)


def test_user_neighbours_are_those_of_the_formula() -> None:
    frame = make_log()
    x = dense(frame)
    unit = x / np.sqrt((x**2).sum(axis=1, keepdims=True))
    near = unit @ unit.T
    np.fill_diagonal(near, 0.0)
    table = model_of("user-knn", neighbours=USERS).fit(frame).recommend(range(USERS), 5)
    scores = near @ x
    wanted = expected(scores, x, 5)
    ideal = [scores[u, i] for u, items in enumerate(wanted) for i in items]
    np.testing.assert_allclose(table["score"].to_numpy(), ideal, rtol=1e-12)


def test_ease_is_the_closed_form() -> None:
    frame = make_log()
    x = dense(frame)
    inverse = np.linalg.inv(x.T @ x + 10.0 * np.eye(ITEMS))
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    scores = x @ weights
    table = model_of("ease", regularisation=10.0).fit(frame).recommend(range(USERS), 5)
    wanted = expected(scores, x, 5)
    assert [items_of(table, user) for user in range(USERS)] == wanted


def test_ease_refuses_a_catalogue_that_does_not_fit_memory() -> None:
    with pytest.raises(BadArgument, match=r"needs 0\.0 GiB for 30 items, but may use 0\.0"):
        model_of("ease", memory=0.00000001).fit(make_log())


def test_markov_counts_what_directly_followed_the_last_item() -> None:
    frame = pl.DataFrame(
        {
            "user": ["a", "a", "a", "b", "b", "c", "c", "d"],
            "item": [1, 2, 3, 1, 2, 1, 4, 1],
            "timestamp": [1, 2, 3, 1, 2, 1, 2, 1],
        }
    )
    model = model_of("markov", rest="left_out").fit(frame)
    table = model.recommend(["d", "a", "new"], 3)
    rows = table.filter(pl.col("user") == "d").select("item", "score").rows()
    assert rows == [(2, pytest.approx(2 / 3)), (4, pytest.approx(1 / 3))]
    assert items_of(table, "a") == []
    assert items_of(table, "new") == [1, 2, 3]
    assert "by timestamp" in str(model.ledger)
    untimed = model_of("markov").fit(frame.drop("timestamp"))
    assert "no timestamps" in str(untimed.ledger)


def test_random_depends_only_on_seed_and_ids() -> None:
    frame = make_log()
    some = frame.filter(pl.col("user") != 0, pl.col("item") != 3)
    nothing = frame.select("user", "item").clear()
    whole = model_of("random").fit(frame).recommend([5, 6], ITEMS, seen=nothing)
    part = model_of("random").fit(some).recommend([6], ITEMS, seen=nothing)
    kept = whole.filter(pl.col("user") == 6, pl.col("item") != 3)
    assert kept["score"].equals(part["score"])
    other = model_of("random", seed=1).fit(frame).recommend([5, 6], ITEMS, seen=nothing)
    assert not other["score"].equals(whole["score"])


def test_short_lists_are_filled_with_popular_items_and_counted() -> None:
    frame = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3, 4], "item": [1, 2, 3, 4, 3, 5, 1]})
    model = model_of("item-knn", shrinkage=0.0).fit(frame)
    table = model.recommend([4], 4)
    assert items_of(table, 4) == [2, 3, 4, 5]
    assert (table["score"].diff().drop_nulls() < 0).all()
    assert model.ledger["lists_filled"] == 1
    bare = model_of("item-knn", rest="left_out").fit(frame)
    assert items_of(bare.recommend([4], 4), 4) == [2]


@pytest.mark.parametrize("name", sorted(set(ALL) - {"random", "popularity", "recent-popularity"}))
def test_unknown_users_get_popular_items_or_nothing_and_are_counted(name: str) -> None:
    frame = make_log()
    popular = model_of("popularity").fit(frame).recommend([999], 5)
    model = make_model(name).fit(frame)
    assert items_of(model.recommend([1, 999], 5), 999) == popular["item"].to_list()
    assert model.ledger["users_not_known"] == 1
    empty = make_model(name, unknown_users="empty").fit(frame)
    assert items_of(empty.recommend([1, 999], 5), 999) == []
    assert "no list" in str(empty.ledger)


@pytest.mark.parametrize("name", ["ease", "embeddings", "item-knn", "markov", "popularity"])
def test_a_history_counts_like_training_rows(name: str) -> None:
    frame = make_log()
    rows = frame.filter(pl.col("user") == 7)
    model = make_model(name).fit(frame)
    shown = model.recommend([500], 5, history=rows.with_columns(user=pl.lit(500, pl.Int64)))
    assert items_of(shown, 500) == items_of(model.recommend([7], 5), 7)
    assert not set(items_of(shown, 500)) & set(rows["item"])


def test_a_history_is_solved_like_a_training_user() -> None:
    frame = make_log()
    model: Any = model_of("ials", factors=8, iterations=30, regularisation=1.0).fit(frame)
    shown = frame.with_columns(pl.col("user") + 500)
    again = model.recommend(range(500, 500 + USERS), 5, history=shown)
    known = model.recommend(range(USERS), 5)
    same = again.with_columns(pl.col("user") - 500).join(known, on=["user", "item"])
    assert same.height > 0.9 * known.height


def test_a_model_says_whether_it_scores_a_history() -> None:
    assert {name for name in ALL if MODELS[name].fold_in == "unknown"} == {"bpr"}


def test_folded_in_users_of_a_split_are_scored_and_counted() -> None:
    split = rt.split(make_log(), "strong_generalisation", ratio=0.3, seed=1)
    assert isinstance(split, Split)
    popular = predict_split(model_of("popularity").fit(split.train), split, 5)
    for name in ("item-knn", "user-knn", "ease", "markov", "ials"):
        predicted = predict_split(make_model(name).fit(split.train), split, 5)
        assert predicted.ledger["users_folded_in"] == len(predicted.users)
        assert predicted.ledger["users_not_in_train"] == len(predicted.users)
        assert not predicted.table["item"].equals(popular.table["item"])
        assert predicted.ledger["items_seen"] == 0


def test_progress_counts_all_users() -> None:
    calls: list[tuple[int, int]] = []
    model = model_of("item-knn").fit(make_log())
    model.block_cells = ITEMS * 10
    model.recommend([*range(USERS), 999], 3, progress=lambda done, all_: calls.append((done, all_)))
    assert calls == [(10, 41), (20, 41), (30, 41), (40, 41), (41, 41)]


def test_wrong_use_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'item-knn'"):
        model_of("item_knn")
    with pytest.raises(UnknownName, match="did you mean 'neighbours'"):
        model_of("item-knn", neighbors=5)
    with pytest.raises(BadArgument, match="weights of model 'ease' is 'counts'"):
        model_of("ease", weights="counts")
    with pytest.raises(BadArgument, match="has no items"):
        model_of("embeddings")
    with pytest.raises(BadArgument, match="neighbours is 0"):
        model_of("item-knn", neighbours=0).fit(make_log())
    with pytest.raises(NothingToEvaluate, match="is not fitted"):
        model_of("ease").recommend([1], 5)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="k is 0"):
        model_of("popularity").fit(open_log(make_log())).recommend([1], 0)  # type: ignore[attr-defined]
    with pytest.raises(BadTable, match="recent-popularity needs one"):
        model_of("recent-popularity").fit(open_log(make_log().drop("timestamp")))


def test_a_missing_package_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str) -> None:
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr(factors, "import_module", gone)
    with pytest.raises(MissingExtra, match=r"pip install 'rectitude\[baselines\]'"):
        model_of("ials").fit(open_log(make_log()))


def test_linear_and_neighbour_models_beat_popularity_on_movies(real_data: Path) -> None:
    log = rt.Interactions(real_data / "ml-100k" / "ml-100k.inter")
    split = rt.split(log, "random_ratio", ratio=0.2, level="user", seed=3)
    assert isinstance(split, Split)
    values = {}
    for name in ("popularity", "item-knn", "user-knn", "ease"):
        model = model_of(name)
        model.fit(split.train)
        table = predict_split(model, split, 10).table
        values[name] = rt.evaluate(table, split.truth, "ndcg@10")["ndcg@10"]
    assert min(values[name] for name in values if name != "popularity") > 1.4 * values["popularity"]
    assert max(values, key=lambda name: values[name]) == "ease"


def test_a_log_is_not_changed() -> None:
    log: Log = open_log(make_log())
    before = log.frame.clone()
    model_of("markov").fit(log)
    assert log.frame.equals(before)


def test_the_page_names_every_model_and_parameter() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text("utf-8")
    names = {f"`{name}`" for name in MODELS}
    names |= {f"`{word}`" for entry in MODELS.values() for word in entry.parameters}
    assert sorted(name for name in names if name not in page) == []
    assert all(entry.about.endswith(".") for entry in MODELS.values())
