"""Checks of the split itself: what train, validation and truth share and should not, and whether
they ask for the same kind of items."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rectitude.auditing.parts import CELL, PAIR, TIME, AuditCase, Compared, Parts, present
from rectitude.auditing.ranked import once, popular_lists
from rectitude.auditing.registry import check
from rectitude.auditing.result import Found, Severity
from rectitude.data.log import ROW
from rectitude.prepare.draws import uniform

NOUNS = {"item": "items", "class": "classes"}
NEEDED = {"train", "truth", "predictions"}
"""parts without which no number means anything"""
NEARLY_ALL = 0.9
"""where so many rows of one part are in another, they have not just come back"""
HEAD = 0.5
"""the head: the most popular items, which hold this share of the training rows"""
SHIFTED = 0.05
DEVIATIONS = 4.0
ADVICE = (
    "expect other values than on a random part of the same data: with fewer rows on popular items "
    "popular recommendations find less. A split by time shows such a shift as it is."
)


@check(
    advice="hand over its rows, or leave the part out: what is fine about a part without rows says "
    "nothing.",
)
def empty_parts(parts: Parts) -> Found:
    """Parts without a single row, or without one of the users to evaluate."""
    rows = parts.sizes()
    empty = [name for name, size in rows.items() if not size]
    severity: Severity = "serious" if NEEDED & {*empty} else "notice"
    about = f"parts have no rows{': ' if empty else ''}{', '.join(empty)}"
    return Found(len(empty), len(rows), about, severity)


@check(
    "train", "truth", "truth's users",
    advice="remove these rows from one of the two; if users come back to items, say so beside the "
    "result and keep items that were seen in the lists.",
)  # fmt: skip
def truth_in_train(parts: Parts) -> Found:
    """The same user and item in the truth and in train."""
    train, truth = _both(parts, "truth")
    rows = truth.join(train, on=PAIR, how="semi", maintain_order="left")
    return _shared(
        parts, rows, "truth rows are in train as well", truth.height,
        parts.without_truth(train, PAIR), _same_events(rows, train),
    )  # fmt: skip


@check(
    "train", "validation", "validation's users",
    advice="train without the validation rows: a model is chosen by what it has learnt by heart.",
)  # fmt: skip
def validation_in_train(parts: Parts) -> Found:
    """The same user and item in validation and in train; measured against validation."""
    train, validation = _both(parts, "validation")
    rows = validation.join(train, on=PAIR, how="semi", maintain_order="left")
    rest = validation.join(train, on=PAIR, how="anti", maintain_order="left")
    return _shared(
        parts, rows, "validation rows are in train as well", validation.height,
        _against(parts, validation, rest), _same_events(rows, train),
    )  # fmt: skip


@check(
    "validation", "truth", "truth's users", "validation's users",
    advice="keep them apart: what was used to choose a model cannot judge it.",
)  # fmt: skip
def truth_in_validation(parts: Parts) -> Found:
    """The same user and item in the truth and in validation."""
    truth, validation = present(parts.truth), present(parts.validation)
    rows = truth.join(validation, on=PAIR, how="semi", maintain_order="left")
    return _shared(
        parts, rows, "truth rows are in validation as well", truth.height,
        parts.without_truth(validation, PAIR), _same_events(rows, validation),
    )  # fmt: skip


@check(
    "train", "truth", "timestamps", "truth's users",
    advice="split by time, each user's last interactions to the truth: here the model knows what "
    "the user did later.",
)  # fmt: skip
def older_than_own_train(parts: Parts) -> Found:
    """Truth rows from before the last training row of the same user."""
    train, truth = _both(parts, "truth")
    last = train.group_by("user").agg(pl.col(TIME).max().alias("last"))
    timed = truth.join(last, on="user", how="left", maintain_order="left")
    older = (pl.col(TIME) < pl.col("last")).fill_null(False)
    rows = timed.filter(older)
    return Found(
        rows.height, truth.height, "truth rows are older than a training row of the same user",
        example=_when(parts, rows), compare=parts.without_truth(rows, [CELL, TIME]),
    )  # fmt: skip


@check(
    "train", "truth", "timestamps",
    advice="split at one point in time for all users, if the result is to say how the model does "
    "on what comes next: here it knows what others did later.",
)  # fmt: skip
def older_than_train(parts: Parts) -> Found:
    """Truth rows from before the last training row of anybody."""
    train, truth = _both(parts, "truth")
    timed = truth.with_columns(last=pl.lit(train[TIME].max(), dtype=train[TIME].dtype))
    older = (pl.col(TIME) < pl.col("last")).fill_null(False)
    rows = timed.filter(older)
    return Found(
        rows.height, truth.height, "truth rows are older than the last training row of all",
        "notice", _when(parts, rows), parts.without_truth(rows, [CELL, TIME]),
    )  # fmt: skip


@check(
    "train", "truth", "truth's users",
    advice="decide what they are to count: unknown_users keeps or drops them, and the result "
    "should say which.",
)  # fmt: skip
def unknown_users(parts: Parts) -> Found:
    """Users of the truth that train does not have."""
    train, truth = _both(parts, "truth")
    users = truth.select("user").unique(maintain_order=True)
    unknown = users.join(train, on="user", how="anti", maintain_order="left")
    return Found(
        unknown.height, users.height, "users of the truth are not in train", "notice",
        parts.first(unknown), parts.without(unknown, "user"),
    )  # fmt: skip


@check(
    "learnt", "truth",
    advice="decide what they are to count: unknown_items keeps or drops them; no model can "
    "learn them from train.",
)  # fmt: skip
def unknown_items(parts: Parts) -> Found:
    """Truth rows of items that train does not have."""
    about = f"truth rows are of {NOUNS[parts.noun]} that are not in train"
    return _of_items(parts, present(parts.truth), present(parts.learnt), about)


@check(
    "catalogue", "truth",
    advice="complete the catalogue, or drop these rows: nobody could have recommended them.",
)  # fmt: skip
def truth_outside_catalogue(parts: Parts) -> Found:
    """Truth rows of items that the catalogue does not have."""
    return _of_items(
        parts, present(parts.truth), present(parts.catalogue),
        "truth rows are of items outside the catalogue",
    )  # fmt: skip


@check("truth", advice="keep one row of each pair, or say what repeats mean: duplicate_truth.")
def duplicate_truth(parts: Parts) -> Found:
    """Rows of the truth whose user and item stood there before."""
    truth = present(parts.truth)
    rows = _repeats(truth, CELL)
    asked = parts.asked.convention.duplicate_truth
    counted = {"duplicate_truth": "counted" if asked == "error" else asked}
    compare = None
    if parts.base is not None:
        as_is = replace(parts.base, truth=truth, switches=counted)
        compare = (as_is, replace(parts.base, truth=once(truth)))
    return Found(
        rows.height, truth.height,
        "truth rows repeat a pair; as is, each of them counts",
        "notice" if parts.usual_repeats else "serious", parts.first(rows), compare,
    )  # fmt: skip


@check(
    "train",
    advice="nothing, if users come back to items; else keep one row of each pair, or a model "
    "gives repeats more weight than was meant.",
)  # fmt: skip
def duplicate_train(parts: Parts) -> Found:
    """Rows of train whose user and item stood there before; none of it changes a metric."""
    train = present(parts.train)
    rows = _repeats(train, PAIR)
    return Found(
        rows.height, train.height, "training rows repeat a pair", "notice", parts.first(rows)
    )


@check(
    "folds",
    advice="nothing, if folds are made of rows; if each user is to be in one fold, as when users "
    "are held out, split by user.",
)
def users_in_folds(parts: Parts) -> Found:
    """Users who are in more than one fold."""
    shared, of = _in_folds(parts, "user")
    return Found(
        shared.height, of, f"users are in several of {len(parts.folds)} folds", "notice",
        parts.first(shared), parts.without(shared, "user"),
    )  # fmt: skip


@check("folds", advice="split again: folds must not share rows, or their mean counts some twice.")
def pairs_in_folds(parts: Parts) -> Found:
    """Pairs of user and item that are in more than one fold."""
    shared, of = _in_folds(parts, PAIR)
    return Found(
        shared.height, of, f"pairs are in several of {len(parts.folds)} folds", "serious",
        parts.first(shared), parts.without_truth(shared, PAIR),
    )  # fmt: skip


@check("learnt", "truth", advice=ADVICE)
def popularity_shift(parts: Parts) -> Found:
    """Whether the truth asks for popular items as often as train does; measured on a truth from
    which rows are drawn until it does."""
    truth = present(parts.truth)
    head, share = _head(present(parts.learnt))
    here = _on(head, truth)
    drawn = _drawn(truth, here, share)
    return _shift(here, share, "truth", None if drawn is None else parts.against(truth=drawn))


@check("train", "validation", advice=ADVICE)
def popularity_shift_of_validation(parts: Parts) -> Found:
    """The same of validation, which plays no part in the metrics."""
    head, share = _head(present(parts.train))
    return _shift(_on(head, present(parts.validation)), share, "validation", None)


def _both(parts: Parts, other: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    return present(parts.train), present(getattr(parts, other))


def _repeats(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    """The rows whose pair or cell stood in an earlier row."""
    return frame.filter(~pl.col(by).is_first_distinct())


def _shared(
    parts: Parts, rows: pl.DataFrame, about: str, of: int, compare: Compared, same: int = 0
) -> Found:
    """A finding about pairs in two parts: no fault where users of train come back to items as
    well, unless nearly all rows do so, or have the same timestamp and so are the same."""
    usual = parts.usual_repeats and not same and rows.height < NEARLY_ALL * of
    if same:
        about += f", {same:,} with the same timestamp"
    elif usual:
        about += ", as users of train come back to items"
    severity: Severity = "notice" if usual else "serious"
    return Found(rows.height, of, about, severity, parts.first(rows), compare)


def _same_events(one: pl.DataFrame, other: pl.DataFrame) -> int:
    """How many rows are in another part with the same timestamp; `one` are those of its pairs."""
    if TIME not in one.columns or TIME not in other.columns:
        return 0
    few = other.join(one, on=PAIR, how="semi")
    return one.join(few, on=[PAIR, TIME], how="semi").height


def _against(parts: Parts, as_is: pl.DataFrame, without: pl.DataFrame) -> Compared:
    """The predictions, or the most popular items of train, against another truth."""
    lists = parts.ranked
    if lists is None:
        lists = popular_lists(present(parts.train), as_is, parts.depth, parts.seen)
    return AuditCase(once(as_is), lists, parts.handed), AuditCase(
        once(without), lists, parts.handed
    )


def _of_items(parts: Parts, truth: pl.DataFrame, known: pl.DataFrame, about: str) -> Found:
    rows = truth.join(known, on="item", how="anti", maintain_order="left")
    compare = parts.with_truth(known, "item")
    return Found(rows.height, truth.height, about, "notice", parts.first(rows), compare)


def _when(parts: Parts, rows: pl.DataFrame) -> str:
    """The first of some rows, with its time and that of the last training row."""
    if not rows.height:
        return ""
    row = rows.row(0, named=True)
    return f"{parts.label(row)}: {_time(row[TIME])}, training up to {_time(row['last'])}"


def _time(time: object) -> str:
    return f"{time:.15g}" if isinstance(time, float) else str(time)


def _in_folds(parts: Parts, by: str) -> tuple[pl.DataFrame, int]:
    """What more than one fold holds, and how many different ones there are."""
    once = [
        fold.select("user", "item", PAIR).unique(by, maintain_order=True)
        for fold in parts.folds.values()
    ]
    times = pl.concat(once).with_columns(folds=pl.len().over(by)).unique(by, maintain_order=True)
    shown = [name for name in ("user", "item", PAIR) if by != "user" or name == "user"]
    return times.filter(pl.col("folds") > 1).select(shown), times.height


def _head(train: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """The most popular items that hold half of the training rows, and their share of them."""
    times = train.group_by("item").len().sort("len", "item", descending=[True, False])
    before = pl.col("len").cum_sum() - pl.col("len")
    head = times.filter(before < HEAD * train.height)
    return head.select("item"), int(head["len"].sum()) / max(1, train.height)


def _on(head: pl.DataFrame, part: pl.DataFrame) -> pl.Series:
    """Which rows of a part are of items in the head."""
    return part["item"].is_in(head["item"].implode())


def _shift(here: pl.Series, share: float, part: str, compare: Compared) -> Found:
    rows, on_head = len(here), int(here.sum())
    own = on_head / max(1, rows)
    noise = DEVIATIONS * (share * (1 - share) / max(1, rows)) ** 0.5
    severity: Severity = "notice" if abs(own - share) > max(SHIFTED, noise) else "fine"
    about = f"{part} rows are of the most popular items, which hold {share:.1%} of train"
    return Found(on_head, rows, f"({own:.1%}) {about}", severity, "", compare)


def _drawn(truth: pl.DataFrame, here: pl.Series, share: float) -> pl.DataFrame | None:
    """The truth without some rows, drawn by content, so that the head has its share of train."""
    on_head, rest = int(here.sum()), len(here) - int(here.sum())
    if not 0 < share < 1:
        return None
    keep_head = min(on_head, round(rest * share / (1 - share)))
    keep_rest = min(rest, round(on_head * (1 - share) / share))
    numbered = truth.with_columns(user="list").with_row_index(ROW)
    kept = numbered.with_columns(draw=uniform(numbered, 0))
    chosen = [
        kept.filter(side).sort("draw").head(many)[ROW]
        for side, many in ((here, keep_head), (~here, keep_rest))
    ]
    return truth[chosen[0].append(chosen[1]).sort()]
