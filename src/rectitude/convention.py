"""Every choice on which frameworks disagree. Read this file before comparing two numbers.

A `Convention` is one frozen value. Each field is a `Switch`: its stage, its choices, its default,
and one sentence for the switch and for each choice. Profiles set switches by name; metrics name the
switches they obey as keyword-only parameters; documentation and `Evaluation.definition` print the
sentences.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, cast

from rectitude.errors import BadName, nearest, unknown_name

Stage = Literal["truth", "order", "judge", "metrics", "aggregate", "present"]


def switch(stage: Stage, default: str, about: str, **choices: str) -> Any:
    """A switch with named choices, each explained in one sentence."""
    return field(default=default, metadata={"stage": stage, "about": about, "choices": choices})


def number(stage: Stage, default: float | None, about: str, least: float | None) -> Any:
    """A switch that is a number or None."""
    return field(default=default, metadata={"stage": stage, "about": about, "least": least})


@dataclass(frozen=True, slots=True)
class Switch:
    """What is known about one switch: its stage, its sentence, its choices and their sentences."""

    name: str
    stage: Stage
    about: str
    default: str | float | None
    choices: Mapping[str, str]
    least: float | None = None


def switches_of(declared: type) -> dict[str, Switch]:
    """The switches that a dataclass declares, by name."""
    facts: dict[str, Switch] = {}
    for f in dataclasses.fields(declared):
        texts = {"choices": {}, "least": None, **f.metadata}
        facts[f.name] = Switch(f.name, default=cast("str | float | None", f.default), **texts)
    return facts


def checked(switch: Switch, value: Any) -> Any:
    """A value that a switch takes, or an error with its choices."""
    if not switch.choices:
        return _checked_number(switch, value)
    if isinstance(value, str) and value in switch.choices:
        return value
    note = "" if nearest(str(value), switch.choices) else switch.about
    where = f"switch {switch.name!r}"
    raise unknown_name("choice", str(value), switch.choices, where=where, note=note)


def _checked_number(switch: Switch, value: Any) -> float | int | None:
    if value is None:
        return None
    whole = switch.name == "decimals"
    real = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    low = -math.inf if switch.least is None else switch.least
    if not real or value < low or (whole and value != int(value)):
        least = f" of at least {switch.least:g}" if switch.least is not None else ""
        kind = "a whole number" if whole else "a finite number"
        raise BadName(
            f"switch {switch.name!r} cannot be {value!r}.", f"{kind}{least}, or None.", switch.about
        )
    return int(value) if whole else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """What a number means: every switch, with the default that rectitude uses and prints."""

    relevant_from: float | None = number(
        "truth", None, "The lowest grade that is relevant; none: every grade above 0.", None
    )
    negative_grades: Literal["nonrelevant", "unjudged", "sampled"] = switch(
        "truth",
        "nonrelevant",
        "What a truth row with a grade below 0 says.",
        nonrelevant="the item was judged and is not relevant",
        unjudged="the item was not judged",
        sampled="the item was not judged, but was drawn to be judged with others: infap looks at "
        "that, and other metrics take it as not relevant",
    )
    duplicate_truth: Literal["error", "once", "counted"] = switch(
        "truth",
        "error",
        "What happens when the truth holds the same list and item twice.",
        error="an error",
        once="the row with the highest grade counts, once",
        counted="every row counts, so one recommendation can hit twice",
    )
    unknown_users: Literal["keep", "drop", "tied", "error"] = switch(
        "truth",
        "keep",
        "What happens to users of the truth that were not met in training.",
        keep="they are evaluated like all others",
        drop="they are left out",
        tied="they are evaluated; in rows of scores all their items have equal scores",
        error="an error",
    )
    unknown_items: Literal["keep", "drop", "lowest", "error"] = switch(
        "truth",
        "keep",
        "What happens to items of the truth that were not met in training.",
        keep="they stay relevant, so they are misses unless recommended",
        drop="they are dropped from the truth",
        lowest="they stay relevant; in rows of scores those without a column are ranked, for "
        "every user, with the lowest score of the row",
        error="an error",
    )
    order: Literal["auto", "rank", "given", "score"] = switch(
        "order",
        "auto",
        "What the order of a list comes from.",
        auto="the rank column if there is one, else the order of a given list, else the score",
        rank="the rank column, ascending",
        given="the order in which the items stand",
        score="the score column, descending",
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
        "The order of items with equal scores.",
        pessimistic="lower grades first: relevant items stand after their equals",
        optimistic="higher grades first: relevant items stand before their equals",
        average="every order counts alike: the value is the mean over all of them",
        given="in the order in which they stand",
        item_ascending="by item id, ascending",
        item_descending="by item id, descending",
        error="an error when the order among equals matters",
    )
    score_precision: Literal["float64", "float32", "logistic"] = switch(
        "order",
        "float64",
        "The precision in which scores are compared.",
        float64="as they are",
        float32="rounded to float32, so that close scores can become equal",
        logistic="float32 of 1 / (1 + exp(-score)), in rows with a score outside 0 to 1",
    )
    duplicates: Literal["error", "first", "counted"] = switch(
        "order",
        "error",
        "What happens when a list holds an item twice.",
        error="an error",
        first="the item keeps its highest rank, the others are removed",
        counted="every occurrence takes a rank and can be a hit",
    )
    seen: Literal["removed", "last", "kept"] = switch(
        "order",
        "removed",
        "What happens in a row of scores to the items that count as seen.",
        removed="they cannot be recommended and take no rank",
        last="they stand after all others, as equals",
        kept="they are ranked by their scores like all others",
    )
    seen_items: Literal["all", "outside_truth", "relevant_outside_truth"] = switch(
        "order",
        "all",
        "Which items that the user had in training count as seen.",
        all="all of them",
        outside_truth="those that are not relevant in the truth as well",
        relevant_outside_truth="those of a relevant grade in training, not relevant in the truth",
    )
    candidates: Literal["given", "with_truth"] = switch(
        "judge",
        "given",
        "Which items compete where candidates are handed over.",
        given="the candidates alone",
        with_truth="the candidates and the items of the truth",
    )
    list_end: Literal["none", "cutoff", "last_cutoff"] = switch(
        "judge",
        "none",
        "Where lists end before any metric looks at them.",
        none="where they end themselves",
        cutoff="at the metric's own cutoff; ties are averaged among what is left",
        last_cutoff="at the cutoff of the metric that was asked for last",
    )
    hit_scores: Literal["any", "positive"] = switch(
        "judge",
        "any",
        "Which scores let a relevant item be a hit.",
        any="all",
        positive="those above 0; other relevant items keep their ranks but count as missed",
    )
    unjudged: Literal["kept", "dropped"] = switch(
        "judge",
        "kept",
        "What happens to recommended items that the truth does not judge.",
        kept="they take a rank and are not relevant",
        dropped="they are removed before ranks are given",
    )
    gain: Literal["binary", "linear", "exp2", "exp2_above"] = switch(
        "metrics",
        "binary",
        "What an item is worth.",
        binary="1 for any grade",
        linear="the grade",
        exp2="2^grade - 1",
        exp2_above="2^(grade - relevant_from + 1) - 1: at least 1 for a relevant item; without a "
        "threshold, 2^(grade + 1) - 1",
    )
    gain_from: Literal["relevant", "positive"] = switch(
        "metrics",
        "relevant",
        "Which items have a gain.",
        relevant="relevant items",
        positive="every item with a grade above 0, also one below the relevance threshold",
    )
    discount: Literal["log", "log_from_second"] = switch(
        "metrics",
        "log",
        "How the worth of an item falls with its rank.",
        log="1 / log2(rank + 1)",
        log_from_second="1 / max(1, log2(rank)): ranks 1 and 2 weigh the same",
    )
    discount_by: Literal["rank", "place"] = switch(
        "metrics",
        "rank",
        "What the discount looks at.",
        rank="the rank in the list",
        place="the place in the truth's own order: the order of the list plays no part",
    )
    ideal: Literal["reachable", "reachable_returned", "k", "returned", "found", "listed"] = switch(
        "metrics",
        "reachable",
        "The best list that NDCG divides by.",
        reachable="the best gains of the truth, as many as fit the cutoff",
        reachable_returned="the best gains of the truth, as many as fit the cutoff and the list",
        k="a hit at every rank up to the cutoff, whatever the truth holds",
        returned="a hit at every rank up to the cutoff that holds an item",
        found="the hits up to the cutoff, moved to the front: items missed cost nothing",
        listed="the hits of the whole list, moved to the front and cut at the cutoff",
    )
    precision_over: Literal["k", "returned", "reachable", "reachable_returned"] = switch(
        "metrics",
        "k",
        "What precision divides by.",
        k="the cutoff, even if the list is shorter; without a cutoff, the length of the list",
        returned="the items returned up to the cutoff",
        reachable="the smaller of the cutoff and the number of relevant items",
        reachable_returned="the smallest of the cutoff, the number of relevant items and that of "
        "the items returned",
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
        reachable_returned="the smallest of the cutoff, the number of relevant items and that of "
        "the items returned",
        k="the cutoff",
        found="the hits up to the cutoff; 0 without hits",
    )
    reciprocal_rank: Literal["first", "sum"] = switch(
        "metrics",
        "first",
        "Which hits the reciprocal rank looks at.",
        first="the first hit",
        sum="all hits, added up",
    )
    hit_as: Literal["any", "count"] = switch(
        "metrics",
        "any",
        "What a list with hits is worth to the hit rate.",
        any="1 if there is at least one hit",
        count="the number of hits",
    )
    f1_without_hits: Literal["zero", "undefined"] = switch(
        "metrics",
        "zero",
        "F1 of a list without hits, where precision + recall = 0.",
        zero="0",
        undefined="undefined",
    )
    class_average: Literal["present", "all"] = switch(
        "metrics",
        "present",
        "Which classes a mean over classes takes in.",
        present="those that occur among the targets or the predictions",
        all="all that exist",
    )
    truth_needed: Literal["relevant", "judged", "none"] = switch(
        "aggregate",
        "relevant",
        "What a list must have in the truth to count.",
        relevant="at least one relevant item",
        judged="at least one row, whatever its grade",
        none="nothing",
    )
    list_needed: Literal["none", "handed", "items", "hit"] = switch(
        "aggregate",
        "none",
        "What must have been predicted for a list to count.",
        none="nothing: a missing list counts as a miss",
        handed="a list, even an empty one",
        items="a list with at least one item",
        hit="a list with at least one hit up to the cutoff",
    )
    without_relevant: Literal["computed", "undefined"] = switch(
        "aggregate",
        "computed",
        "What a list without relevant items is worth, if it counts.",
        computed="what the formula gives, mostly 0 or 0/0",
        undefined="0/0, whatever the formula gives",
    )
    undefined: Literal["error", "nan", "zero", "one", "skip"] = switch(
        "aggregate",
        "error",
        "What a list counts whose value is 0/0.",
        error="an error",
        nan="NaN, and so the mean",
        zero="0",
        one="1",
        skip="it is left out of the mean",
    )
    unit: Literal["list", "user"] = switch(
        "aggregate",
        "list",
        "What the mean is taken over.",
        list="lists",
        user="users: the mean of each user's lists first",
    )
    average: Literal["macro", "micro"] = switch(
        "aggregate",
        "macro",
        "How lists become one number.",
        macro="the mean of the values",
        micro="the sum of the numerators over the sum of the denominators",
    )
    scale: Literal["fraction", "percent", "float32"] = switch(
        "present",
        "fraction",
        "How values are shown.",
        fraction="as they are",
        percent="times 100",
        float32="as the nearest float32",
    )
    decimals: float | None = number(
        "present", None, "Decimals to which the mean is rounded; none: not rounded.", 0
    )

    def __post_init__(self) -> None:
        for name in SWITCHES:
            object.__setattr__(self, name, checked(SWITCHES[name], getattr(self, name)))
        if self.unit == "user" and self.average == "micro":
            raise BadName(
                "unit='user' and average='micro' contradict each other.",
                "one of them: micro adds up all lists, whoever they belong to.",
            )

    def replace(self, **changes: Any) -> Convention:
        """This convention with some switches set otherwise."""
        for name in changes:
            require_switch(name)
        return dataclasses.replace(self, **changes) if changes else self

    def differences(self, other: Convention) -> dict[str, tuple[Any, Any]]:
        """The switches on which two conventions differ, with both values."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in SWITCHES}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def as_dict(self) -> dict[str, Any]:
        """Every switch and its value."""
        return {name: getattr(self, name) for name in SWITCHES}


SWITCHES: Mapping[str, Switch] = switches_of(Convention)


def require_switch(name: str) -> Switch:
    """The switch of that name, or an error with the nearest names."""
    if name not in SWITCHES:
        raise unknown_name("switch", name, SWITCHES, where="convention")
    return SWITCHES[name]


def parse_value(name: str, text: str) -> str | float | None:
    """The value that a text such as `relevant_from=2` gives to a switch."""
    known = require_switch(name)
    if known.choices:
        return text
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        what = f"switch {name!r} cannot be {text!r}."
        raise BadName(what, "a number or 'none'.", known.about) from None
