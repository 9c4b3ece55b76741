"""The lines that trec_eval prints: measure, query and value, by tabs; queries first, then `all`.

A measure is asked for as there: `map`, `P.5,10`, `ndcg.1=3,2=9`, or a set such as `official`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import BadName, unknown_name
from rectitude.judge.judged import Judged

Kind = Literal["value", "count", "tag", "string"]
Part = Literal["queries", "summary"]
Scope = Literal["everywhere", "queries", "summary"]
Gains = tuple[tuple[int, float], ...]
"""Grades, and what they are worth."""
COUNTED = "num_q"
"""Always evaluated: it says which queries count."""


@dataclass(frozen=True)
class TrecLine:
    """What is printed under one label: the mean of our metrics, a tag, or a string."""

    label: str
    names: tuple[str, ...] = ()
    kind: Kind = "value"
    scope: Scope = "everywhere"
    length: int = 0
    gains: Gains = ()
    """grades whose gain is not the grade"""


_CUTS = "5,10,15,20,30,100,200,500,1000"
_LEVELS = "0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0"
_AT_RANKS = {
    "P": ("precision", _CUTS), "recall": ("recall", _CUTS), "ndcg_cut": ("ndcg", _CUTS),
    "map_cut": ("map", _CUTS), "relative_P": ("precision[relative]", _CUTS),
    "success": ("hit", "1,5,10"), "unj": ("unjudged", "5,10,20"),
}  # fmt: skip
_AT_NUMBERS = {
    "iprec_at_recall": ("iprec@{}", _LEVELS),
    "Rprec_mult": ("rprec[mult={}]", "0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0"),
}
_PLAIN = {
    "map": "map", "Rprec": "rprec", "bpref": "bpref", "recip_rank": "mrr", "infAP": "infap",
    "binG": "bing", "G": "g", "ndcg_rel": "ndcg[rel]", "Rndcg": "rndcg", "set_P": "set_precision",
    "set_relative_P": "set_precision[relative]", "set_recall": "set_recall", "set_map": "set_map",
}  # fmt: skip
_FIXED = {
    "runid": TrecLine("runid", (), "tag", "summary"),
    "num_q": TrecLine("num_q", ("num_q",), "count", "summary"),
    **{name: TrecLine(name, (name,), "value", "summary") for name in ("gm_map", "gm_bpref")},
    **{name: TrecLine(name, (name,), "count")
       for name in ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")},
}  # fmt: skip
ORDER = (
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
    "recip_rank", "iprec_at_recall", "P", "relstring", "recall", "infAP", "gm_bpref", "Rprec_mult",
    "utility", "11pt_avg", "binG", "G", "ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut",
    "relative_P", "success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F",
    "num_nonrel_judged_ret", "rbp", "rbp_resid", "unj",
)  # fmt: skip
"""All measures in the order in which they are printed."""
SETS: Mapping[str, Sequence[str]] = {
    "official": ORDER[:12],
    "all_trec": ORDER,
    "set": (*ORDER[:5], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
}


def asked(measures: Sequence[str], items: int = 0) -> list[TrecLine]:
    """The lines that some measures ask for; `items` is the size of the collection."""
    wanted: dict[str, str] = {}
    for measure in measures:
        name, _, parameters = measure.partition(".")
        for one in SETS.get(name, (name,)):
            if one not in ORDER:
                raise unknown_name("measure", one, [*SETS, *ORDER], where="trec_eval -m")
            wanted[one] = wanted.get(one, "") or parameters
    return [line for one in ORDER if one in wanted for line in _lines(one, wanted[one], items)]


def _lines(name: str, given: str, items: int) -> list[TrecLine]:
    """The lines of one measure."""
    if name in _AT_RANKS:
        ours, usual = _AT_RANKS[name]
        return [TrecLine(f"{name}_{k}", (f"{ours}@{k}",)) for k in _whole(name, given or usual)]
    if name in _AT_NUMBERS:
        ours, usual = _AT_NUMBERS[name]
        numbers = sorted(_numbers(name, given or usual))
        return [TrecLine(f"{name}_{x:3.2f}", (ours.format(_plain(x)),)) for x in numbers]
    if name in _FIXED:
        return [_FIXED[name]]
    if name in _PLAIN:
        if given:
            raise BadName(f"-m {name}.{given} has parameters.", f"-m {name}.")
        return [TrecLine(name, (_PLAIN[name],))]
    return [_WITH_PARAMETERS[name](f"{name}_{given}" if given else name, given, items)]


def _utility(label: str, given: str, items: int) -> TrecLine:
    numbers = _numbers("utility", given or "1,-1,0,0")
    if len(numbers) != 4:
        raise BadName(f"-m utility.{given} has {len(numbers)} numbers.", "four, such as 1,-1,0,0.")
    hit, miss, missed, passed = map(_plain, numbers)
    inside = f"hit={hit},miss={miss},missed={missed},passed={passed},catalogue={items}"
    return TrecLine(label, (f"utility[{inside}]",))


def _eleven_points(label: str, given: str, items: int) -> TrecLine:
    if not given:
        return TrecLine(label, ("iprec[11pt]",))
    return TrecLine(label, tuple(f"iprec@{_plain(level)}" for level in _numbers("11pt_avg", given)))


def _set_f(label: str, given: str, items: int) -> TrecLine:
    """Their number is the square of the usual beta."""
    (weight,) = _numbers("set_F", given or "1.0")[:1]
    if weight < 0:
        raise BadName(f"-m set_F.{given} weighs recall below 0.", "a number from 0 on.")
    return TrecLine(label, (f"set_f[beta={math.sqrt(weight)!r}]",))


def _ndcg(label: str, given: str, items: int) -> TrecLine:
    gains = tuple((int(_numbers("ndcg", level)[0]), gain) for level, gain in _pairs("ndcg", given))
    if any(level < 0 or gain < 0 for level, gain in gains):
        raise BadName(f"-m ndcg.{given} has a number below 0.", "grades and gains from 0 on.")
    return TrecLine(label, ("ndcg",), gains=gains)


def _rbp(label: str, given: str, items: int) -> TrecLine:
    ours = "rbp_residual" if label.startswith("rbp_resid") else "rbp"
    if not given:
        return TrecLine(label, (ours,))
    pairs = dict(_pairs(ours, given))
    if set(pairs) != {"p"}:
        raise BadName(f"-m {label} sets {', '.join(pairs)}.", "p alone, such as -m rbp.p=0.8.")
    return TrecLine(label, (f"{ours}[p={_plain(pairs['p'])}]",))


def _relstring(label: str, given: str, items: int) -> TrecLine:
    length = int(_numbers("relstring", given or "10")[0])
    return TrecLine(label, (), "string", "queries", max(length, 0))


_WITH_PARAMETERS: Mapping[str, Callable[[str, str, int], TrecLine]] = {
    "utility": _utility, "11pt_avg": _eleven_points, "set_F": _set_f, "ndcg": _ndcg, "rbp": _rbp,
    "rbp_resid": _rbp, "relstring": _relstring,
}  # fmt: skip


def _numbers(name: str, given: str) -> list[float]:
    try:
        return [float(part) for part in given.split(",")]
    except ValueError:
        raise BadName(f"-m {name}.{given} cannot be read.", "numbers between commas.") from None


def _whole(name: str, given: str) -> list[int]:
    cutoffs = sorted(math.floor(number) for number in _numbers(name, given))
    if cutoffs[0] < 1 or len(set(cutoffs)) < len(cutoffs):
        raise BadName(f"-m {name}.{given} is no list of cutoffs.", "cutoffs from 1 on, each once.")
    return cutoffs


def _pairs(name: str, given: str) -> Iterator[tuple[str, float]]:
    for part in filter(None, given.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise BadName(f"-m {name}.{given} cannot be read.", "level=gain between commas.")
        yield key, _numbers(name, value)[0]


def _plain(number: float) -> str:
    """A number as names of metrics take it: without an exponent."""
    return re.sub(r"\.?0+\Z", "", f"{number:.12f}") or "0"


def strings(lists: Judged, length: int) -> list[str]:
    """(lists) the grades of the first items: a digit, > above 9, - if nothing is known, and . for
    a grade below 0."""
    shown = [["-"] * min(int(size), length) for size in lists.returned]
    for number, rank, grade in zip(lists.list, lists.rank, lists.grade, strict=True):
        if rank <= length:
            sign = ">" if grade > 9 else str(int(grade)) if grade >= 0 else "."
            shown[number][rank - 1] = sign
    return ["".join(signs) for signs in shown]


@dataclass(frozen=True)
class TrecValues:
    """What the lines are made from: an evaluation for each choice of gains, the run's tag, and by
    length the string of every query."""

    evaluations: Mapping[Gains, Evaluation]
    tag: str = ""
    strings: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


def text(lines: Sequence[TrecLine], found: TrecValues, shown: Sequence[Part]) -> str:
    """The lines of every query that counts, by its bytes, and those of all together."""
    parts: list[str] = []
    if "queries" in shown:
        rows = {gains: _rows(one) for gains, one in found.evaluations.items()}
        single = [line for line in lines if line.scope != "summary"]
        for query in sorted(next(iter(rows.values())), key=str.encode):
            parts += [_line(line, query, _of_query(line, found, query, rows)) for line in single]
    if "summary" in shown:
        whole = [line for line in lines if line.scope != "queries"]
        parts += [_line(line, "all", _of_all(line, found)) for line in whole]
    return "".join(parts)


def _rows(evaluation: Evaluation) -> dict[str, int]:
    """The row of every query that counts."""
    values, lists = evaluation.result(COUNTED).values, evaluation.lists
    if values is None or lists is None:
        return {}
    return {str(key): row for row, key in enumerate(lists.keys) if np.isfinite(values[row])}


def _line(line: TrecLine, query: str, shown: str) -> str:
    return f"{line.label:<22}\t{query}\t{shown}\n"


def _of_query(
    line: TrecLine, found: TrecValues, query: str, rows: Mapping[Gains, Mapping[str, int]]
) -> str:
    if line.kind == "string":
        return f"'{found.strings[line.length].get(query, '')}'"
    evaluation, row = found.evaluations[line.gains], rows[line.gains][query]
    values = [evaluation.result(name).values for name in line.names]
    return _number(line, [float(value[row]) for value in values if value is not None])


def _of_all(line: TrecLine, found: TrecValues) -> str:
    if line.kind == "tag":
        return found.tag
    return _number(line, [found.evaluations[line.gains][name] for name in line.names])


def _number(line: TrecLine, values: Sequence[float]) -> str:
    value = sum(values) / len(values)
    return f"{value:.0f}" if line.kind == "count" else f"{value:6.4f}"
