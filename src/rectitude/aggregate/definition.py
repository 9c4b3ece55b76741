"""The definition of a number in words, built from the metric's formula and its switches."""

from __future__ import annotations

import hashlib
import inspect
import json
import re

from rectitude.convention import SWITCHES, Convention, is_table
from rectitude.metrics import Metric
from rectitude.metrics.registry import format_parameter
from rectitude.profiles import Asked

_BY_ID = ("pessimistic", "optimistic", "average", "error")
"""the tie rules that leave the order of items of equal score and grade to their ids"""
_ALWAYS = ("order", "ties", "truth_needed", "list_needed")
_OF_MEANS = ("undefined", "unit", "average")
_IF_CHANGED = [
    name
    for name, switch in SWITCHES.items()
    if switch.stage != "metrics" and name not in ("relevant_from", *_ALWAYS, *_OF_MEANS)
]


def definition(asked: Asked) -> str:
    """Describe a metric under a convention: in words, as a formula, and with every choice that
    applies."""
    metric, convention = asked.metric, asked.convention
    lines = [f"{asked.name}: {metric.title}. {metric.about}", f"  = {formula(asked)}"]
    lines += [f"  {name} = {format_parameter(value)}" for name, value in asked.numbers.items()]
    lines += [f"  over lists: {stat_in_words(asked.stat)}"] if asked.stat != "mean" else []
    lines += [f"  {s}: {choice_in_words(s, convention)}" for s in relevant_switches(asked)]
    if _sorts_equals_by_id(asked):
        lines.append("  equal scores and grades: by item id, ascending")
    if metric.cite:
        lines.append(f"  source: {metric.cite}")
    return "\n".join(lines)


def stat_in_words(stat: str) -> str:
    """Return what a statistic of the values of lists is."""
    named = {
        "min": "the lowest value",
        "max": "the highest value",
        "median": "the middle value",
        "std": "the standard deviation, sqrt(sum of squared distances to the mean / (lists - 1))",
    }
    share = f"the value that {stat.removeprefix('p')}% of the lists do not exceed"
    interpolated = "" if stat in ("min", "max", "std") else ", interpolated linearly"
    return f"{stat} ({named.get(stat, share)}{interpolated}) in place of the mean"


def _sorts_equals_by_id(asked: Asked) -> bool:
    """Return whether a metric can depend on the order of items of equal score and grade, and ids
    decide it."""
    metric, convention = asked.metric, asked.convention
    by_place = "discount_by" in metric.obeys and convention.discount_by == "place"
    return convention.ties in _BY_ID and (metric.sees_items or by_place)


def relevant_switches(asked: Asked) -> list[str]:
    """Return the switches that can affect a metric, its own first."""
    changed = [s for s in _IF_CHANGED if getattr(asked.convention, s) != SWITCHES[s].default]
    added_up = asked.metric.kind == "counts" or asked.metric.overall == "sum"
    means = () if added_up else _OF_MEANS
    return [*asked.metric.obeys, "relevant_from", *_ALWAYS, *means, *changed]


def formula(asked: Asked) -> str:
    """Return the formula of a metric with the current choices filled in."""
    text = asked.metric.formula or asked.metric.about
    cutoff = asked.cutoff
    if cutoff is None:
        text = text.replace("the top {k}", "the whole list").replace(" (ranks up to {k})", "")
        text = text.replace(", up to rank {k}", "")
    fills = {"k": "k" if cutoff is None else str(cutoff)}
    fills |= {s: _summarise_choice(s, asked.convention) for s in asked.metric.switches}
    fills |= {name: format_parameter(value) for name, value in asked.numbers.items()}
    for name, words in fills.items():
        text = text.replace("{" + name + "}", words)
    return text


def choice_in_words(switch: str, convention: Convention) -> str:
    """Return the value of a switch and the sentence that explains it."""
    value = getattr(convention, switch)
    facts = SWITCHES[switch]
    if facts.choices:
        return f"{value} ({facts.explain(value)})"
    if value in facts.words:
        return f"{value} ({facts.words[value]})"
    return f"{'none' if value is None else format(value, 'g')} ({facts.about})"


def _summarise_choice(switch: str, convention: Convention) -> str:
    value = getattr(convention, switch)
    if is_table(value):
        return f"by grade {value}"
    return re.split(r"[;:,](?![^()]*\))", SWITCHES[switch].choices[value])[0]


def fingerprint(asked: Asked) -> str:
    """Return a short hash that two values share exactly if they are defined the same way."""
    shared = [name for name, switch in SWITCHES.items() if switch.stage != "metrics"]
    switches = {s: getattr(asked.convention, s) for s in [*asked.metric.obeys, *shared]}
    facts = {
        "metric": _identity(asked.metric),
        "at": None
        if asked.metric.cutoff == "level"
        else asked.name.at,  # a level is in the numbers
        "numbers": dict(asked.numbers),
        "switches": switches,
    }
    if _sorts_equals_by_id(asked):
        facts["equals"] = "by item id"
    if asked.stat != "mean":
        facts["stat"] = asked.stat
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=8).hexdigest()


def _identity(metric: Metric) -> str:
    """Return the name of a built-in metric, or the source of a custom one, whose name can mean
    anything."""
    if metric.function.__module__.startswith("rectitude."):
        return metric.name
    try:
        return inspect.getsource(metric.function)
    except (OSError, TypeError):
        return f"{metric.function.__module__}.{metric.name}"
