"""Recognise columns by name: which one is the user, the item, the score.

Names are compared without case, `_`, `-` and spaces, and without RecBole's `:token` suffixes. A
column with the exact canonical name wins. Otherwise, two columns that fit one role are an error,
because guessing between them would silently change the result. The lists below collect the column
names that recommender libraries use in their files and frames.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from rectitude.data.table import ATTRIBUTE, Source, Table, What
from rectitude.errors import BadTable, nearest, unknown_name

USER = (
    "user", "user_id", "userId", "uid", "user_idx", "user_index", "user_no", "query", "query_id",
    "qid", "query_idx", "customer_id", "visitor_id", "reviewer_id", "target_item_id",
)  # fmt: skip
ITEM = (
    "item", "item_id", "itemId", "iid", "item_idx", "item_index", "item_no", "items", "item_ids",
    "movieId", "doc", "doc_id", "docno", "document", "document_id", "corpus_id", "passage_id",
    "product_id", "article_id",
    "track_id", "song_id", "book_id", "isbn", "asin", "business_id", "news_id", "video_id",
)  # fmt: skip
# Names that only predictions use come before names that the truth uses as well. A frame with both
# `prediction` and `rating` (Microsoft recommenders, Surprise) is therefore unambiguous.
SCORE = (
    (
        "score", "scores", "prediction", "predictions", "predicted", "pred", "preds",
        "predicted_rating", "predicted_score", "prediction_score", "y_pred", "y_hat", "est",
        "probability", "prob", "logit", "similarity",
    ),
    ("rating", "ratings", "relevance", "rel", "weight"),
)  # fmt: skip
RANK = ("rank", "position", "ranking", "item_rank")
# A `score` is a grade only if nothing better is there: one frame may hold scores and labels.
GRADE = (
    (
        "grade", "rating", "ratings", "relevance", "rel", "label", "gain", "weight", "stars",
        "overall", "preference", "y_true", "r_ui",
    ),
    ("score",),
)  # fmt: skip
TIMESTAMP = (
    "timestamp", "time", "ts", "datetime", "date", "event_time", "event_timestamp", "unix_time",
    "unixReviewTime", "created_at", "InvoiceDate",
)  # fmt: skip
COUNT = (
    "count", "counts", "quantity", "qty", "frequency", "freq", "plays", "playcount", "clicks",
)  # fmt: skip
"""Names of columns that hold counts, in which a negative number is a mistake."""
SEVERAL = frozenset(("model", "modelname", "run", "system", "fold", "seed"))
"""Normalised names of columns that separate several sets of lists in one table."""
SUBTOPIC = ("subtopic", "subtopic_id", "intent", "intent_id")
WEIGHT = ("weight", "weights", "list_weight", "sample_weight")
LOWER_IS_BETTER = ("distance", "dist", "loss", "cost", "error", "energy", "perplexity", "nll")
"""Names of numbers that are best when they are low, unlike scores."""

ALIASES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "user": (USER,),
    "item": (ITEM,),
    "score": SCORE,
    "rank": (RANK,),
    "grade": GRADE,
    "weight": (WEIGHT,),
    "timestamp": (TIMESTAMP,),
    "subtopic": (SUBTOPIC,),
}
ROLES = ("list", "user", "item", "score", "rank", "grade", "weight", "timestamp", "subtopic")
"""All roles, in the order of the columns of a table."""

# The roles of columns without names, in order: files without a header, tuples.
POSITIONS: Mapping[What, tuple[str, ...]] = {
    "predictions": ("list", "item", "score"),
    "truth": ("list", "item", "grade"),
    "train": ("list", "item", "grade"),
    "seen": ("list", "item", "grade"),
    "items": ("item",),
    "users": ("list",),
    "weights": ("list", "weight"),
    "candidates": ("list", "item"),
    "log": ("list", "item", "grade", "timestamp"),
}
NEEDED: Mapping[What, tuple[str, ...]] = {
    "predictions": ("item",),
    "truth": ("item",),
    "train": ("item",),
    "seen": ("item",),
    "items": ("item",),
    "users": (),
    "weights": ("weight",),
    "candidates": ("item",),
    "log": ("item",),
}
WELCOME: Mapping[What, tuple[str, ...]] = {
    "predictions": ("score", "rank"),
    "truth": ("grade", "subtopic"),
    "train": ("grade",),
    "seen": ("grade",),
    "items": (),
    "users": (),
    "weights": (),
    "candidates": (),
    "log": ("grade", "timestamp"),
}
KEPT_WHOLE: tuple[What, ...] = ("items", "users")
NAMED_ONLY: Mapping[What, tuple[str, ...]] = {
    "truth": ("timestamp",),
    "train": ("timestamp",),
    "seen": ("timestamp",),
}

_FEW = 3
"""Lists that are shorter than this have too few numbers to tell ranks from scores."""
TYPED = re.compile(r":(token|float)(_seq)?$")
"""RecBole's suffix of a column name: the type of the column."""
SEQUENCE = (":token_seq", ":float_seq")
"""The types of columns that hold several values, separated by spaces."""
_ROW_INDEX = (
    r"^(unnamed:? ?\d+|(__)?index(_level_\d+__)?|level_\d+|row|row[_ ]?(number|num|nr)"
    r"|id|idx|key|no|num|)$"
)
"""Names of columns that number the rows, and say nothing else."""
_INDEX = (
    rf"(?i){_ROW_INDEX}"
    r"|(^|[_\-\s.])(id|ids|idx|index|key|no|num)$|[a-z](?-i:Ids?|ID|Idx|Index)$"
)
"""Names of columns that hold an index or ids, so they cannot be scores."""
_RANK = r"(?i)rank|rnk|position|(^|[^a-z])(pos|order(?!.?ids?$)|place|slot|top[kn]?)([^a-z]|$)"
"""Names of columns that count places in a list, of which the lowest is the best."""


