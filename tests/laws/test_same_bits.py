"""The same bits, whatever the names of ids, the order of rows, the kernels, threads and batches."""

from __future__ import annotations

from functools import reduce
from itertools import permutations
from operator import add
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import LISTED, Case, bits, cases, conventions, environment, names

import rectitude as rt
from rectitude.aggregate.sums import overall
from rectitude.convention import Convention

ALL = names((None, 3))
# These compare with the order of the truth, so that order is content for them.
ORDERED = (
    "rmrr", "all_pairs_auc", "reference_overlap", "unlike_reference", "rank_biased_overlap",
    "least_item_promoted", "compatibility_by_score", "ndcg_of_rows",
)  # fmt: skip
UNORDERED = [name for name in ALL if not name.startswith(ORDERED)]


@given(cases(), conventions, st.randoms(use_true_random=False))
def test_shuffling_the_rows_of_the_predictions_changes_nothing(
    case: Case, switches: dict[str, Any], random: Any
) -> None:
    if switches.get("ties") == "given":
        del switches["ties"]  # there the order of rows is what was asked for
    rows = list(case.predictions)
    random.shuffle(rows)
    before, after = (
        c.evaluate(ALL, switches) for c in (case, case.replace(predictions=tuple(rows)))
    )
    assert bits(before) == bits(after)
    assert _counts(before) == _counts(after)
    assert _prints(before) == _prints(after)


@given(cases(), conventions, st.randoms(use_true_random=False))
def test_shuffling_the_rows_of_the_truth_changes_nothing(
    case: Case, switches: dict[str, Any], random: Any
) -> None:
    if switches.get("discount_by") == "place":
        del switches["discount_by"]  # there the order of the truth is what was asked for
    rows = list(case.truth)
    random.shuffle(rows)
    before, after = (
        c.evaluate(UNORDERED, switches) for c in (case, case.replace(truth=tuple(rows)))
    )
    assert bits(before) == bits(after)
    assert _counts(before) == _counts(after)
    assert _prints(before) == _prints(after)


def test_the_fingerprint_of_plain_pairs_does_not_depend_on_their_order() -> None:
    pairs = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "x"]})
    prints = {
        _prints(rt.evaluate({"a": ["x"], "b": ["z"]}, truth, "hit"))["truth"]
        for truth in (pairs, pairs[::-1], pairs[[1, 0, 2]])
    }
    assert len(prints) == 1


@given(cases(), conventions, st.permutations(range(8)), st.permutations(range(6)))
def test_renaming_ids_changes_nothing(
    case: Case, switches: dict[str, Any], items: list[int], users: list[int]
) -> None:
    if switches.get("ties", "").startswith("item"):
        items = sorted(items)  # there the order of ids is what was asked for
    kinds: list[Any] = [
        lambda n: n * 10**15 - 2**60,
        lambda n: f"id-{n}é",
        lambda n: 2**63 + n,
    ]
    if items != sorted(items):  # among equal scores and grades, ids decide what these see
        listed, seen = UNORDERED, {**switches, "discount_by": "rank"}
    else:
        listed, seen = ALL, switches
    before = bits(case.evaluate(listed, seen))
    for kind in kinds:
        renamed = case.renamed(
            {user: kind(users[user]) for user in range(6)},
            {item: kind(items[item]) for item in range(8)},
        )
        assert bits(renamed.evaluate(listed, seen)) == before


@pytest.mark.parametrize("unit", ["list", "user"])
def test_renaming_the_lists_of_a_user_changes_nothing(unit: str) -> None:
    # Five lists of one user with the hit at rank 1, 2, ...: 1 + 1/2 + 1/3 + 1/4 + 1/5 in any order.
    seen = set()
    for keys in permutations("abcde"):
        rows = [
            {"user": 1, "session": key, "item": item, "rank": item + 1}
            for length, key in enumerate(keys) for item in range(length + 1)
        ]  # fmt: skip
        truth = [{"user": 1, "session": key, "item": n} for n, key in enumerate(keys)]
        evaluation = rt.evaluate(rows, truth, "mrr", {"unit": unit}, list_key="session")
        seen.add(evaluation["mrr"].hex())
    assert len(seen) == 1


