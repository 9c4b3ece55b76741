"""Recognising columns: which one is the user, the item, the score.

Names are compared without case, `_`, `-` and spaces, and without RecBole's `:token` suffixes. A
column that bears the exact canonical word wins; otherwise two columns for one role are an error,
because guessing between them would silently change the result. The names are those that columns
have in files and frames of all recommender libraries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rectitude.data.table import ATTRIBUTE, Source, What
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
# Words that only a prediction bears come before words that truth uses as well: a frame with
# `prediction` beside `rating` (Microsoft recommenders, Surprise) is unambiguous.
SCORE = (
    (
        "score", "scores", "prediction", "predictions", "predicted", "pred", "preds",
        "predicted_rating", "predicted_score", "prediction_score", "y_pred", "y_hat", "est",
        "probability", "prob", "logit", "similarity",
    ),
    ("rating", "ratings", "relevance", "rel", "weight"),
)  # fmt: skip
RANK = ("rank", "position", "ranking", "item_rank")
GRADE = (
    "grade", "rating", "ratings", "relevance", "rel", "label", "gain", "weight", "score", "stars",
    "overall", "preference", "y_true",
)  # fmt: skip
TIMESTAMP = (
    "timestamp", "time", "ts", "datetime", "date", "event_time", "event_timestamp", "unix_time",
    "unixReviewTime", "created_at", "InvoiceDate",
)  # fmt: skip
COUNT = (
    "count", "counts", "quantity", "qty", "frequency", "freq", "plays", "playcount", "clicks",
)  # fmt: skip
"""What counts something, so that a number below zero is a mistake."""
SEVERAL = frozenset(("model", "modelname", "run", "system", "fold", "seed"))
"""What tells apart several sets of lists in one table, in its normal form."""
WEIGHT = ("weight", "weights", "list_weight", "sample_weight")

ALIASES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "user": (USER,),
    "item": (ITEM,),
    "score": SCORE,
    "rank": (RANK,),
    "grade": (GRADE,),
    "weight": (WEIGHT,),
    "timestamp": (TIMESTAMP,),
}
ROLES = ("list", "user", "item", "score", "rank", "grade", "weight", "timestamp")
"""All roles, in the order of the columns of a table."""

# What the columns mean where nothing names them: files without a header, tuples.
POSITIONS: Mapping[What, tuple[str, ...]] = {
    "predictions": ("list", "item", "score"),
    "truth": ("list", "item", "grade"),
    "train": ("list", "item", "grade"),
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
    "items": ("item",),
    "users": (),
    "weights": ("weight",),
    "candidates": ("item",),
    "log": ("item",),
}
WELCOME: Mapping[What, tuple[str, ...]] = {
    "predictions": ("score", "rank"),
    "truth": ("grade",),
    "train": ("grade",),
    "items": (),
    "users": (),
    "weights": (),
    "candidates": (),
    "log": ("grade", "timestamp"),
}
KEPT_WHOLE: tuple[What, ...] = ("items", "users")
NAMED_ONLY: Mapping[What, tuple[str, ...]] = {"truth": ("timestamp",), "train": ("timestamp",)}

TYPED = re.compile(r":(token|float)(_seq)?$")
"""How RecBole ends a name: with the type of the column."""


def normal(name: str) -> str:
    """A name as it is compared: no case, no separators, no RecBole type."""
    bare = TYPED.sub("", name.strip())
    return re.sub(r"[\s_\-]", "", bare).lower()


COUNTS = frozenset(map(normal, COUNT))
NORMAL = {
    role: tuple(frozenset(map(normal, tier)) for tier in tiers) for role, tiers in ALIASES.items()
}


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """What is wanted from a source: the kind of table, names given, the key of a list."""

    what: What
    named: Mapping[str, str]
    list_key: str = "user"
    form: str = ""
    """The format of a file, if it was named."""

    @property
    def keyed(self) -> bool:
        """Whether lists have a key of their own, beside the user."""
        return "list" in self.named or (self._has_lists and normal(self.list_key) != "user")

    @property
    def _has_lists(self) -> bool:
        return self.what in ("predictions", "truth", "weights", "candidates")

    def word(self, role: str) -> str:
        """The word for a role in messages and in `columns=`."""
        if role != "list":
            return role
        if not self.keyed:
            return "user"
        return "list" if normal(self.list_key) == "user" else self.list_key

    def words(self, role: str) -> tuple[str, ...]:
        """All names that are recognised for a role, the usual ones first."""
        if role == "list" and self.keyed:
            return (self.list_key, f"{self.list_key}_id")
        return tuple(name for tier in ALIASES[self._plain(role)] for name in tier)

    def tiers(self, role: str) -> tuple[frozenset[str], ...]:
        """The normal forms recognised for a role; a later tier counts if an earlier has none."""
        if role == "list" and self.keyed:
            return (frozenset(map(normal, self.words(role))),)
        return NORMAL[self._plain(role)]

    @staticmethod
    def _plain(role: str) -> str:
        return "user" if role == "list" else role


def wanted(what: What, columns: Mapping[str, str], list_key: str, form: str = "") -> WantedColumns:
    """What is wanted, with the roles in `columns` checked and put in canonical terms."""
    named = {str(role): str(name) for role, name in columns.items()}
    if list_key not in ROLES and list_key in named:
        named["list"] = named.pop(list_key)
    for role in named:
        if role not in ROLES:
            raise unknown_name("role", role, [*ROLES, list_key], where="columns=")
    if what in ("train", "log", "items", "users"):
        # Here the key of a table is always the user, whatever lists are keyed by.
        key = named.pop("list", None)
        if key is not None:
            named.setdefault("user", key)
    return WantedColumns(what, named, list_key, form)


def recognise(source: Source, want: WantedColumns) -> dict[str, str]:
    """Canonical name -> column of the source, for every column that is taken."""
    if source.roles is not None:
        chosen = {**source.roles, **_named(source, want)}
        _require_all(source, want, chosen)
    else:
        chosen = _by_name(source, want)
    _refuse_shared(source, want, chosen)
    chosen = {role: chosen[role] for role in ROLES if role in chosen}
    if want.what in KEPT_WHOLE:
        chosen = _with_the_rest(source, want, chosen)
    return chosen


def attributes(
    source: Source, want: WantedColumns, chosen: Mapping[str, str], keep: Iterable[str]
) -> dict[str, str]:
    """The columns to keep beside the chosen ones; `time` is the timestamp, whatever its name."""
    free = [name for name in source.names if name not in chosen.values()]
    kept = {f"{ATTRIBUTE}{name}": name for name in keep if name in free}
    moments = matches(free, "timestamp", want) if "time" in keep else []
    return kept | ({f"{ATTRIBUTE}time": moments[0]} if len(moments) == 1 else {})


def matches(names: Sequence[str], role: str, want: WantedColumns) -> list[str]:
    """The columns that may fill a role: one, several (ambiguous) or none."""
    exact = [name for name in names if name == want.word(role)]
    if exact:
        return exact
    tiers = ([name for name in names if normal(name) in tier] for tier in want.tiers(role))
    return next((found for found in tiers if found), [])


def names_columns(names: Sequence[str], want: WantedColumns) -> bool:
    """Whether the names are those of columns: all that this kind of table needs is among them."""
    known = [role for role in ("list", "user") if _fits(names, role, want)]
    needed = [_fits(names, role, want) for role in NEEDED[want.what]]
    return all(needed) and (bool(known) or want.what == "items")


def _fits(names: Sequence[str], role: str, want: WantedColumns) -> bool:
    return want.named.get(role) in names or bool(matches(names, role, want))


def _by_name(source: Source, want: WantedColumns) -> dict[str, str]:
    chosen = _named(source, want)
    key = () if want.what == "items" else ("list", "user") if want.keyed else ("list",)
    for role in (*key, *NEEDED[want.what], *WELCOME[want.what]):
        free = [name for name in source.names if name not in chosen.values()]
        found = [] if role in chosen else matches(free, role, want)
        if len(found) > 1:
            raise _ambiguous(source, want, role, found)
        if found:
            chosen[role] = found[0]
        elif role not in chosen and _needs(role, want, {*chosen, *_users(free, want)}):
            raise _missing(source, want, role, free)
    return chosen


def _require_all(source: Source, want: WantedColumns, chosen: Mapping[str, str]) -> None:
    """An error if columns that go by their places are too few for what is needed."""
    missing = [role for role in NEEDED[want.what] if role not in chosen]
    if not missing:
        return
    order = POSITIONS[want.what]
    least = order[: order.index(missing[0]) + 1]
    raise BadTable(
        f"{title(source, want)} has no names of columns, and too few of them: {len(source.names)}.",
        f"{len(least)} or more, in this order: {', '.join(map(want.word, order))}.",
        source.hint,
    )


def _users(names: Sequence[str], want: WantedColumns) -> list[str]:
    return ["user"] if matches(names, "user", want) else []


def _needs(role: str, want: WantedColumns, known: set[str]) -> bool:
    """Whether a role must be filled; a truth keyed by user alone may go without the list's key."""
    if role == "list":
        return not (want.keyed and want.what in ("truth", "weights") and "user" in known)
    return role in NEEDED[want.what]