def untyped(name: str) -> str:
    """Return the name of a column without RecBole's type."""
    return TYPED.sub("", name.strip())


def normal(name: str) -> str:
    """Return a name in the form used for comparison: no case, separators or RecBole type."""
    return re.sub(r"[\s_\-]", "", untyped(name)).lower()


COUNTS = frozenset(map(normal, COUNT))
NORMAL = {
    role: tuple(frozenset(map(normal, tier)) for tier in tiers) for role, tiers in ALIASES.items()
}
RANKED_NAMES = NORMAL["score"][0] | NORMAL["rank"][0]
"""Normalised names of columns that ranked lists have, and a truth rarely."""
LOG_NAMES = NORMAL["timestamp"][0] | (NORMAL["grade"][0] - RANKED_NAMES)
"""Normalised names of columns that interactions have, and ranked lists rarely."""
_ROLE_NAMES = frozenset(name for tiers in NORMAL.values() for tier in tiers for name in tier)


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """The request to a source: the kind of table, explicit column names, the key of lists."""

    what: What
    named: Mapping[str, str]
    list_key: str = "user"
    form: str = ""
    """The format of the file, if the user named one."""

    @property
    def keyed(self) -> bool:
        """Whether lists have a key other than the user, such as a session."""
        return "list" in self.named or (self._has_lists and normal(self.list_key) != "user")

    @property
    def wrapper(self) -> str:
        """The class that names the columns and the format of such a table."""
        return "rt.Lists" if self.what == "predictions" else "rt.Interactions"

    @property
    def _has_lists(self) -> bool:
        return self.what in ("predictions", "truth", "weights", "candidates")

    def word(self, role: str) -> str:
        """Return the name of a role as messages and `columns=` use it."""
        if role != "list":
            return role
        if not self.keyed:
            return "user"
        return "list" if normal(self.list_key) == "user" else self.list_key

    def words(self, role: str) -> tuple[str, ...]:
        """Return all column names recognised for a role, the most common first."""
        if role == "list" and self.keyed:
            return (self.list_key, f"{self.list_key}_id")
        return tuple(name for tier in ALIASES[self._plain(role)] for name in tier)

    def tiers(self, role: str) -> tuple[frozenset[str], ...]:
        """Return the normalised names for a role; a later tier counts only if earlier ones fail."""
        if role == "list" and self.keyed:
            return (frozenset(map(normal, self.words(role))),)
        return NORMAL[self._plain(role)]

    @staticmethod
    def _plain(role: str) -> str:
        return "user" if role == "list" else role