@settings(max_examples=60)
@given(cases(grades=(-1, 0, 1, 2)), conventions, st.booleans(), st.sampled_from((int, str)))
def test_compiled_kernels_give_the_bits_of_the_numpy_twin(
    case: Case, switches: dict[str, Any], tidy: bool, kind: type
) -> None:
    pytest.importorskip("numba")
    ids = {n: kind(n) for n in range(8)}
    rows = case.predictions if tidy else tuple(sorted(case.predictions, key=lambda r: r[::-1]))
    case = case.replace(predictions=rows).renamed(ids, ids)
    seen = []
    for kernels in ("numpy", "numba"):
        with environment(RECTITUDE_KERNELS=kernels):
            seen.append(case.evaluate(ALL, switches))
    assert bits(seen[0]) == bits(seen[1])
    assert seen[0].ledger.as_dict() == seen[1].ledger.as_dict()
    assert _prints(seen[0]) == _prints(seen[1])


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.sampled_from((0.0, 1.0, 2.0))),
             min_size=1, max_size=14),
    st.sampled_from(("first", "counted", "one_hit")),
    st.sampled_from(("once", "counted", "one_hit")),
)  # fmt: skip
def test_compiled_kernels_deal_with_duplicates_as_the_numpy_twin(
    rows: list[tuple[int, int, float]], duplicates: str, duplicate_truth: str
) -> None:
    pytest.importorskip("numba")
    case = Case(((0, 0, 1.0), *rows), ((0, 0, 1.0), *rows[::2]), ())
    switches = {"duplicates": duplicates, "duplicate_truth": duplicate_truth, "undefined": "zero"}
    seen = []
    for kernels in ("numpy", "numba"):
        with environment(RECTITUDE_KERNELS=kernels):
            seen.append(case.evaluate(ALL, switches))
    assert bits(seen[0]) == bits(seen[1])
    assert seen[0].ledger.as_dict() == seen[1].ledger.as_dict()


@pytest.mark.parametrize("kernels", ["numpy", "numba"])
def test_any_number_of_threads_gives_the_same_bits(kernels: str) -> None:
    if kernels == "numba":
        pytest.importorskip("numba")
    rows = 30_000
    index = pl.DataFrame({"n": range(rows)})
    predictions = index.select(
        user=pl.col("n") * 7919 % 25_000, item=pl.col("n") * 104_729 % 97,
        score=(pl.col("n") * 31_337 % 17).cast(float),
    ).unique(["user", "item"], maintain_order=True)  # fmt: skip
    truth = index.select(
        user=pl.col("n") * 3001 % 25_000, item=pl.col("n") * 15_485_863 % 97,
        grade=pl.col("n") % 4 + 1,
    ).unique(["user", "item"], maintain_order=True)  # fmt: skip
    seen = []
    for threads in "123":
        with environment(RECTITUDE_THREADS=threads, RECTITUDE_KERNELS=kernels):
            seen.append(
                rt.evaluate(predictions, truth, [*LISTED, "ndcg[gain=exp2]@3"], intervals=True)
            )
    for other in seen[1:]:
        assert bits(seen[0]) == bits(other)
        assert _prints(seen[0]) == _prints(other)
        assert seen[0].to_json() == other.to_json()


@given(cases(everyone=True), conventions, st.randoms(use_true_random=False))
def test_batches_added_in_any_order_give_the_bits_of_the_whole(
    case: Case, switches: dict[str, Any], random: Any
) -> None:
    whole = case.evaluate(ALL, switches, intervals=True)
    users = case.users()
    random.shuffle(users)
    cuts = sorted(random.sample(range(1, len(users)), random.randint(0, len(users) - 1)))
    shards = [set(users[a:b]) for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
    parts = [case.of(shard).evaluate(ALL, switches, intervals=True) for shard in shards]
    for name, result in whole.results.items():
        states = [part.results[name].state for part in parts if name in part.results]
        if result.state is None:
            continue
        random.shuffle(states)
        total = reduce(add, states)
        assert total == result.state, name
        how = rt.METRICS[result.metric].overall
        assert overall(total, Convention(**switches), how).hex() == result.value.hex(), name


def _prints(evaluation: rt.Evaluation) -> dict[str, str]:
    inputs = evaluation.manifest["inputs"]
    return {side: inputs[side]["fingerprint"] for side in ("predictions", "truth")}


def _counts(evaluation: rt.Evaluation) -> dict[str, tuple[int, int | None]]:
    """What the ledger counted; its examples are the first met, whichever that is."""
    return {entry.name: (entry.count, entry.of) for entry in evaluation.ledger}
