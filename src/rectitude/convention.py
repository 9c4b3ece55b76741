"""Every choice on which frameworks disagree. Read this file before you compare two numbers.

A `Convention` is one frozen value. Each field is a `Switch` with a stage, choices, a default
and one sentence for the switch and for each choice. Profiles set switches by name. Metrics declare
the switches they obey as keyword-only parameters. The documentation and `Evaluation.definition`
print the sentences.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, cast

from rectitude.errors import BadArgument, nearest, unknown_name

Stage = Literal["truth", "order", "judge", "metrics", "aggregate", "present"]
Threshold = float | Literal["any"] | None
"""Which grades are relevant: those at or above a number, any, or (None) those above 0."""


def switch(stage: Stage, default: str, about: str, *, table: str = "", **choices: str) -> Any:
    """Declare a switch with named choices, each explained in one sentence. `table` explains what a
    table of numbers by grade means, if one can be set in place of a choice."""
    texts = {"stage": stage, "about": about, "choices": choices, "table": table}
    return field(default=default, metadata=texts)


def number(
    stage: Stage, default: float | None, about: str, least: float | None, **words: str
) -> Any:
    """Declare a switch whose value is a number, None or one of a few words, each explained."""
    facts = {"stage": stage, "about": about, "least": least, "words": words}
    return field(default=default, metadata=facts)


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch: its stage, its choices, and the sentences that explain them."""

    name: str
    stage: Stage
    about: str
    default: str | float | None
    choices: Mapping[str, str]
    least: float | None = None
    table: str = ""
    """what a table of numbers by grade means, if one can be set in place of a choice"""
    words: Mapping[str, str] = field(default_factory=dict)
    """the words that can be set in place of a number, each explained"""

    def explain(self, choice: str) -> str:
        """Return the sentence that explains a choice, or "" if this version does not know it."""
        return self.table if self.table and is_table(choice) else self.choices.get(choice, "")


def switches_of(declared: type) -> dict[str, Switch]:
    """Return the switches that a dataclass declares, by name."""
    switches: dict[str, Switch] = {}
    for f in dataclasses.fields(declared):
        texts = {"choices": {}, "least": None, **f.metadata}
        switches[f.name] = Switch(f.name, default=cast("str | float | None", f.default), **texts)
    return switches


def check_value(switch: Switch, value: Any) -> Any:
    """Return a valid value of a switch, or raise an error that lists its choices."""
    if not switch.choices:
        is_word = isinstance(value, str) and value in switch.words
        return value if is_word else _check_number(switch, value)
    if isinstance(value, str) and value in switch.choices:
        return value
    if switch.table and is_table(value):
        return format_gains(value)
    note = "" if nearest(str(value), switch.choices) else switch.about
    where = f"switch {switch.name!r}"
    raise unknown_name("choice", str(value), switch.choices, where=where, note=note)