def _named(source: Source, want: WantedColumns) -> dict[str, str]:
    """The columns named explicitly, for the roles this kind of table has."""
    if source.anonymous:
        return {}
    roles = {*POSITIONS[want.what], *WELCOME[want.what], *NAMED_ONLY.get(want.what, ())}
    named = dict(want.named)
    if "user" in named and want.what != "items":
        named["user" if want.keyed else "list"] = named.pop("user")
        roles.add("user")
    chosen = {role: name for role, name in named.items() if role in roles}
    for role, name in chosen.items():
        if name not in source.names:
            raise _absent(source, want, role, name)
    return chosen


def _with_the_rest(
    source: Source, want: WantedColumns, chosen: Mapping[str, str]
) -> dict[str, str]:
    rest = [name for name in source.names if name not in chosen.values()]
    twice = [name for name in rest if name in chosen or rest.count(name) > 1]
    if twice:
        raise BadTable(
            f"{title(source, want)} has two columns that would be called {twice[0]!r}.",
            "each column to have a name of its own.",
            "rename or drop one of them.",
        )
    return {**chosen, **{name: name for name in rest}}


def _refuse_shared(source: Source, want: WantedColumns, chosen: Mapping[str, str]) -> None:
    for role, name in chosen.items():
        if list(source.names).count(name) > 1:
            raise _ambiguous(source, want, role, [name, name])
        others = [other for other in chosen if chosen[other] == name and other != role]
        if others:
            raise BadTable(
                f"{title(source, want)}: column {name!r} is named for two roles,"
                f" {want.word(role)} and {want.word(others[0])}.",
                "one column for each role.",
            )


