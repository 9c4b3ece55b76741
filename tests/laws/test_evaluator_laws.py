"""Batches of any size, in any order, merged and saved in between: the bits of one evaluation."""

from __future__ import annotations

import random
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import Case, cases, conventions, names

import rectitude as rt
from dense_cases import TIES, DenseCase, dense_cases
from rectitude.errors import RectitudeError

Random = random.Random
LISTS = names((None, 2))
DENSE = [*LISTS, "auc", "gauc", "mean_rank", "median_rank", "lrap"]
CLASSES = ["accuracy@{1,3}", "mrr", "ndcg@2", "weighted_f1", "macro_f1@2", "micro_f1", "mcc",
           "balanced_accuracy", "median_rank", "harmonic_mean_rank", "mean_rank"]  # fmt: skip
LOSSES = ["cross_entropy", "geometric_mean_probability", "mean_probability"]
saving = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
Batch = tuple[Any, Any, dict[str, Any]]


def parts_of(users: list[Any], common: set[Any], random: Random) -> list[list[Any]]:
    """The users in several groups, each of which has someone with both a list and truth."""
    users = list(users)
    random.shuffle(users)
    groups: list[list[Any]] = [[]]
    for user in users:
        if set(groups[-1]) & common and random.random() < 0.5:
            groups.append([])
        groups[-1].append(user)
    if len(groups) > 1 and not set(groups[-1]) & common:
        rest = groups.pop()
        groups[-1] += rest
    return groups


def streamed(
    batches: list[Batch], evaluator: Any, random: Random, folder: Path | None
) -> rt.Evaluation:
    """Batches shared out among evaluators, some of which are saved and loaded, then added up."""
    crew = [evaluator() for _ in range(random.randint(1, 3))]
    for predictions, truth, more in batches:
        number = random.randrange(len(crew))
        crew[number].update(predictions, truth, **more)
        if folder is not None and random.random() < 0.5:
            crew[number].save(folder / "evaluator.json")
            crew[number] = rt.Evaluator.load(folder / "evaluator.json")
    random.shuffle(crew)
    return (sum(crew) if random.random() < 0.5 else reduce(add, crew)).compute()


def content(evaluation: rt.Evaluation) -> dict[str, Any]:
    """All that must not depend on batches."""
    results = {
        name: (result.value.hex(), result.state, result.ties, result.interval, result.counted)
        for name, result in evaluation.results.items()
    }
    prints = [evaluation.manifest["inputs"][s]["fingerprint"] for s in ("predictions", "truth")]
    counts = {entry.name: (entry.count, entry.of) for entry in evaluation.ledger}
    return {
        "results": results, "failures": {n: type(e) for n, e in evaluation.failures.items()},
        "prints": prints, "counts": counts, "lists": evaluation.manifest["lists"],
    }  # fmt: skip


@saving
@given(cases(), conventions, st.randoms(use_true_random=False), st.booleans())
def test_lists_in_batches(
    tmp_path: Path, case: Case, switches: dict[str, Any], random: Random, saved: bool
) -> None:
    whole = case.evaluate(LISTS, switches, intervals=True)
    assume(not whole.failures)
    common = {row[0] for row in case.truth} & (
        {row[0] for row in case.predictions} | set(case.handed)
    )
    batches: list[Batch] = []
    for users in parts_of(case.users(), common, random):
        part = case.of(set(users))
        table = pl.DataFrame(list(part.predictions), ["user", "item", "score"], orient="row")
        truth = pl.DataFrame(list(part.truth), ["user", "item", "grade"], orient="row")
        assume(part.predictions)
        batches.append((rt.Lists(table, users=list(part.handed) or None), truth, {}))
    found = streamed(
        batches, lambda: rt.Evaluator(LISTS, switches, intervals=True), random,
        tmp_path if saved else None,
    )  # fmt: skip
    assert content(found) == content(whole)


DENSE_SWITCHES = st.fixed_dictionaries(
    {"undefined": st.just("skip")},
    optional={
        "ties": st.sampled_from(TIES),
        "negative_grades": st.sampled_from(("nonrelevant", "unjudged")),
        "seen": st.sampled_from(("removed", "last", "kept")),
        "unknown_items": st.sampled_from(("keep", "drop")),
        "unknown_users": st.sampled_from(("keep", "drop")),
        "average": st.sampled_from(("macro", "micro")),
        "truth_needed": st.sampled_from(("relevant", "judged", "none")),
        "list_needed": st.sampled_from(("none", "items", "hit")),
    },
)


def rows_of(case: DenseCase, users: list[Any]) -> DenseCase:
    """The case of some users only."""
    rows = [row for row, user in enumerate(case.users) if user in users]
    number = {row: place for place, row in enumerate(rows)}

    def mine(pairs: Any) -> Any:
        return None if pairs is None else tuple((number[r], c) for r, c in pairs if r in number)

    return case.replace(
        scores=case.scores[rows], users=[case.users[row] for row in rows],
        truth=tuple(row for row in case.truth if row[0] in users),
        train=mine(case.train), candidates=mine(case.candidates),
    )  # fmt: skip


