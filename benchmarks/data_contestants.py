"""What `data.py` measures: each job as we do it, as one would write it in Polars, and as the peers
do it. Every contestant holds the interactions in memory in its own form when the clock starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interactions import END, START

Run = Callable[[Any], Any]
T = START + (END - START) * 4 // 5
LATE = END - (END - START) // 10_000
SPAN = 10 * 86_400
CORE, LAST, POPULAR, RATIO, GRADE = 5, 5, 1000, 0.2, 3.0

READS = ("read parquet", "read csv")
STEPS: dict[str, dict[str, Any]] = {
    "k_core": {"users": CORE, "items": CORE},
    "n_filter": {"users": CORE, "items": CORE},
    "deduplicate": {"keep": "first"},
    "latest": {"n": LAST},
    "threshold": {"at": GRADE},
    "threshold user mean": {"at": "user_mean"},
    "popular_items": {"n": POPULAR},
}
SPLITS: dict[str, dict[str, Any]] = {
    "random_ratio": {},
    "random_ratio per user": {"level": "user"},
    "last_ratio": {},
    "leave_random": {},
    "leave_last": {},
    "last_span": {"span": SPAN},
    "at_time": {"t": T},
    "time_ratio": {},
    "windows": {"span": SPAN, "folds": 2},
    "cold_users": {},
    "strong_generalisation": {},
    "new_users": {},
    "late_users": {"t": LATE},
    "next_after": {"t": T},
    "k_fold": {"folds": 2},
    "k_fold per user": {"folds": 2, "level": "user"},
    "k_fold_users": {"folds": 2},
}
JOBS = (*READS, *STEPS, *SPLITS)


def ours(job: str) -> Run:
    """A step of a recipe or a split, with its ledger."""
    import rectitude as rt
    from rectitude.preparing import prepare

    name = job.split(maxsplit=1)[0]
    if job in STEPS:
        recipe = [{"step": name, **STEPS[job]}]
        return lambda log: [prepare(log, recipe).frame]

    def run(log: Any) -> list[Any]:
        found = rt.split(log, name, **SPLITS[job])
        first = found[0] if isinstance(found, list) else found
        return [first.train.frame, first.truth.frame, found]

    return run


def polars(job: str) -> Run:
    """The same in Polars, as one would write it there."""
    return (polars_steps() if job in STEPS else polars_splits())[job]


def polars_counted(job: str) -> Run:
    """The same in Polars with an account like ours: users and items of the whole and of parts."""
    run = polars(job)

    def counted(f: Any) -> list[Any]:
        parts: list[Any] = run(f)
        account = [part[side].n_unique() for part in (f, *parts) for side in ("user", "item")]
        return parts if all(account) else []

    return counted


def polars_steps() -> dict[str, Run]:
    """Steps of preparing: one filter each, or one until nothing more goes."""
    import polars as pl

    grade, time = pl.col("grade"), pl.col("timestamp")
    enough = [pl.len().over(side) >= CORE for side in ("user", "item")]
    latest = time.rank("ordinal", descending=True).over("user")

    def core(f: Any) -> Any:
        while (left := f.filter(enough[0] & enough[1])).height < f.height:
            f = left
        return f

    def popular(f: Any) -> Any:
        items = f["item"].value_counts(sort=True)["item"].head(POPULAR)
        return f.filter(pl.col("item").is_in(items.implode()))

    return {
        "k_core": lambda f: [core(f)],
        "n_filter": lambda f: [f.filter(enough[0] & enough[1])],
        "deduplicate": lambda f: [f.sort("timestamp").unique(["user", "item"], keep="first")],
        "latest": lambda f: [f.filter(latest <= LAST)],
        "threshold": lambda f: [f.filter(grade >= GRADE)],
        "threshold user mean": lambda f: [f.filter(grade >= grade.mean().over("user"))],
        "popular_items": lambda f: [popular(f)],
    }


def polars_splits() -> dict[str, Run]:
    """Splits: a mask and two filters for most of them; a random one shuffles and cuts."""
    import polars as pl

    time, user, size = pl.col("timestamp"), pl.col("user"), pl.len().over("user")
    drawn = pl.int_range(pl.len()).shuffle(seed=0).over("user")
    latest = time.rank("ordinal", descending=True).over("user")
    share = (RATIO * size).round()

    def halves(f: Any, mask: Any) -> list[Any]:
        chosen = f.select(mask.alias("mask"))["mask"]
        return [f.filter(~chosen), f.filter(chosen)]

    def shuffled(f: Any) -> list[Any]:
        f, held = f.sample(fraction=1, shuffle=True, seed=0), round(RATIO * f.height)
        return [f.head(f.height - held), f.tail(held)]

    def some(f: Any) -> Any:
        return user.is_in(f["user"].unique().sample(fraction=RATIO, seed=0).implode())

    def strong(f: Any, mask: Any) -> list[Any]:
        learnt, evaluated = halves(f, mask)
        shown, truth = halves(evaluated, drawn < share)
        return [learnt, truth, shown]

    def windows(f: Any) -> list[Any]:
        starts = [f["timestamp"].max() + 1 - SPAN * nth for nth in (2, 1)]
        masks = [(time < t, (time >= t) & (time < t + SPAN)) for t in starts]
        return [f.filter(mask) for pair in masks for mask in pair]

    def new(f: Any) -> list[Any]:
        firsts = f.group_by("user").agg(time.min())["timestamp"]
        t = firsts.quantile(1 - RATIO, "nearest")
        return [f.filter(time < t), f.filter(time.min().over("user") >= t)]

    def after(f: Any) -> list[Any]:
        shown, truth = halves(f.filter(time.max().over("user") >= T), latest <= 1)
        return [f.filter(time < T), truth, shown]

    def folds(f: Any, fold: Any) -> list[Any]:
        fold = f.select(fold.alias("fold"))["fold"]
        return [f.filter(mask) for nth in (0, 1) for mask in (fold != nth, fold == nth)]

    def user_folds(f: Any) -> list[Any]:
        users = f["user"].unique().shuffle(seed=0)
        masks = [user.is_in(users[nth::2].implode()) for nth in (0, 1)]
        return [part for mask in masks for part in strong(f, mask)]

    return {
        "random_ratio": shuffled,
        "random_ratio per user": lambda f: halves(f, drawn < share),
        "last_ratio": lambda f: halves(f, latest <= share),
        "leave_random": lambda f: halves(f, (drawn < 1) & (size > 1)),
        "leave_last": lambda f: halves(f, (latest <= 1) & (size > 1)),
        "last_span": lambda f: halves(f, time.max().over("user") - time < SPAN),
        "at_time": lambda f: [f.filter(time < T), f.filter(time >= T)],
        "time_ratio": lambda f: halves(f, time >= f["timestamp"].quantile(1 - RATIO, "nearest")),
        "windows": windows,
        "cold_users": lambda f: halves(f, some(f)),
        "strong_generalisation": lambda f: strong(f, some(f)),
        "new_users": new,
        "late_users": lambda f: halves(f, time.max().over("user") >= LATE),
        "next_after": after,
        "k_fold": lambda f: folds(f, pl.int_range(pl.len()).shuffle(seed=0) % 2),
        "k_fold per user": lambda f: folds(f, drawn % 2),
        "k_fold_users": user_folds,
    }


def replay(job: str) -> Run:
    """RePlay's filters and splitters, on Polars or on pandas frames."""
    from replay import splitters
    from replay.preprocessing import filters

    pair = {"query_column": "user", "item_column": "item"}
    timed = {**pair, "timestamp_column": "timestamp"}
    per_user = {"divide_column": "user", **timed}
    ways: dict[str, Callable[[], Any]] = {
        "k_core": lambda: filters.InteractionEntriesFilter(
            **pair, min_inter_per_user=CORE, min_inter_per_item=CORE
        ),
        "latest": lambda: filters.NumInteractionsFilter(LAST, first=False, **timed),
        "threshold": lambda: filters.LowRatingFilter(GRADE, rating_column="grade"),
        "random_ratio": lambda: splitters.RandomSplitter(RATIO, seed=0, **pair),
        "last_ratio": lambda: splitters.RatioSplitter(RATIO, **per_user),
        "leave_last": lambda: splitters.LastNSplitter(1, **per_user),
        "last_span": lambda: splitters.LastNSplitter(SPAN, strategy="timedelta", **per_user),
        "at_time": lambda: splitters.TimeSplitter(T, **timed),
        "time_ratio": lambda: splitters.TimeSplitter(RATIO, **timed),
        "cold_users": lambda: splitters.ColdUserRandomSplitter(RATIO, seed=0, **pair),
        "new_users": lambda: splitters.NewUsersSplitter(RATIO, **timed),
        "k_fold per user": lambda: splitters.KFolds(2, seed=0, **timed),
    }
    way = ways[job]()
    if job in STEPS:
        return lambda frame: [way.transform(frame)]
    if job == "k_fold per user":
        return lambda frame: [part for fold in way.split(frame) for part in fold]
    return lambda frame: list(way.split(frame))


