"""Any distribution of lists, with repeats and under any convention, gives the result of one
process."""

from __future__ import annotations

import json
from functools import reduce
from operator import add
from typing import Any

import polars as pl
import torch
from ddp_cases import content
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_ways import OnDevice, at

import rectitude as rt
from dense_cases import TIES, DenseCase, dense_cases
from rectitude.errors import RectitudeError
from rectitude.evaluation.saved import restore, store
from rectitude.torch import Evaluator
from rectitude.torch.repeats import ListIds, count_once, list_records, repeats_of

METRICS = [*at((None, 2)), "auc", "gauc", "mean_rank", "median_rank"]
switches = st.fixed_dictionaries(
    {"undefined": st.just("zero")},
    optional={
        "ties": st.sampled_from(TIES),
        "seen": st.sampled_from(("removed", "last", "kept")),
        "unit": st.sampled_from(("list", "user")),
        "average": st.sampled_from(("macro", "micro")),
        "hit_scores": st.sampled_from(("any", "positive")),
        "truth_needed": st.sampled_from(("relevant", "judged", "none")),
        "list_needed": st.sampled_from(("none", "handed")),
        "unknown_items": st.sampled_from(("keep", "drop")),
    },
)


def together(processes: list[Evaluator]) -> rt.Evaluation:
    """Do what `gathered` does, in one process."""
    sent = [list_records(process.records).as_bytes() for process in processes]
    repeats = repeats_of([ListIds.from_bytes(lists) for lists in sent])
    sums = [
        count_once(process.sums, process.records, repeats, rank)
        for rank, process in enumerate(processes)
    ]
    everything = reduce(add, [restore(json.loads(json.dumps(store(summed)))) for summed in sums])
    repeats.report(everything.state.ledger)
    return everything.compute()


@settings(max_examples=60)
@given(dense_cases(), switches, st.randoms(use_true_random=False), st.booleans())
def test_shares_of_scores(
    case: DenseCase, chosen: dict[str, Any], random: Any, on_device: bool
) -> None:
    case = case.replace(form=lambda sparse, table: table, candidates=None)
    truth, masks = case.truth_table(), case.masks()
    metrics = METRICS
    if chosen.get("unit") == "user":
        metrics, chosen["average"] = ["ndcg@2", "map", "recall", "mean_rank"], "macro"
    whole = rt.Evaluator(metrics, chosen, intervals=True)
    try:
        whole.update(case.predictions(), truth, **masks)
    except RectitudeError:
        return
    kind = OnDevice if on_device else Evaluator
    processes = [kind(metrics, chosen, intervals=True, repeats="once") for _ in range(2)]
    everyone = set(range(len(case.users)))
    seen: set[int] = set()
    shares = 0
    while seen != everyone or shares < 3:
        others = [row for row in everyone if random.random() < 0.6]
        rows = sorted({0, *others}, key=lambda row: (row, random.random()))
        random.shuffle(rows)
        predictions = rt.Scores(
            torch.from_numpy(case.scores[rows].copy()),
            users=[case.users[row] for row in rows],
            items=case.items,
            padding=None if case.padding is None else case.items[case.padding],
        )
        random.choice(processes).update(predictions, truth, **masks)
        seen |= set(rows)
        shares += 1
    for process in processes:
        process.finish()
    result = together(processes)
    expected = content(whole.compute())
    assert content(result) == expected
    assert result.ledger["lists_repeated"] >= 2


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True), min_size=1))
def test_shares_of_lists(shares: list[list[int]]) -> None:
    items = [[1, 2, 3], [3, 1], [2], [], [1, 5], [4]]
    wanted = [[2], [3, 9], [1], [4], [5], [4, 1]]
    processes = [Evaluator(["ndcg@2", "map", "precision@2"], repeats="once") for _ in range(3)]
    used = sorted({0}.union(*shares))
    for number, share in enumerate(shares):  # user 0 has items, so no share is empty
        processes[number % 3].update(*tables(sorted({0, *share}), items, wanted))
    whole = rt.evaluate(*tables(used, items, wanted), ["ndcg@2", "map", "precision@2"])
    result = together(processes)
    assert result.values() == whole.values()
    assert result.manifest["lists"] == len(used)
    assert (
        result.manifest["inputs"]["predictions"]["fingerprint"]
        == (whole.manifest["inputs"]["predictions"]["fingerprint"])
    )


def tables(users: list[int], items: list[Any], wanted: list[Any]) -> tuple[rt.Lists, Any]:
    kinds = {"user": pl.Int64, "item": pl.Int64}
    lists = [(user, item) for user in users for item in items[user]]
    truth = [(user, item) for user in users for item in wanted[user]]
    frame = pl.DataFrame(lists, schema=kinds, orient="row")
    wanted_items = pl.DataFrame(truth, schema=kinds, orient="row")
    return rt.Lists(frame, users=users, ordered=True), wanted_items
