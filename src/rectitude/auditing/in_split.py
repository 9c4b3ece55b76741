"""Checks of the split: rows that train, validation and truth must not share, and shifts."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rectitude.auditing.parts import CELL, PAIR, TIME, AuditCase, Compared, Parts, present
from rectitude.auditing.ranked import once, popular_lists
from rectitude.auditing.registry import check
from rectitude.auditing.result import CheckResult, Severity
from rectitude.data.log import ROW
from rectitude.preparing.draws import uniform

NOUNS = {"item": "items", "class": "classes"}
NEEDED = {"train", "truth", "predictions"}
"""Parts that must not be empty: without them no value means anything."""
NEARLY_ALL = 0.9
"""If this share of a part is in another part, that is not just users who return to items."""
HEAD = 0.5
"""The head: the most popular items, which have this share of the training rows."""
SHIFTED = 0.05
DEVIATIONS = 4.0
ADVICE = (
    "expect other values than on a random sample of the same data: if popular items have fewer "
    "rows, popular recommendations get fewer hits. A split by time has such a shift naturally."
)


@check(
    advice="provide its rows, or leave the part out: checks of an empty part mean nothing.",
)
def empty_parts(parts: Parts) -> CheckResult:
    """Parts without rows, or without rows of the users to evaluate."""
    rows = parts.sizes()
    empty = [name for name, size in rows.items() if not size]
    severity: Severity = "serious" if NEEDED & {*empty} else "notice"
    about = f"parts have no rows{': ' if empty else ''}{', '.join(empty)}"
    return CheckResult(len(empty), len(rows), about, severity)


@check(
    "train", "truth", "truth's users",
    advice="remove these rows from one of the two; if users do return to items, report that with "
    "the result and do not remove seen items from the lists.",
)  # fmt: skip
def truth_in_train(parts: Parts) -> CheckResult:
    """The same user and item in the truth and in train."""
    train, truth = _both(parts, "truth")
    rows = truth.join(train, on=PAIR, how="semi", maintain_order="left")
    return _find_shared_pairs(
        parts, rows, "truth rows are in train as well", truth.height,
        parts.without_truth(train, PAIR), _same_events(rows, train),
    )  # fmt: skip


@check(
    "train", "validation", "validation's users",
    advice="train without the validation rows: otherwise you select the model that memorises best.",
)  # fmt: skip
def validation_in_train(parts: Parts) -> CheckResult:
    """The same user and item in validation and in train; the effect is measured on validation."""
    train, validation = _both(parts, "validation")
    rows = validation.join(train, on=PAIR, how="semi", maintain_order="left")
    rest = validation.join(train, on=PAIR, how="anti", maintain_order="left")
    return _find_shared_pairs(
        parts, rows, "validation rows are in train as well", validation.height,
        _against(parts, validation, rest), _same_events(rows, train),
    )  # fmt: skip


@check(
    "validation", "truth", "truth's users", "validation's users",
    advice="keep them separate: rows that were used to select a model cannot judge it.",
)  # fmt: skip
def truth_in_validation(parts: Parts) -> CheckResult:
    """The same user and item in the truth and in validation."""
    truth, validation = present(parts.truth), present(parts.validation)
    rows = truth.join(validation, on=PAIR, how="semi", maintain_order="left")
    return _find_shared_pairs(
        parts, rows, "truth rows are in validation as well", truth.height,
        parts.without_truth(validation, PAIR), _same_events(rows, validation),
    )  # fmt: skip


@check(
    "train", "truth", "timestamps", "truth's users",
    advice="split by time, with each user's last interactions as truth: here the model knows what "
    "the user did later.",
)  # fmt: skip
def older_than_own_train(parts: Parts) -> CheckResult:
    """Truth rows that are older than the last training row of the same user."""
    train, truth = _both(parts, "truth")
    last = train.group_by("user").agg(pl.col(TIME).max().alias("last"))
    timed = truth.join(last, on="user", how="left", maintain_order="left")
    older = (pl.col(TIME) < pl.col("last")).fill_null(False)
    rows = timed.filter(older)
    return CheckResult(
        rows.height, truth.height, "truth rows are older than a training row of the same user",
        example=_when(parts, rows), compare=parts.without_truth(rows, [CELL, TIME]),
    )  # fmt: skip


@check(
    "train", "truth", "timestamps",
    advice="split at one point in time for all users if you want to know how well the model "
    "predicts the future: here it knows what other users did later.",
)  # fmt: skip
def older_than_train(parts: Parts) -> CheckResult:
    """Truth rows that are older than the last training row of any user."""
    train, truth = _both(parts, "truth")
    timed = truth.with_columns(last=pl.lit(train[TIME].max(), dtype=train[TIME].dtype))
    older = (pl.col(TIME) < pl.col("last")).fill_null(False)
    rows = timed.filter(older)
    return CheckResult(
        rows.height, truth.height, "truth rows are older than the last training row of any user",
        "notice", _when(parts, rows), parts.without_truth(rows, [CELL, TIME]),
    )  # fmt: skip


@check(
    "train", "truth", "truth's users",
    advice="decide whether cold-start users count (unknown_users keeps or drops them), and report "
    "that with the result.",
)  # fmt: skip
def unknown_users(parts: Parts) -> CheckResult:
    """Users of the truth that are not in train (cold-start users)."""
    train, truth = _both(parts, "truth")
    users = truth.select("user").unique(maintain_order=True)
    unknown = users.join(train, on="user", how="anti", maintain_order="left")
    return CheckResult(
        unknown.height, users.height, "users of the truth are not in train", "notice",
        parts.first(unknown), parts.without(unknown, "user"),
    )  # fmt: skip


@check(
    "learnt", "truth",
    advice="decide whether these rows count (unknown_items keeps or drops them): no model can "
    "learn these items from train.",
)  # fmt: skip
def unknown_items(parts: Parts) -> CheckResult:
    """Truth rows of items that are not in train (cold-start items)."""
    about = f"truth rows have {NOUNS[parts.noun]} that are not in train"
    return _of_items(parts, present(parts.truth), present(parts.learnt), about)


@check(
    "catalogue", "truth",
    advice="complete the catalogue, or drop these rows: no model can recommend these items.",
)  # fmt: skip
def truth_outside_catalogue(parts: Parts) -> CheckResult:
    """Truth rows of items that are not in the catalogue."""
    return _of_items(
        parts, present(parts.truth), present(parts.catalogue),
        "truth rows have items outside the catalogue",
    )  # fmt: skip


@check("truth", advice="keep one row of each pair, or decide how repeats count (duplicate_truth).")
def duplicate_truth(parts: Parts) -> CheckResult:
    """Rows of the truth that repeat a user and item."""
    truth = present(parts.truth)
    rows = _repeats(truth, CELL)
    choice = parts.asked.convention.duplicate_truth
    counted = {"duplicate_truth": "counted" if choice == "error" else choice}
    compare = None
    if parts.base is not None:
        as_is = replace(parts.base, truth=truth, switches=counted)
        compare = (as_is, replace(parts.base, truth=once(truth)))
    return CheckResult(
        rows.height, truth.height,
        "truth rows repeat a pair; as is, each repeat counts",
        "notice" if parts.usual_repeats else "serious", parts.first(rows), compare,
    )  # fmt: skip


@check(
    "train",
    advice="do nothing if users return to items; otherwise keep one row of each pair, or the model "
    "gives repeats too much weight.",
)  # fmt: skip
def duplicate_train(parts: Parts) -> CheckResult:
    """Rows of train that repeat a user and item; they do not change any metric."""
    train = present(parts.train)
    rows = _repeats(train, PAIR)
    return CheckResult(
        rows.height, train.height, "training rows repeat a pair", "notice", parts.first(rows)
    )


@check(
    "folds",
    advice="do nothing if rows are assigned to folds; if each user should be in one fold only, as "
    "with held-out users, split by user.",
)
def users_in_folds(parts: Parts) -> CheckResult:
    """Users who are in more than one fold."""
    shared, of = _in_folds(parts, "user")
    return CheckResult(
        shared.height, of, f"users are in several of {len(parts.folds)} folds", "notice",
        parts.first(shared), parts.without(shared, "user"),
    )  # fmt: skip


@check(
    "folds",
    advice="split again: folds must not share rows, because their mean would count some twice.",
)
def pairs_in_folds(parts: Parts) -> CheckResult:
    """Pairs of user and item that are in more than one fold."""
    shared, of = _in_folds(parts, PAIR)
    return CheckResult(
        shared.height, of, f"pairs are in several of {len(parts.folds)} folds", "serious",
        parts.first(shared), parts.without_truth(shared, PAIR),
    )  # fmt: skip


@check("learnt", "truth", advice=ADVICE)
def popularity_shift(parts: Parts) -> CheckResult:
    """Whether popular items have the same share in the truth as in train.

    The effect is measured on a sample of the truth in which the shares agree.
    """
    truth = present(parts.truth)
    head, share = _head(present(parts.learnt))
    on_head = _is_on_head(head, truth)
    drawn = _draw_truth(truth, on_head, share)
    return _shift(on_head, share, "truth", None if drawn is None else parts.against(truth=drawn))


@check("train", "validation", advice=ADVICE)
def popularity_shift_of_validation(parts: Parts) -> CheckResult:
    """Whether popular items have the same share in validation as in train."""
    head, share = _head(present(parts.train))
    return _shift(_is_on_head(head, present(parts.validation)), share, "validation", None)


def _both(parts: Parts, other: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    return present(parts.train), present(getattr(parts, other))


def _repeats(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return the rows whose pair or cell already appeared in an earlier row."""
    return frame.filter(~pl.col(by).is_first_distinct())