def recpack(job: str) -> Run:
    """RecPack's filters on a pandas frame, its splitters on its own matrix."""
    from recpack.preprocessing import filters
    from recpack.scenarios import splitters

    pair = {"item_ix": "item", "user_ix": "user"}
    if job == "n_filter":
        both = [
            filters.MinItemsPerUser(CORE, **pair, count_duplicates=True),
            filters.MinUsersPerItem(CORE, **pair, count_duplicates=True),
        ]
        return lambda frame: [both[1].apply(both[0].apply(frame))]
    steps: dict[str, Callable[[], Any]] = {
        "deduplicate": lambda: filters.Deduplicate(**pair, timestamp_ix="timestamp"),
        "threshold": lambda: filters.MinRating(GRADE, rating_ix="grade"),
        "popular_items": lambda: filters.NMostPopular(POPULAR, item_ix="item"),
    }
    if job in steps:
        step = steps[job]()
        return lambda frame: [step.apply(frame)]
    ways: dict[str, Callable[[], Any]] = {
        "random_ratio per user": lambda: splitters.FractionInteractionSplitter(1 - RATIO, seed=0),
        "leave_last": lambda: splitters.MostRecentSplitter(1),
        "at_time": lambda: splitters.TimestampSplitter(T),
        "cold_users": lambda: splitters.StrongGeneralizationSplitter(1 - RATIO, seed=0),
        "late_users": lambda: splitters.UserInteractionTimeSplitter(LATE),
    }
    way = ways[job]()
    return lambda matrix: list(way.split(matrix))