def title(source: Source, want: WantedColumns) -> str:
    """The table in words, as errors begin."""
    return f"{want.what} ({source.label})"


def listed(names: Iterable[str]) -> str:
    """Names in quotes; a few of them if there are many."""
    quoted = [repr(name) for name in names] or ["none"]
    return ", ".join(quoted[:12]) + (f", ... ({len(quoted)} in all)" if len(quoted) > 12 else "")


def _missing(source: Source, want: WantedColumns, role: str, free: Sequence[str]) -> BadTable:
    word = want.word(role)
    guess = next((close for name in want.words(role) if (close := nearest(name, free))), "")
    name = guess.split(" or ")[0].strip("'\"") or "NAME"
    ask = f"did you mean {guess}? " if guess else ""
    advice = f"{ask}name it with columns={{{word!r}: {name!r}}} or --columns {word}={name}."
    return BadTable(
        f"{title(source, want)} has no {word} column; its columns: {listed(source.names)}.",
        f"one named {', '.join(want.words(role)[:6])} or the like.",
        "\n  ".join(filter(None, [advice, source.hint])),
    )


def _ambiguous(source: Source, want: WantedColumns, role: str, found: Sequence[str]) -> BadTable:
    word, first = want.word(role), found[0]
    choose = f"choose with columns={{{word!r}: {first!r}}} or --columns {word}={first}."
    return BadTable(
        f"{title(source, want)}: the {word} column is ambiguous,"
        f" {' and '.join(map(repr, found))} all fit.",
        f"one column for the {word}.",
        choose if len(set(found)) > 1 else "rename or drop one of them.",
    )


def _absent(source: Source, want: WantedColumns, role: str, name: str) -> BadTable:
    guess = nearest(name, source.names)
    ask = f"did you mean {guess}?" if guess else ""
    return BadTable(
        f"{title(source, want)} has no column {name!r}, named for the {want.word(role)}.",
        f"one of its columns: {listed(source.names)}.",
        "\n  ".join(filter(None, [ask, source.hint])),
    )