def _find_shared_pairs(
    parts: Parts, rows: pl.DataFrame, about: str, of: int, compare: Compared, same: int = 0
) -> CheckResult:
    """Describe pairs that two parts share.

    If users of train return to items too, shared pairs are only a notice, unless nearly all rows
    are shared or some rows have the same timestamp and so are the same event.
    """
    usual = parts.usual_repeats and not same and rows.height < NEARLY_ALL * of
    if same:
        about += f", {same:,} with the same timestamp"
    elif usual:
        about += "; users also return to items within train"
    severity: Severity = "notice" if usual else "serious"
    return CheckResult(rows.height, of, about, severity, parts.first(rows), compare)


def _same_events(rows: pl.DataFrame, other: pl.DataFrame) -> int:
    """Count the rows that are in the other part with the same timestamp."""
    if TIME not in rows.columns or TIME not in other.columns:
        return 0
    same_pairs = other.join(rows, on=PAIR, how="semi")
    return rows.join(same_pairs, on=[PAIR, TIME], how="semi").height


def _against(parts: Parts, as_is: pl.DataFrame, without: pl.DataFrame) -> Compared:
    """Compare the predictions, or the most popular items, against two versions of a truth."""
    lists = parts.ranked
    if lists is None:
        lists = popular_lists(present(parts.train), as_is, parts.depth, parts.seen)
    return AuditCase(once(as_is), lists, parts.handed), AuditCase(
        once(without), lists, parts.handed
    )


