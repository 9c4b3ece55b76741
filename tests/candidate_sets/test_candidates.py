"""Candidate sets: what they contain, that they can be saved, and which settings are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given as example_of
from hypothesis import settings
from hypothesis import strategies as st

import rectitude as rt
from rectitude.candidate_sets.protocols import CANDIDATES, PROTOCOLS
from rectitude.candidate_sets.protocols import candidates as make_candidates
from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.candidate_sets.sets import full, take_given, train_items
from rectitude.candidate_sets.value import Candidates
from rectitude.data.log import open_log
from rectitude.errors import BadArgument, BadIds, NothingToEvaluate, UnknownName, UnreadableFile
from rectitude.splits.split import Split


def make_split(users: int = 30, items: int = 60, future: int = 5, seed: int = 0) -> Split:
    """A split by time with a few items that first occur in the truth."""
    random = np.random.default_rng(seed)
    pairs = [(u, int(i)) for u in range(users) for i in random.choice(items, 12, replace=False)]
    rows = [(f"u{u:02}", f"i{i:03}", t) for t, (u, i) in enumerate(pairs)]
    late = {f"i{i:03}" for i in range(items - future, items)}
    test_rows = [n for n, row in enumerate(rows) if row[1] in late or n % 4 == 0]
    frame = pl.DataFrame(rows, schema=["user", "item", "timestamp"], orient="row")
    held_out = pl.Series(range(frame.height)).is_in(test_rows)
    return Split(open_log(frame.filter(~held_out)), open_log(frame.filter(held_out)))


def shuffled(split: Split, seed: int) -> Split:
    parts = [
        part.frame.drop("row").sample(fraction=1.0, shuffle=True, seed=seed)
        for part in (split.train, split.truth)
    ]
    return Split(*(open_log(part) for part in parts))


def negatives(candidates: Candidates, split: Split) -> pl.DataFrame:
    return candidates.frame.join(split.truth.frame, on=["user", "item"], how="anti")


@pytest.fixture
def split() -> Split:
    return make_split()


def test_negatives_are_distinct_unseen_and_never_positive(split: Split) -> None:
    drawn = sample_negatives(split, 20, seed=3)
    rows = negatives(drawn, split)
    assert set(rows["user"].value_counts()["count"]) == {20}
    assert not rows.is_duplicated().any()
    assert rows.join(split.train.frame, on=["user", "item"]).is_empty()
    assert drawn.frame.height == rows.height + split.truth.frame.height


def test_future_items_are_not_drawn_but_counted_and_positives_among_them_stay(
    split: Split,
) -> None:
    known = set(split.train.frame["item"])
    future = set(split.truth.frame["item"]) - known
    assert future
    drawn = sample_negatives(split, 20)
    assert set(negatives(drawn, split)["item"]) <= known
    assert drawn.ledger["future_items"] == len(future)
    assert set(split.truth.frame["item"]) <= set(drawn.frame["item"])
    all_items = sample_negatives(split, 20, known="ever")
    assert set(negatives(all_items, split)["item"]) & future
    assert "future_items" in [entry.name for entry in all_items.ledger.warnings()]


def test_items_that_first_occur_after_the_users_truth_began_are_not_drawn_by_time(
    split: Split,
) -> None:
    drawn = sample_negatives(split, 5, known="by_time", short="fewer")
    train = split.train.frame.group_by("item").agg(first=pl.col("timestamp").min())
    begun = split.truth.frame.group_by("user").agg(begun=pl.col("timestamp").min())
    rows = negatives(drawn, split).join(train, on="item", how="left").join(begun, on="user")
    assert rows.height
    assert (rows["first"] < rows["begun"]).all()
    assert drawn.ledger["short"] > 0


def test_by_time_needs_timestamps(split: Split) -> None:
    bare = Split(*(open_log(p.frame.select("user", "item")) for p in (split.train, split.truth)))
    with pytest.raises(rt.errors.BadTable, match="timestamp"):
        sample_negatives(bare, 5, known="by_time")


def test_each_positive_has_its_own_negatives_where_they_are_linked(split: Split) -> None:
    drawn = sample_negatives(split, 7, per="positive")
    assert drawn.linked
    per = drawn.frame.filter(pl.col("item") != pl.col("positive"))
    sizes = per.group_by("user", "positive").len()
    assert sizes.height == split.truth.frame.height
    assert set(sizes["len"]) == {7}
    assert not per.is_duplicated().any()
    assert per.join(split.truth.frame, on=["user", "item"]).is_empty()


def test_popular_items_are_drawn_in_proportion_to_their_power() -> None:
    counts = {"a": 81, "b": 27, "c": 9, "d": 3}
    train = pl.DataFrame(
        [(f"x{n}", item) for item, count in counts.items() for n in range(count)],
        schema=["user", "item"],
        orient="row",
    )
    truth = pl.DataFrame({"user": [f"y{n}" for n in range(4000)], "item": "e"})
    split = Split(open_log(train), open_log(truth))
    for exponent in (0.0, 0.5, 1.0):
        drawn = sample_negatives(
            split, 1, weight="popularity", exponent=exponent, positives="left_out"
        )
        counts_drawn = dict(drawn.frame["item"].value_counts().iter_rows())
        weights = {item: count**exponent for item, count in counts.items()}
        for item, weight in weights.items():
            share = weight / sum(weights.values())
            spread = 5 * np.sqrt(share * (1 - share) / 4000)
            assert abs(counts_drawn.get(item, 0) / 4000 - share) < spread


def test_every_set_is_equally_likely_without_replacement() -> None:
    train = pl.DataFrame({"user": "x", "item": list("abcd")})
    truth = pl.DataFrame({"user": [f"y{n}" for n in range(6000)], "item": "e"})
    split = Split(open_log(train), open_log(truth))
    drawn = sample_negatives(split, 3, positives="left_out", seed=5)
    left = drawn.frame.group_by("user").agg(pl.col("item").sort().str.join(""))
    sets = left["item"].value_counts()
    assert sets.height == 4
    assert sets["count"].min() > 1500 - 5 * np.sqrt(6000 * 3 / 16)


def test_groups_with_little_left_are_filled_from_all_that_is_left(split: Split) -> None:
    left = len(set(split.train.frame["item"])) - 12
    drawn = sample_negatives(split, left, short="fewer")
    rows = negatives(drawn, split)
    sizes = rows["user"].value_counts()["count"]
    assert sizes.max() == left
    assert not rows.is_duplicated().any()


def test_with_replacement_there_are_repeats_and_every_user_has_their_count(split: Split) -> None:
    drawn = sample_negatives(split, 200, replacement="with")
    rows = negatives(drawn, split)
    assert set(rows["user"].value_counts()["count"]) == {200}
    assert rows.is_duplicated().any()
    assert rows.join(split.train.frame, on=["user", "item"]).is_empty()


def test_heavy_weights_do_not_keep_a_user_from_their_negatives() -> None:
    train = pl.DataFrame({"user": ["x"] * 1000 + ["y"], "item": ["a"] * 1000 + ["b"]})
    truth = pl.DataFrame({"user": ["x"], "item": ["c"]})
    split = Split(open_log(train), open_log(truth))
    for replacement in ("with", "without"):
        drawn = sample_negatives(
            split, 1, weight="popularity", exponent=3.0, replacement=replacement,
            positives="left_out",
        )  # fmt: skip
        assert drawn.frame["item"].to_list() == ["b"]


@pytest.mark.parametrize(
    ("kind", "choices"),
    [
        ("full", {}),
        ("train_items", {}),
        ("sampled", {"count": 15}),
        ("sampled", {"count": 5, "per": "positive", "weight": "popularity"}),
        ("sampled", {"count": 30, "replacement": "with"}),
        ("sampled", {"count": 10, "known": "by_time", "short": "fewer"}),
        ("daisyrec", {"count": 4}),
        ("elliot", {"count": 9}),
        ("recbole", {"count": 9}),
    ],
)
@settings(max_examples=5, deadline=None)
@example_of(seed=st.integers(0, 1000))
def test_row_order_does_not_matter(kind: str, choices: dict[str, object], seed: int) -> None:
    split = make_split(seed=seed % 7)
    first, second = (make_candidates(s, kind, **choices) for s in (split, shuffled(split, seed)))
    assert first.hash == second.hash
    assert first.ledger.as_dict()["counts"].keys() == second.ledger.as_dict()["counts"].keys()


def test_another_seed_draws_other_items(split: Split) -> None:
    assert sample_negatives(split, 10, seed=1).hash != sample_negatives(split, 10, seed=2).hash


def test_saved_candidates_are_the_same_again(split: Split, tmp_path: Path) -> None:
    examples = [
        sample_negatives(split, 10, per="positive", seed=4),
        full(split),
        take_given(split, {"u01": ["i001"]}),
    ]
    for candidates in examples:
        candidates.save(tmp_path / "c.parquet")
        loaded = Candidates.load(tmp_path / "c.parquet")
        assert loaded.hash == candidates.hash
        assert loaded.frame.equals(candidates.frame)
        assert (loaded.settings, loaded.seed) == (dict(candidates.settings), candidates.seed)
        assert loaded.ledger.as_dict() == candidates.ledger.as_dict()


def test_changed_and_foreign_files_are_refused(split: Split, tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    candidates = sample_negatives(split, 10)
    candidates.save(path)
    about = pl.read_parquet_metadata(path)["rectitude.candidates"]
    candidates.frame.head(20).write_parquet(path, metadata={"rectitude.candidates": about})
    with pytest.raises(UnreadableFile, match="was changed"):
        Candidates.load(path)
    candidates.frame.write_parquet(path)
    with pytest.raises(UnreadableFile, match="candidates"):
        Candidates.load(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UnreadableFile, match="cannot be read"):
        Candidates.load(path)


def scores_of(split: Split) -> tuple[rt.Scores, pl.DataFrame]:
    users = split.truth.frame["user"].unique().sort()
    items = pl.concat([split.train.frame["item"], split.truth.frame["item"]]).unique().sort()
    array = np.random.default_rng(1).normal(size=(len(users), len(items)))
    table = pl.DataFrame({"user": users}).join(pl.DataFrame({"item": items}), how="cross")
    return rt.Scores(array, users=users, items=items), table.with_columns(score=array.ravel())


def test_an_evaluation_of_scores_ranks_the_candidates_alone(split: Split) -> None:
    scores, table = scores_of(split)
    truth = split.truth.frame.select("user", "item")
    drawn = sample_negatives(split, 10)
    value = rt.evaluate(scores, truth, "recall@5", candidates=drawn)["recall@5"]
    alone = table.join(drawn.frame, on=["user", "item"], how="semi")
    assert value == rt.evaluate(alone, truth, "recall@5")["recall@5"]
    assert value > rt.evaluate(scores, truth, "recall@5")["recall@5"]


def test_shared_candidates_are_those_of_every_user(split: Split) -> None:
    scores, table = scores_of(split)
    truth = split.truth.frame.select("user", "item")
    known = train_items(split)
    value = rt.evaluate(scores, truth, "ndcg@10", candidates=known)["ndcg@10"]
    alone = table.filter(pl.col("item").is_in(split.train.frame["item"].implode()))
    assert value == rt.evaluate(alone, truth, "ndcg@10")["ndcg@10"]
    assert full(split).frame.height == known.frame.height + known.ledger["future_items"]


def test_ids_of_any_type_have_the_same_hash_as_long_as_they_are_the_same_ids() -> None:
    log = pl.DataFrame({"user": [1, 1, 2, 2], "item": ["a", "b", "a", "c"]})
    typed = log.with_columns(pl.col("user").cast(pl.Int32), pl.col("item").cast(pl.Categorical))
    splits = [Split(open_log(t.head(3)), open_log(t.tail(1))) for t in (log, typed)]
    small, wide = (sample_negatives(split, 1) for split in splits)
    assert small.hash == wide.hash
    other = Split(*(open_log(t.cast({"user": pl.String})) for t in (log.head(3), log.tail(1))))
    assert sample_negatives(other, 1).hash != small.hash


def test_given_sets_say_what_cannot_be_found(split: Split) -> None:
    truth = split.truth.frame.unique(["user", "item"])
    given = truth.filter(pl.col("user") != "u00").head(40).select("user", "item")
    candidates = take_given(split, pl.concat([given, given.head(3)]))
    assert candidates.ledger["repeated"] == 3
    assert candidates.ledger["positives_outside"] == truth.height - 40
    assert candidates.ledger["users_without"] == truth["user"].n_unique() - given["user"].n_unique()


def test_given_pairs_can_be_linked_to_positives(split: Split) -> None:
    drawn = sample_negatives(split, 3, per="positive")
    reread = take_given(split, drawn.frame.sample(fraction=1.0, shuffle=True, seed=0))
    assert reread.linked
    assert reread.hash == drawn.hash


def test_item_ids_alone_are_candidates_of_all_users(split: Split) -> None:
    candidates = take_given(split, ["i001", "i002"])
    assert candidates.frame["item"].to_list() == ["i001", "i002"]
    assert candidates.source.height == 2 * split.truth.frame["user"].n_unique()


def test_more_candidates_than_the_catalogue_has_are_refused(split: Split) -> None:
    with pytest.raises(BadArgument, match="only 55 items of the catalogue"):
        sample_negatives(split, 56)
    with pytest.raises(BadArgument, match=r"fewer than 50 items left to draw \(first: user 'u00'"):
        sample_negatives(split, 50)
    with pytest.raises(BadArgument, match="count is 0"):
        sample_negatives(split, 0)


def test_wrong_settings_are_named(split: Split) -> None:
    with pytest.raises(BadArgument, match=r"(?s)weight .* is 'popular'.*did you mean 'popularity'"):
        sample_negatives(split, 5, weight="popular")
    with pytest.raises(UnknownName, match="did you mean 'exponent'"):
        sample_negatives(split, 5, exponents=1.0)
    with pytest.raises(BadArgument, match="exponent"):
        sample_negatives(split, 5, exponent=float("nan"))
    with pytest.raises(UnknownName, match="did you mean 'sampled'"):
        make_candidates(split, "sample")
    with pytest.raises(UnknownName, match="kind 'full' of candidates has no parameter 'nonsense'"):
        make_candidates(split, "full", nonsense=1)
    assert set(CANDIDATES) >= {"full", "train_items", "given", "sampled", "daisyrec"}


def test_a_catalogue_of_other_ids_and_an_empty_truth_are_refused(split: Split) -> None:
    with pytest.raises(BadIds, match="Int64"):
        sample_negatives(split, 5, items=[1, 2, 3])
    empty = Split(split.train, split.truth.with_frame(split.truth.frame.clear()))
    with pytest.raises(NothingToEvaluate, match="no rows"):
        sample_negatives(empty, 5)


def test_a_larger_catalogue_is_drawn_from(split: Split) -> None:
    extra = [f"n{n:03}" for n in range(500)]
    drawn = sample_negatives(split, 50, items=[*split.train.frame["item"].unique(), *extra])
    assert set(drawn.frame["item"]) & set(extra)


def test_daisyrec_repeats_negatives_and_loses_positives_of_users_with_many(split: Split) -> None:
    drawn = make_candidates(split, "daisyrec", count=5)
    assert set(drawn.frame["user"].value_counts()["count"]) == {5}
    sizes = split.truth.frame.group_by("user").agg(n=pl.len(), items=pl.col("item"))
    crowded = sizes.filter(pl.col("n") >= 5)
    assert crowded.height == drawn.ledger["crowded"] > 0
    for user, _, items in crowded.iter_rows():
        assert set(drawn.frame.filter(user=user)["item"]) <= set(items)
    relaxed = sizes.filter(pl.col("n") < 5)
    for user, _, items in relaxed.iter_rows():
        assert set(items) <= set(drawn.frame.filter(user=user)["item"])
    assert drawn.ledger["positives_lost"] > 0
    assert make_candidates(split, "daisyrec", cand_num=200).ledger["repeated"] > 0
    assert negatives(drawn, split).join(split.train.frame, on=["user", "item"]).is_empty()


def test_daisyrec_needs_something_to_draw() -> None:
    train = pl.DataFrame({"user": ["x", "y"], "item": ["a", "b"]})
    truth = pl.DataFrame({"user": ["x"], "item": ["b"]})
    with pytest.raises(BadArgument, match="fewer than 1 items left to draw"):
        make_candidates(Split(open_log(train), open_log(truth)), "daisyrec", count=10)


def test_recbole_draws_for_each_positive_with_repeats(split: Split) -> None:
    drawn = make_candidates(split, "recbole", count=60, popular=1.0)
    assert drawn.linked
    assert drawn.settings["kind"] == "recbole"
    assert drawn.frame.is_duplicated().any()


def test_elliot_leaves_the_truth_out_and_serves_all_users(split: Split) -> None:
    drawn = make_candidates(split, "elliot", num_items=9)
    everything = pl.concat([split.train.frame, split.truth.frame])
    assert set(drawn.owners) == set(everything["user"])
    assert drawn.frame.join(everything, on=["user", "item"]).is_empty()
    assert set(drawn.frame["user"].value_counts()["count"]) == {9}


def test_frameworks_differ_from_our_sampler_in_settings_alone(split: Split) -> None:
    for name, stored in PROTOCOLS.items():
        drawn = make_candidates(split, name, count=8, seed=3)
        plain = sample_negatives(split, **{**stored["plan"], "count": 8}, seed=3)
        assert drawn.hash == plain.hash
        assert drawn.settings == {**plain.settings, "kind": name}
    with pytest.raises(UnknownName, match="'num_item'"):
        make_candidates(split, "elliot", num_item=9)


def test_candidates_can_be_counted_in_all_with_every_positive_kept(split: Split) -> None:
    drawn = sample_negatives(split, 5, counted="candidates")
    sizes = dict(split.truth.frame["user"].value_counts().iter_rows())
    counts = dict(drawn.frame["user"].value_counts().iter_rows())
    assert counts == {user: max(5, size) for user, size in sizes.items()}
    with pytest.raises(BadArgument, match="counted per user"):
        sample_negatives(split, 5, counted="candidates", per="positive")


def test_the_warning_says_how_far_the_sample_reaches(split: Split) -> None:
    assert (
        "the first 10 ranks correspond to about the first 55"
        in (sample_negatives(split, 10).ledger.notes["sampling"])
    )


def test_candidates_of_anything_but_a_split_are_refused(split: Split) -> None:
    assert rt.candidates(split, count=3, seed=1).settings["kind"] == "sampled"
    with pytest.raises(BadArgument, match=r"split is a list\.[\s\S]*one split at a time"):
        rt.candidates([split])  # type: ignore[arg-type]


def read_about(path: Path) -> dict[str, Any]:
    """What a file of candidates says about them."""
    about: dict[str, Any] = json.loads(pl.read_parquet_metadata(path)["rectitude.candidates"])
    return about


def rewrite_about(path: Path, about: object) -> None:
    """Replace what a file of candidates says about them, and keep its rows."""
    text = about if isinstance(about, str) else json.dumps(about)
    pl.read_parquet(path).write_parquet(path, metadata={"rectitude.candidates": text})


def test_words_about_candidates_cannot_be_changed(split: Split, tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    drawn = sample_negatives(split, 10, seed=1)
    drawn.save(path)
    about = read_about(path)
    for key, changed in {
        "settings": {**about["settings"], "kind": "full"},
        "seed": 2,
        "ledger": {**about["ledger"], "notes": {"sampling": "values are those of all items"}},
    }.items():
        rewrite_about(path, {**about, key: changed})
        with pytest.raises(UnreadableFile, match="not those that were saved with it"):
            Candidates.load(path)
    rewrite_about(path, {key: value for key, value in about.items() if key != "fingerprint"})
    with pytest.raises(UnreadableFile, match="not those that were saved with it"):
        Candidates.load(path)


def test_candidates_of_the_first_version_are_still_read(split: Split, tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    drawn = sample_negatives(split, 10, seed=1)
    drawn.save(path)
    kept = {key: value for key, value in read_about(path).items() if key != "fingerprint"}
    rewrite_about(path, {**kept, "version": 1})
    assert str(Candidates.load(path)) == str(drawn)
    rewrite_about(path, {**kept, "version": 3})
    with pytest.raises(UnreadableFile, match="install a newer version"):
        Candidates.load(path)


def test_damaged_candidates_are_refused(split: Split, tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    sample_negatives(split, 10, seed=1).save(path)
    about = read_about(path)
    for changed in ("{", "[" * 100_000, "[]", "null", *({**about, k: None} for k in about)):
        rewrite_about(path, changed)
        with pytest.raises(UnreadableFile):
            Candidates.load(path)
    rewrite_about(path, about)
    Candidates.load(path)
    pl.read_parquet(path).drop("item").write_parquet(
        path, metadata={"rectitude.candidates": json.dumps(about)}
    )
    with pytest.raises(UnreadableFile, match="has the columns user"):
        Candidates.load(path)