def split_columns(what: What, columns: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns that are named for this kind of table alone, such as `truth.item`, and
    those that are named for every table, such as `item`."""
    own, general = {}, {}
    for key, name in columns.items():
        table, dot, role = str(key).rpartition(".")
        if dot and table not in POSITIONS:
            raise unknown_name("table", table, POSITIONS, where="columns=")
        if not dot:
            general[role] = name
        elif table == what:
            own[role] = name
    return own, general


def find_unused(columns: Mapping[str, str], tables: Iterable[Table]) -> dict[str, str]:
    """Return the columns that were named for every table, and that no table has."""
    origins = {name for table in tables for name in table.columns.values()}
    used = origins | {name.partition(".")[0] for name in origins}  # fields of a nested column
    return {role: name for role, name in columns.items() if "." not in role and name not in used}


def want_columns(
    what: What, columns: Mapping[str, str], list_key: str, form: str = ""
) -> WantedColumns:
    """Return the request, with the roles in `columns` checked and made canonical."""
    named = {str(role): str(name) for role, name in columns.items()}
    if list_key not in ROLES and list_key in named:
        named["list"] = named.pop(list_key)
    for role in named:
        if role not in ROLES:
            raise unknown_name("role", role, {*ROLES, list_key}, where="columns=")
    if what in ("train", "seen", "log", "items", "users"):
        # The key of these tables is always the user, even if lists have another key.
        key = named.pop("list", None)
        if key is not None:
            named.setdefault("user", key)
    return WantedColumns(what, named, list_key, form)


def recognise(source: Source, want: WantedColumns) -> dict[str, str]:
    """Map canonical names to columns of the source, for every column to read."""
    if source.roles is not None:
        named = _take_named(source, want)
        kept = {role: name for role, name in source.roles.items() if name not in named.values()}
        chosen = {**kept, **named}
        _require_all(source, want, chosen)
    else:
        chosen = _choose_by_name(source, want)
    _refuse_shared(source, want, chosen)
    chosen = {role: chosen[role] for role in ROLES if role in chosen}
    if want.what in KEPT_WHOLE:
        chosen = _add_other_columns(source, want, chosen)
    return chosen


def attributes(
    source: Source, want: WantedColumns, chosen: Mapping[str, str], keep: Iterable[str]
) -> dict[str, str]:
    """Map further columns to keep; `time` stands for the timestamp under any of its names."""
    free = [name for name in source.names if name not in chosen.values()]
    kept = {f"{ATTRIBUTE}{untyped(name)}": name for name in free if {name, untyped(name)} & {*keep}}
    moments = matches(free, "timestamp", want) if "time" in keep else []
    return kept | ({f"{ATTRIBUTE}time": moments[0]} if len(moments) == 1 else {})


def matches(names: Sequence[str], role: str, want: WantedColumns) -> list[str]:
    """Return the columns that fit a role: one, several (ambiguous) or none."""
    exact = [name for name in names if name == want.word(role)]
    if exact:
        return exact
    tiers = ([name for name in names if normal(name) in tier] for tier in want.tiers(role))
    fitting = next((columns for columns in tiers if columns), [])
    ids = {normal(name) for name in fitting}
    return [name for name in fitting if f"{normal(name)}id" not in ids]  # `query`: its text


def names_columns(names: Sequence[str], want: WantedColumns) -> bool:
    """Whether these are column names: they include every role this kind of table needs."""
    keys = [role for role in ("list", "user") if _fits(names, role, want)]
    needed = [_fits(names, role, want) for role in NEEDED[want.what]]
    return all(needed) and (bool(keys) or want.what == "items")


def _fits(names: Sequence[str], role: str, want: WantedColumns) -> bool:
    return want.named.get(role) in names or bool(matches(names, role, want))


def _choose_by_name(source: Source, want: WantedColumns) -> dict[str, str]:
    chosen = _take_named(source, want)
    keys = () if want.what == "items" else ("list", "user") if want.keyed else ("list",)
    for role in (*keys, *NEEDED[want.what], *WELCOME[want.what]):
        free = [name for name in source.names if name not in chosen.values()]
        fitting = [] if role in chosen else matches(free, role, want)
        if len(fitting) > 1:
            raise _ambiguous_column(source, want, role, fitting)
        if fitting:
            chosen[role] = fitting[0]
        elif role not in chosen and _must_fill(role, want, {*chosen, *_find_user_role(free, want)}):
            raise _missing_column(source, want, role, free)
    return chosen


def _require_all(source: Source, want: WantedColumns, chosen: Mapping[str, str]) -> None:
    """Raise an error if a source without column names has too few columns."""
    missing = [role for role in NEEDED[want.what] if role not in chosen]
    if not missing:
        return
    order = POSITIONS[want.what]
    least = order[: order.index(missing[0]) + 1]
    raise BadTable(
        f"{title(source, want)} has no column names and only {len(source.names)} columns.",
        f"at least {len(least)} columns, in this order: {', '.join(map(want.word, order))}.",
        source.hint,
    )


def _find_user_role(names: Sequence[str], want: WantedColumns) -> list[str]:
    return ["user"] if matches(names, "user", want) else []


def _must_fill(role: str, want: WantedColumns, filled: set[str]) -> bool:
    """Whether a role must be filled; a truth with a user column may lack the key of lists."""
    if role == "list":
        return not (want.keyed and want.what in ("truth", "weights") and "user" in filled)
    return role in NEEDED[want.what]


def _take_named(source: Source, want: WantedColumns) -> dict[str, str]:
    """Return the explicitly named columns whose roles this kind of table has."""
    if source.anonymous:  # its columns are called by their roles
        for role, name in want.named.items():
            if name not in source.names:
                raise _absent_column(source, want, role, name)
        return {}
    roles = {*POSITIONS[want.what], *WELCOME[want.what], *NAMED_ONLY.get(want.what, ())}
    named = dict(want.named)
    if "user" in named and want.what != "items":
        named["user" if want.keyed else "list"] = named.pop("user")
        roles.add("user")
    chosen = {role: name for role, name in named.items() if role in roles}
    for role, name in chosen.items():
        if name not in source.names:
            raise _absent_column(source, want, role, name)
    return chosen


def _add_other_columns(
    source: Source, want: WantedColumns, chosen: Mapping[str, str]
) -> dict[str, str]:
    others = [name for name in source.names if name not in chosen.values()]
    bare = [untyped(name) for name in others]
    repeated = [name for name in bare if name in chosen or bare.count(name) > 1]
    if repeated:
        raise BadTable(
            f"{title(source, want)} has two columns that would both be called {repeated[0]!r}.",
            "a different name for each column.",
            "rename or drop one of them.",
        )
    return {**chosen, **dict(zip(bare, others, strict=True))}


def _refuse_shared(source: Source, want: WantedColumns, chosen: Mapping[str, str]) -> None:
    for role, name in chosen.items():
        if list(source.names).count(name) > 1:
            raise _ambiguous_column(source, want, role, [name, name])
        others = [other for other in chosen if chosen[other] == name and other != role]
        if others:
            raise BadTable(
                f"{title(source, want)}: column {name!r} has two roles,"
                f" {want.word(role)} and {want.word(others[0])}.",
                "a different column for each role.",
                "name another column for one of the two roles.",
            )


def has_names_of_other_side(predictions: Table, truth: Table) -> bool:
    """Whether predictions may have been swapped with the truth, by the names of their columns.

    Tables without column names, such as dicts, may always have been.
    """
    ranked, logged = (
        {normal(name) for name in (*table.columns.values(), *table.left)}
        for table in (truth, predictions)
    )
    nameless = not any((*predictions.columns.values(), *truth.columns.values()))
    return bool(ranked & RANKED_NAMES or logged & LOG_NAMES) or nameless


def may_be_score(name: str) -> bool:
    """Whether a column could be a score: it is no index, no id, and has no known role."""
    known = normal(name) in _ROLE_NAMES | SEVERAL
    return not known and not re.search(_INDEX, untyped(name))


def may_be_index(name: str) -> bool:
    """Whether a column holds an index or ids, and has no known role."""
    known = normal(name) in _ROLE_NAMES | SEVERAL
    return not known and bool(re.search(_INDEX, untyped(name)))


def may_be_rank(lists: pl.Series, index: pl.Series) -> bool:
    """Whether an index could be the rank of lists whose rows have another order.

    That is so if it descends anywhere in a list and its name fits, such as `idx` or `rank_id`.
    Other ids, such as `category_id`, must number the rows of every list from 0 or 1.
    """
    if index.is_sorted():
        return False
    rows, number = pl.DataFrame({"list": lists, "number": index}), pl.col("number")
    if not rows.select((number < number.shift(1).over("list")).any()).item():
        return False
    if re.match(_ROW_INDEX, index.name, re.IGNORECASE) or re.search(_RANK, untyped(index.name)):
        return True
    first, last = number.min(), number.max()
    counts = (first >= 0) & (first <= 1) & (last - first + 1 == pl.len())
    complete = counts & (number.n_unique() == pl.len())
    return bool(rows.group_by("list").agg(complete.alias("complete"))["complete"].all())


def order_of_places(lists: pl.Series, number: pl.Series) -> Literal["", "rising", "mixed"]:
    """Return how a column numbers the items of every list from 0 or 1: rising from row to row, or
    in a mixed order; empty if it does not, or if it falls, as scores do, or if lists are short."""
    if not number.dtype.is_numeric() or number.null_count() or not len(number):
        return ""
    if not (number == number.floor()).all():
        return ""
    rows, place = pl.DataFrame({"list": lists, "number": number}), pl.col("number")
    first, last = place.min(), place.max()
    steps = place.diff().drop_nulls()
    by_list = rows.group_by("list").agg(
        complete=(first >= 0) & (first <= 1) & (last - first + 1 == pl.len())
        & (place.n_unique() == pl.len()),
        rising=(steps > 0).all(), falling=(steps < 0).all(), size=pl.len(),
    )  # fmt: skip
    if not by_list["complete"].all() or int(by_list["size"].max() or 0) < _FEW:  # type: ignore[arg-type]
        return ""
    if by_list["rising"].all():
        return "rising"
    return "" if by_list["falling"].all() else "mixed"


def require_order(table: Table) -> None:
    """Raise an error if a table of lists has no score or rank, but numbers that may be either."""
    if table.given or not table.unclear or {"score", "rank"} & {*table.frame.columns}:
        return
    name, several = table.unclear[0], len(table.unclear) > 1
    role = "rank" if may_be_index(name) or re.search(_RANK, name) else "score"
    low = role == "score" and any(word in normal(name) for word in LOWER_IS_BETTER)
    naming = "lowest first, negate it and name it" if low else "name it"
    raise BadTable(
        f"predictions ({table.source}): no column was recognised as score or rank, but"
        f" {quote_names(table.unclear)} contain{'' if several else 's'} numbers.",
        "a score or rank column, or a statement that the rows of each list are already in order.",
        f"if {name!r} orders the lists, {naming}: columns={{{role!r}: {name!r}}},"
        f" rt.Lists(table, {role}={name!r}) or --columns {role}={name}.\n  if the rows are already"
        " in order, say so: rt.Lists(table, ordered=True), convention={'order': 'given'} or"
        " --convention order=given.",
    )


def title(source: Source, want: WantedColumns) -> str:
    """Return the name of the table for error messages, such as `truth (test.csv)`."""
    return f"{want.what} ({source.label})"


def quote_names(names: Iterable[str]) -> str:
    """Return the names in quotes, shortened if there are many."""
    quoted = [repr(name) for name in names] or ["none"]
    return ", ".join(quoted[:12]) + (f", ... ({len(quoted)} in all)" if len(quoted) > 12 else "")


def _missing_column(
    source: Source, want: WantedColumns, role: str, free: Sequence[str]
) -> BadTable:
    word = want.word(role)
    guess = next((close for name in want.words(role) if (close := nearest(name, free))), "")
    name = guess.split(" or ")[0].strip("'\"") or "NAME"
    ask = f"did you mean {guess}? " if guess else ""
    advice = f"{ask}name it with columns={{{word!r}: {name!r}}} or --columns {word}={name}."
    return BadTable(
        f"{title(source, want)} has no {word} column; its columns: {quote_names(source.names)}.",
        f"a column named {', '.join(want.words(role)[:6])} or similar.",
        "\n  ".join(filter(None, [advice, source.hint])),
    )


def _ambiguous_column(
    source: Source, want: WantedColumns, role: str, columns: Sequence[str]
) -> BadTable:
    word, first = want.word(role), columns[0]
    choose = f"choose with columns={{{word!r}: {first!r}}} or --columns {word}={first}."
    return BadTable(
        f"{title(source, want)}: the {word} column is ambiguous; several columns fit:"
        f" {', '.join(map(repr, columns))}.",
        f"one column for the {word}.",
        choose if len(set(columns)) > 1 else "rename or drop one of them.",
    )


def _absent_column(source: Source, want: WantedColumns, role: str, name: str) -> BadTable:
    guess = nearest(name, source.names)
    ask, key = f"did you mean {guess}?" if guess else "", want.word(role)
    alone = (
        f"name it there: rt.Lists(table, {role}={name!r})."
        if role in ("score", "rank")
        else f"say which: columns={{'predictions.{key}': {name!r}}} or --columns"
        f" predictions.{key}={name}."
    )
    alone = f"if only one of several tables has it, {alone}"
    return BadTable(
        f"{title(source, want)} has no column {name!r}, which was named as the"
        f" {want.word(role)} column.",
        f"one of its columns: {quote_names(source.names)}.",
        "\n  ".join(filter(None, [ask, alone, source.hint])),
    )