def _of_items(parts: Parts, truth: pl.DataFrame, known: pl.DataFrame, about: str) -> CheckResult:
    """Describe the truth rows whose item is not in a table of known items."""
    rows = truth.join(known, on="item", how="anti", maintain_order="left")
    compare = parts.with_truth(known, "item")
    return CheckResult(rows.height, truth.height, about, "notice", parts.first(rows), compare)


def _when(parts: Parts, rows: pl.DataFrame) -> str:
    """Describe the first row, with its time and that of the last training row."""
    if not rows.height:
        return ""
    row = rows.row(0, named=True)
    return (
        f"{parts.label(row)}: {_format_time(row[TIME])}, training up to {_format_time(row['last'])}"
    )


def _format_time(time: object) -> str:
    return f"{time:.15g}" if isinstance(time, float) else str(time)


def _in_folds(parts: Parts, by: str) -> tuple[pl.DataFrame, int]:
    """Return the users or pairs that are in several folds, and the number of all of them."""
    distinct = [
        fold.select("user", "item", PAIR).unique(by, maintain_order=True)
        for fold in parts.folds.values()
    ]
    times = (
        pl.concat(distinct).with_columns(folds=pl.len().over(by)).unique(by, maintain_order=True)
    )
    shown = [name for name in ("user", "item", PAIR) if by != "user" or name == "user"]
    return times.filter(pl.col("folds") > 1).select(shown), times.height


def _head(train: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """Return the most popular items that have half of the training rows, and their exact share."""
    counts = train.group_by("item").len().sort("len", "item", descending=[True, False])
    before = pl.col("len").cum_sum() - pl.col("len")
    head = counts.filter(before < HEAD * train.height)
    return head.select("item"), int(head["len"].sum()) / max(1, train.height)


def _is_on_head(head: pl.DataFrame, part: pl.DataFrame) -> pl.Series:
    """Return which rows of a part have an item of the head."""
    return part["item"].is_in(head["item"].implode())


def _shift(on_head: pl.Series, share: float, part: str, compare: Compared) -> CheckResult:
    rows, head_rows = len(on_head), int(on_head.sum())
    part_share = head_rows / max(1, rows)
    noise = DEVIATIONS * (share * (1 - share) / max(1, rows)) ** 0.5
    severity: Severity = "notice" if abs(part_share - share) > max(SHIFTED, noise) else "fine"
    about = f"{part} rows have one of the most popular items, which make up {share:.1%} of train"
    return CheckResult(head_rows, rows, f"({part_share:.1%}) {about}", severity, "", compare)


def _draw_truth(truth: pl.DataFrame, on_head: pl.Series, share: float) -> pl.DataFrame | None:
    """Sample the truth so that the head has the same share as in train.

    The random numbers depend on the content of each row, not on the order of rows.
    """
    head_rows, rest = int(on_head.sum()), len(on_head) - int(on_head.sum())
    if not 0 < share < 1:
        return None
    keep_head = min(head_rows, round(rest * share / (1 - share)))
    keep_rest = min(rest, round(head_rows * (1 - share) / share))
    numbered = truth.with_columns(user="list").with_row_index(ROW)
    kept = numbered.with_columns(draw=uniform(numbered, 0))
    chosen = [
        kept.filter(side).sort("draw").head(many)[ROW]
        for side, many in ((on_head, keep_head), (~on_head, keep_rest))
    ]
    return truth[chosen[0].append(chosen[1]).sort()]