@saving
@given(dense_cases(), DENSE_SWITCHES, st.randoms(use_true_random=False), st.booleans())
def test_scores_in_batches(
    tmp_path: Path, case: DenseCase, switches: dict[str, Any], random: Random, saved: bool
) -> None:
    case = case.replace(candidates=None)
    known = {"items": case.items}  # else only what the training data of a batch names is known
    try:
        defined = list(case.evaluate(DENSE, switches, **known))
        assume(defined)
        whole = case.evaluate(defined, switches, intervals=True, **known)
    except RectitudeError:
        assume(False)
    strangers = {row[0] for row in case.truth} - set(case.users)
    common = {row[0] for row in case.truth} & set(case.users)
    if case.train is not None and switches.get("unknown_users") == "drop":
        common &= {case.users[row] for row, _ in case.train}
    batches: list[Batch] = []
    for users in parts_of([*case.users, *strangers], common, random):
        part = rows_of(case, users)
        batches.append((part.predictions(), part.truth_table(), part.masks() | known))
    found = streamed(
        batches, lambda: rt.Evaluator(defined, switches, intervals=True), random,
        tmp_path if saved else None,
    )  # fmt: skip
    assert content(found) == content(whole)


@st.composite
def keyed(draw: st.DrawFn) -> list[tuple[int, str, list[float], list[int], float]]:
    """Lists of three users: owner, key, scores of five items, relevant items, weight."""
    rows = []
    for number in range(draw(st.integers(2, 7))):
        scores = draw(st.lists(st.sampled_from((0.0, 1.0, 2.5)), min_size=5, max_size=5))
        wanted = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True))
        weight = draw(st.sampled_from((0.25, 1.0, 3.0)))
        rows.append((draw(st.integers(0, 2)), f"s{number}", scores, wanted, weight))
    return rows


@saving
@given(
    keyed(), st.sampled_from(("list", "user", "micro")), st.booleans(), st.booleans(),
    st.sampled_from(TIES), st.randoms(use_true_random=False), st.booleans(),
)  # fmt: skip
def test_lists_of_users_who_are_spread_over_batches(
    tmp_path: Path, rows: Any, unit: str, weighted: bool, dense: bool, ties: str, random: Random,
    saved: bool,
) -> None:  # fmt: skip
    switches = {"ties": ties, "undefined": "zero"}
    switches |= {"average": "micro"} if unit == "micro" else {"unit": unit}

    def batch(some: Any) -> Batch:
        owners, keys, scores, wanted, weights = (list(part) for part in zip(*some, strict=True))
        truth = pl.DataFrame({"session": keys, "item": wanted}).explode("item")
        more: dict[str, Any] = {"list_key": "session"}
        if weighted:
            more["weights"] = pl.DataFrame({"session": keys, "weight": weights})
        if dense:
            return rt.Scores(scores, lists=keys, users=owners, items=range(5)), truth, more
        named = {"user": owners, "session": keys, "score": scores}
        table = pl.DataFrame({**named, "item": [list(range(5))] * len(keys)})
        return table.explode("score", "item"), truth, more

    predictions, truth, more = batch(rows)
    whole = rt.evaluate(predictions, truth, LISTS, switches, intervals=True, **more)
    shuffled = list(rows)
    random.shuffle(shuffled)
    step = random.randint(1, len(rows))
    batches = [batch(shuffled[n : n + step]) for n in range(0, len(rows), step)]
    found = streamed(
        batches, lambda: rt.Evaluator(LISTS, switches, intervals=True, per_list="kept"), random,
        tmp_path if saved else None,
    )  # fmt: skip
    assert content(found) == content(whole)
    assert found.per_list().sort("list").equals(whole.per_list().sort("list"))
    assert found.per_user().sort("user").equals(whole.per_user().sort("user"))


@saving
@given(
    st.lists(st.tuples(st.lists(st.sampled_from((0.0, 0.5, 2.0)), min_size=4, max_size=4),
                       st.integers(0, 5)), min_size=2, max_size=9),
    st.sampled_from(TIES), st.sampled_from(("keep", "drop")),
    st.randoms(use_true_random=False), st.booleans(),
)  # fmt: skip
def test_logits_in_batches(
    tmp_path: Path, rows: Any, ties: str, unknown: str, random: Random, saved: bool
) -> None:
    switches = {"ties": ties, "unknown_items": unknown, "undefined": "skip"}
    metrics = CLASSES + (LOSSES if unknown == "drop" else [])
    assume(any(target < 4 for _, target in rows))

    def batch(some: Any) -> Batch:
        logits, targets = zip(*some, strict=True)
        return rt.Logits(np.array(logits)), list(targets), {}

    whole = rt.evaluate(*batch(rows)[:2], metrics, switches, intervals=True)
    random.shuffle(rows)
    step = random.randint(1, len(rows))
    batches = [batch(rows[n : n + step]) for n in range(0, len(rows), step)]
    found = streamed(
        batches, lambda: rt.Evaluator(metrics, switches, intervals=True), random,
        tmp_path if saved else None,
    )  # fmt: skip
    ours, theirs = content(found), content(whole)
    for one in (ours, theirs):
        del one["prints"]  # rows have no names: their numbers differ
    assert ours == theirs