def _check_number(switch: Switch, value: Any) -> float | int | None:
    if value is None:
        return None
    whole = switch.name == "decimals"
    real = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    low = -math.inf if switch.least is None else switch.least
    if not real or value < low or (whole and value != int(value)):
        least = f" of at least {switch.least:g}" if switch.least is not None else ""
        kind = "a whole number" if whole else "a finite number"
        words = "".join(f", {word!r}" for word in switch.words)
        raise BadArgument(
            f"switch {switch.name!r} is {value!r}.", f"{kind}{least}{words}, or None.", switch.about
        )
    return int(value) if whole else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """What a number means: a value for every switch, with the default that rectitude uses."""

    relevant_from: float | Literal["any"] | None = number(
        "truth",
        None,
        "The lowest grade that is relevant; none means every grade above 0, any means every grade.",
        None,
        any="every row of the truth is relevant, even with a grade of 0 or below",
    )
    negative_grades: Literal["nonrelevant", "unjudged", "sampled"] = switch(
        "truth",
        "nonrelevant",
        "What a grade below 0 in the truth means.",
        nonrelevant="the item was judged and is not relevant",
        unjudged="the item was not judged",
        sampled="the item was sampled for judging but not judged: infap uses this, and other "
        "metrics treat the item as not relevant",
    )
    duplicate_truth: Literal["error", "once", "counted", "one_hit"] = switch(
        "truth",
        "error",
        "What happens if the truth contains the same list and item twice.",
        error="an error is raised",
        once="only the row with the highest grade counts",
        counted="every row counts, so one recommended item can be two hits",
        one_hit="every row counts as a relevant item, but a recommended item is one hit, with the "
        "highest of its grades",
    )
    unknown_users: Literal["keep", "drop", "tied", "error"] = switch(
        "truth",
        "keep",
        "What happens to users in the truth who are not in the training data.",
        keep="they are evaluated like all other users",
        drop="they are left out",
        tied="they are evaluated; in dense scores all their items get the same score",
        error="an error is raised",
    )
    unknown_items: Literal["keep", "drop", "lowest", "error"] = switch(
        "truth",
        "keep",
        "What happens to items in the truth that are not in the training data.",
        keep="they stay relevant, so they are misses unless they are recommended",
        drop="they are removed from the truth",
        lowest="they stay relevant; in each row of dense scores, an item without a column gets the "
        "lowest score of that row",
        error="an error is raised",
    )
    order: Literal["auto", "rank", "given", "score"] = switch(
        "order",
        "auto",
        "What determines the order of a list.",
        auto="the rank column if there is one, else the order of the items if they were passed as "
        "lists, else the score",
        rank="the rank column, ascending",
        given="the order in which the items are given",
        score="the score column, descending",
    )
    ranks: Literal["renumbered", "kept"] = switch(
        "order",
        "renumbered",
        "What the numbers of a rank column mean.",
        renumbered="only an order: the items of a list have the ranks 1, 2, 3, ...",
        kept="the ranks themselves: a gap is an empty rank, and several items can share a rank",
    )
    ties: Literal[
        "pessimistic",
        "optimistic",
        "average",
        "given",
        "item_ascending",
        "item_descending",
        "error",
    ] = switch(
        "order",
        "pessimistic",
        "How items with equal scores are ordered. If their grades are equal, too, a metric that "
        "looks at the items takes them by item id, ascending, unless the rule names an order.",
        pessimistic="lower grades first: relevant items rank below the items they tie with",
        optimistic="higher grades first: relevant items rank above the items they tie with",
        average="in every possible order: the value is the mean over all of them; a metric without "
        "a formula for this mean raises an error",
        given="in the order in which they are given",
        item_ascending="by item id, ascending",
        item_descending="by item id, descending",
        error="an error is raised if their order matters",
    )
    score_precision: Literal["float64", "float32", "logistic"] = switch(
        "order",
        "float64",
        "The precision at which scores are compared.",
        float64="unchanged",
        float32="rounded to float32, which can turn close scores into ties",
        logistic="float32 of 1 / (1 + exp(-score)), in rows that have a score outside 0 to 1",
    )
    duplicates: Literal["error", "first", "counted", "one_hit", "joined"] = switch(
        "order",
        "error",
        "What happens if a list contains an item twice.",
        error="an error is raised",
        first="the item keeps its best rank, and its other occurrences are removed",
        counted="every occurrence takes a rank and can be a hit",
        one_hit="every occurrence takes a rank, but only the first can be a hit",
        joined="every occurrence takes a rank and can be a hit, and a relevant item counts as "
        "often as the list contains it, even below the cutoff",
    )
    own_item: Literal["kept", "removed"] = switch(
        "order",
        "kept",
        "What happens to an item whose id is the key of its list, as if a query is also a "
        "document.",
        kept="it is an item like any other",
        removed="it is removed from the list before ranks are assigned",
    )
    seen: Literal["removed", "last", "kept"] = switch(
        "order",
        "removed",
        "What happens in dense scores to items that count as seen.",
        removed="they are not recommended and take no rank",
        last="they are ranked after all other items and tie with each other",
        kept="they are ranked by their scores like all other items",
    )
    seen_items: Literal["all", "outside_truth", "relevant_outside_truth"] = switch(
        "order",
        "all",
        "Which items in a user's training data count as seen.",
        all="all of them",
        outside_truth="all except those that are relevant in the truth",
        relevant_outside_truth="those with a relevant grade in the training data, except those "
        "that are relevant in the truth",
    )
    candidates: Literal["given", "with_truth"] = switch(
        "judge",
        "given",
        "Which items are ranked if candidates are given.",
        given="only the candidates",
        with_truth="the candidates and the items of the truth",
    )
    list_end: Literal["none", "cutoff", "last_cutoff"] = switch(
        "judge",
        "none",
        "Where lists are cut before any metric is computed.",
        none="nowhere: the whole list is used",
        cutoff="at the metric's own cutoff; ties are averaged among the remaining items",
        last_cutoff="at the cutoff of the last metric that is requested",
    )
    hit_scores: Literal["any", "positive"] = switch(
        "judge",
        "any",
        "Which scores allow a relevant item to be a hit.",
        any="all scores",
        positive="scores above 0; other relevant items keep their ranks but count as misses",
    )
    unjudged: Literal["kept", "dropped"] = switch(
        "judge",
        "kept",
        "What happens to recommended items that the truth does not judge.",
        kept="they take a rank and count as not relevant",
        dropped="they are removed before ranks are assigned",
    )
    scores_from: float | None = number(
        "judge",
        None,
        "The lowest score of a recommended item: items with lower scores are removed from their "
        "lists. None keeps all items.",
        None,
    )
    gain: Literal["binary", "linear", "signed", "exp2", "exp2_above"] = switch(
        "metrics",
        "binary",
        "How the gain of an item follows from its grade.",
        table="the gain of each grade from a table such as {1: 3, 2: 7}; a grade that is not in "
        "the table is its own gain",
        binary="1 for any grade",
        linear="the grade",
        signed="the grade, even below 0: such an item lowers the sum of the list and of the ideal "
        "list",
        exp2="2^grade - 1",
        exp2_above="2^(grade - relevant_from + 1) - 1: at least 1 for a relevant item; without a "
        "threshold, 2^(grade + 1) - 1",
    )
    gain_from: Literal["relevant", "positive"] = switch(
        "metrics",
        "relevant",
        "Which items have a gain.",
        relevant="relevant items",
        positive="every item with a grade above 0, even below the relevance threshold",
    )
    discount: Literal["log", "log_from_second", "position"] = switch(
        "metrics",
        "log",
        "How the gain of an item is discounted by its rank.",
        log="1 / log2(rank + 1)",
        log_from_second="1 / max(1, log2(rank)): ranks 1 and 2 have the same weight",
        position="1 / rank",
    )
    discount_by: Literal["rank", "place"] = switch(
        "metrics",
        "rank",
        "What the discount depends on.",
        rank="the rank in the list",
        place="the position in the truth: the order of the list does not matter",
    )
    ideal: Literal["reachable", "reachable_returned", "k", "returned", "found", "listed"] = switch(
        "metrics",
        "reachable",
        "The ideal list that NDCG divides by.",
        reachable="the highest gains in the truth, up to the cutoff",
        reachable_returned="the highest gains in the truth, up to the cutoff and the list length",
        k="a hit at every rank up to the cutoff, however many relevant items there are",
        returned="a hit at every rank that has an item, up to the cutoff",
        found="the hits up to the cutoff, moved to the top: missed items cost nothing",
        listed="the hits in the whole list, moved to the top and cut at the cutoff",
    )
    precision_over: Literal["k", "returned", "reachable", "reachable_returned"] = switch(
        "metrics",
        "k",
        "What precision divides by.",
        k="the cutoff, even if the list is shorter; without a cutoff, the length of the list",
        returned="the number of items returned up to the cutoff",
        reachable="the smaller of the cutoff and the number of relevant items",
        reachable_returned="the smallest of (cutoff, number of relevant items, number of items "
        "returned)",
    )
    recall_over: Literal["relevant", "reachable"] = switch(
        "metrics",
        "relevant",
        "What recall divides by.",
        relevant="the number of relevant items",
        reachable="the smaller of the cutoff and the number of relevant items",
    )
    ap_over: Literal["relevant", "reachable", "reachable_returned", "k", "found"] = switch(
        "metrics",
        "relevant",
        "What average precision and average recall divide by.",
        relevant="the number of relevant items",
        reachable="the smaller of the cutoff and the number of relevant items",
        reachable_returned="the smallest of (cutoff, number of relevant items, number of items "
        "returned)",
        k="the cutoff",
        found="the number of hits up to the cutoff; 0 without hits",
    )
    reciprocal_rank: Literal["first", "sum"] = switch(
        "metrics",
        "first",
        "Which hits the reciprocal rank uses.",
        first="the first hit",
        sum="all hits, added up",
    )
    hit_as: Literal["any", "count"] = switch(
        "metrics",
        "any",
        "What a list with hits counts in the hit rate.",
        any="1 if there is at least one hit",
        count="the number of hits",
    )
    f1_without_hits: Literal["zero", "undefined"] = switch(
        "metrics",
        "zero",
        "The F1 of a list without hits, for which precision + recall = 0.",
        zero="0",
        undefined="undefined",
    )
    class_average: Literal["present", "all"] = switch(
        "metrics",
        "present",
        "Which classes a mean over classes includes.",
        present="those that occur among the targets or the predictions",
        all="all of them",
    )
    truth_needed: Literal["relevant", "judged", "judged_or_listed", "none"] = switch(
        "aggregate",
        "relevant",
        "What the truth must contain for a list to count.",
        relevant="at least one relevant item",
        judged="at least one row, of any grade",
        judged_or_listed="at least one row, of any grade; a list with items counts without any",
        none="nothing",
    )
    list_needed: Literal["none", "handed", "items", "hit"] = switch(
        "aggregate",
        "none",
        "What the predictions must contain for a list to count.",
        none="nothing: a missing list counts as a miss",
        handed="a list, even an empty one",
        items="a list with at least one item",
        hit="a list with at least one hit up to the cutoff",
    )
    without_relevant: Literal["computed", "undefined"] = switch(
        "aggregate",
        "computed",
        "The value of a list without relevant items, if it counts.",
        computed="the result of the formula, usually 0 or 0/0",
        undefined="always 0/0",
    )
    undefined: Literal["error", "nan", "zero", "one", "skip"] = switch(
        "aggregate",
        "error",
        "How a list with the value 0/0 counts.",
        error="an error is raised",
        nan="as NaN, which makes the mean NaN",
        zero="as 0",
        one="as 1",
        skip="it is left out of the mean",
    )
    unit: Literal["list", "user"] = switch(
        "aggregate",
        "list",
        "What the mean is taken over.",
        list="lists",
        user="users: first the mean over each user's lists",
    )
    average: Literal["macro", "micro"] = switch(
        "aggregate",
        "macro",
        "How the values of lists are averaged.",
        macro="the mean of the values",
        micro="the sum of the numerators over the sum of the denominators",
    )
    weighting: Literal["all", "defined", "average", "none"] = switch(
        "aggregate",
        "all",
        "Which lists count by their weights, if weights are given.",
        all="all of them",
        defined="those with a value; a list with 0/0 adds its value without a weight, but the sum "
        "is divided by the weights of all lists",
        average="those with a value; a list with 0/0 weighs as much as they do on average",
        none="none: weights are ignored",
    )
    scale: Literal["fraction", "percent", "float32"] = switch(
        "present",
        "fraction",
        "How values are shown.",
        fraction="unchanged",
        percent="multiplied by 100",
        float32="as the nearest float32",
    )
    decimals: float | None = number(
        "present", None, "The decimals of the rounded mean; with none, it is not rounded.", 0
    )

    def __post_init__(self) -> None:
        for name in SWITCHES:
            object.__setattr__(self, name, check_value(SWITCHES[name], getattr(self, name)))
        if self.unit == "user" and self.average == "micro":
            raise BadArgument(
                "unit='user' and average='micro' contradict each other.",
                "at most one of them: micro averaging adds up all lists, regardless of the user.",
            )
        if self.unit == "user" and self.weighting != "all":
            raise BadArgument(
                f"unit='user' and weighting={self.weighting!r} contradict each other.",
                "weighting='all' for means over users.",
            )

    def replace(self, **changes: Any) -> Convention:
        """Return this convention with some switches changed."""
        for name in changes:
            require_switch(name)
        return dataclasses.replace(self, **changes) if changes else self

    def differences(self, other: Convention) -> dict[str, tuple[Any, Any]]:
        """Return the switches on which two conventions differ, with both values."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in SWITCHES}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def sorts_ties_by_id(self) -> bool:
        """Whether ids alone decide between tied items: the rule says so, or lists are cut before
        ties are averaged, and only ids can tell which of them remain."""
        return self.ties.startswith("item") or (self.ties == "average" and self.list_end != "none")

    def as_dict(self) -> dict[str, Any]:
        """Return every switch and its value."""
        return {name: getattr(self, name) for name in SWITCHES}


SWITCHES: Mapping[str, Switch] = switches_of(Convention)


def require_switch(name: str) -> Switch:
    """Return the switch of that name, or raise an error with the nearest names."""
    if name not in SWITCHES:
        raise unknown_name("switch", name, SWITCHES, where="convention")
    return SWITCHES[name]


def parse_value(name: str, text: str) -> str | float | None:
    """Return the value of a switch from its text, such as the 2 of `relevant_from=2`."""
    switch = require_switch(name)
    if switch.choices:
        return text
    if text.lower() == "none":
        return None
    if text in switch.words:
        return text
    try:
        return float(text)
    except ValueError:
        found = f"switch {name!r} is {text!r}."
        words = ", ".join(["a number", *map(repr, switch.words)])
        raise BadArgument(found, f"{words} or 'none'.", switch.about) from None


def is_table(value: object) -> bool:
    """Return whether a value is meant as a table of gains: a dict, or text in braces."""
    return isinstance(value, Mapping) or (isinstance(value, str) and value.startswith("{"))


def format_gains(table: str | Mapping[object, object]) -> str:
    """Return a table of gains as text, the lowest grade first.

    >>> format_gains({2: 7, 1: 3.5})
    '{1:3.5,2:7}'
    """
    pairs = _split_table(table) if isinstance(table, str) else list(table.items())
    gains = {_read_finite(grade, table): _read_finite(gain, table) for grade, gain in pairs}
    if not gains or len(gains) < len(pairs) or min(gains.values()) < 0:
        raise _bad_table(table)
    return (
        "{"
        + ",".join(f"{_show_number(grade)}:{_show_number(gains[grade])}" for grade in sorted(gains))
        + "}"
    )


def read_gains(text: str) -> dict[float, float]:
    """Return the gain of each grade from the text of a table."""
    return {
        _read_finite(grade, text): _read_finite(gain, text) for grade, gain in _split_table(text)
    }


def _split_table(text: str) -> list[tuple[str, str]]:
    parts = [part.partition(":") for part in text.strip("{} ").split(",")]
    return [(grade, gain) for grade, _, gain in parts]


def _read_finite(value: object, table: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise _bad_table(table) from None
    if not math.isfinite(number):
        raise _bad_table(table)
    return number + 0.0  # -0 is 0


def _show_number(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


def _bad_table(table: object) -> BadArgument:
    return BadArgument(
        f"the gains by grade are {table!r}.",
        "each grade once, with a gain of at least 0, such as {1: 3, 2: 7}.",
    )