RUNS: dict[str, Callable[[str], Run]] = {
    "rectitude": ours,
    "polars": polars,
    "polars_counted": polars_counted,
    "replay": replay,
    "replay_pandas": replay,
    "recpack": recpack,
}
PEER_JOBS: dict[str, tuple[str, ...]] = {
    "replay": (
        "k_core", "latest", "threshold", "random_ratio", "last_ratio", "leave_last", "last_span",
        "at_time", "time_ratio", "cold_users", "new_users", "k_fold per user",
    ),
    "recpack": (
        *READS, "n_filter", "deduplicate", "threshold", "popular_items", "random_ratio per user",
        "leave_last", "at_time", "cold_users", "late_users",
    ),
}  # fmt: skip
PEER_JOBS["replay_pandas"] = PEER_JOBS["replay"]


def sizes(parts: list[Any]) -> list[int]:
    """How many rows the first two parts have: what is left, or train and truth."""
    return [len(part._df if hasattr(part, "has_timestamps") else part) for part in parts[:2]]


def opened(name: str, path: str, job: str = "") -> Any:
    """The interactions in the form that a contestant works on; a split of RecPack's is on its own
    matrix, as is what it reads."""
    if name == "rectitude":
        from rectitude.data.log import open_log

        return open_log(path)
    if name in ("polars", "polars_counted", "replay"):
        import polars as pl

        return pl.read_csv(path) if path.endswith(".csv") else pl.read_parquet(path)
    import pandas as pd

    frame = pd.read_csv(path) if path.endswith(".csv") else pd.read_parquet(path)
    if name == "recpack" and job not in STEPS:
        from recpack.matrix import InteractionMatrix

        return InteractionMatrix(frame, item_ix="item", user_ix="user", timestamp_ix="timestamp")
    return frame
