"""The lines that trec_eval prints: measure, query and value, separated by tabs.

Lines of single queries come first, then lines for `all`. Measures are named as in trec_eval: `map`,
`P.5,10`, `ndcg.1=3,2=9`, or a set such as `official`.
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
"""Grades and their gains."""
COUNTED = "num_q"
"""The metric that shows which queries count; always evaluated."""


@dataclass(frozen=True)
class TrecLine:
    """What is printed under one label: the mean of metrics, a tag, or a string."""

    label: str
    names: tuple[str, ...] = ()
    kind: Kind = "value"
    scope: Scope = "everywhere"
    length: int = 0
    gains: Gains = ()
    """the gains of grades whose gain differs from the grade"""


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
"""All measures in the order of printing."""
SETS: Mapping[str, Sequence[str]] = {
    "official": ORDER[:12],
    "all_trec": ORDER,
    "set": (*ORDER[:5], "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
}


def lines_for(measures: Sequence[str], items: int = 0) -> list[TrecLine]:
    """Return the lines of these measures; `items` is the size of the collection."""
    requested: dict[str, str] = {}
    for measure in measures:
        name, _, parameters = measure.partition(".")
        for single in SETS.get(name, (name,)):
            if single not in ORDER:
                raise unknown_name("measure", single, [*SETS, *ORDER], where="trec_eval -m")
            requested[single] = requested.get(single, "") or parameters
    names = [name for name in ORDER if name in requested]
    return [line for name in names for line in _lines(name, requested[name], items)]


def _lines(name: str, parameters: str, items: int) -> list[TrecLine]:
    """Return the lines of one measure."""
    if name in _AT_RANKS:
        ours, usual = _AT_RANKS[name]
        return [
            TrecLine(f"{name}_{k}", (f"{ours}@{k}",)) for k in _whole(name, parameters or usual)
        ]
    if name in _AT_NUMBERS:
        ours, usual = _AT_NUMBERS[name]
        numbers = sorted(_numbers(name, parameters or usual))
        return [TrecLine(f"{name}_{x:3.2f}", (ours.format(_plain(x)),)) for x in numbers]
    if name in _FIXED:
        return [_FIXED[name]]
    if name in _PLAIN:
        if parameters:
            raise BadName(f"-m {name}.{parameters} has parameters.", f"none: -m {name}.")
        return [TrecLine(name, (_PLAIN[name],))]
    return [
        _WITH_PARAMETERS[name](f"{name}_{parameters}" if parameters else name, parameters, items)
    ]


def _utility(label: str, parameters: str, items: int) -> TrecLine:
    numbers = _numbers("utility", parameters or "1,-1,0,0")
    if len(numbers) != 4:
        raise BadName(
            f"-m utility.{parameters} has {len(numbers)} numbers.",
            "four numbers, such as 1,-1,0,0.",
        )
    hit, miss, missed, passed = map(_plain, numbers)
    inside = f"hit={hit},miss={miss},missed={missed},passed={passed},catalogue={items}"
    return TrecLine(label, (f"utility[{inside}]",))


def _eleven_points(label: str, parameters: str, items: int) -> TrecLine:
    if not parameters:
        return TrecLine(label, ("iprec[11pt]",))
    return TrecLine(
        label, tuple(f"iprec@{_plain(level)}" for level in _numbers("11pt_avg", parameters))
    )


def _set_f(label: str, parameters: str, items: int) -> TrecLine:
    (weight,) = _numbers("set_F", parameters or "1.0")[:1]
    if weight < 0:
        raise BadName(f"-m set_F.{parameters} has a weight below 0.", "a number of at least 0.")
    return TrecLine(label, (f"set_f[beta={_plain(weight)}]",))


def _ndcg(label: str, parameters: str, items: int) -> TrecLine:
    gains = tuple(
        (int(_numbers("ndcg", level)[0]), gain) for level, gain in _pairs("ndcg", parameters)
    )
    if any(level < 0 or gain < 0 for level, gain in gains):
        raise BadName(
            f"-m ndcg.{parameters} has a number below 0.", "grades and gains of at least 0."
        )
    return TrecLine(label, ("ndcg",), gains=gains)


def _rbp(label: str, parameters: str, items: int) -> TrecLine:
    ours = "rbp_residual" if label.startswith("rbp_resid") else "rbp"
    if not parameters:
        return TrecLine(label, (ours,))
    pairs = dict(_pairs(ours, parameters))
    if set(pairs) != {"p"}:
        raise BadName(f"-m {label} sets {', '.join(pairs)}.", "only p, such as -m rbp.p=0.8.")
    return TrecLine(label, (f"{ours}[p={_plain(pairs['p'])}]",))


def _relstring(label: str, parameters: str, items: int) -> TrecLine:
    length = int(_numbers("relstring", parameters or "10")[0])
    return TrecLine(label, (), "string", "queries", max(length, 0))


_WITH_PARAMETERS: Mapping[str, Callable[[str, str, int], TrecLine]] = {
    "utility": _utility, "11pt_avg": _eleven_points, "set_F": _set_f, "ndcg": _ndcg, "rbp": _rbp,
    "rbp_resid": _rbp, "relstring": _relstring,
}  # fmt: skip


def _numbers(name: str, parameters: str) -> list[float]:
    try:
        return [float(part) for part in parameters.split(",")]
    except ValueError:
        raise BadName(
            f"-m {name}.{parameters} cannot be parsed.", "numbers separated by commas."
        ) from None


def _whole(name: str, parameters: str) -> list[int]:
    cutoffs = sorted(math.floor(number) for number in _numbers(name, parameters))
    if cutoffs[0] < 1 or len(set(cutoffs)) < len(cutoffs):
        raise BadName(
            f"-m {name}.{parameters} is not a list of cutoffs.", "cutoffs of at least 1, each once."
        )
    return cutoffs


def _pairs(name: str, parameters: str) -> Iterator[tuple[str, float]]:
    for part in filter(None, parameters.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise BadName(
                f"-m {name}.{parameters} cannot be parsed.", "pairs level=gain separated by commas."
            )
        yield key, _numbers(name, value)[0]


def _plain(number: float) -> str:
    """Format a number without an exponent, as names of metrics need it."""
    return re.sub(r"\.?0+\Z", "", f"{number:.12f}") or "0"


def strings(lists: Judged, length: int) -> list[str]:
    """Return a string per list with the grades of its first items: a digit, > for a grade above 9,
    . for a grade below 0, and - for an unjudged item."""
    shown = [["-"] * min(int(size), length) for size in lists.returned]
    for number, rank, grade in zip(lists.list, lists.rank, lists.grade, strict=True):
        if rank <= length:
            sign = ">" if grade > 9 else str(int(grade)) if grade >= 0 else "."
            shown[number][rank - 1] = sign
    return ["".join(signs) for signs in shown]


@dataclass(frozen=True)
class TrecValues:
    """The values behind the lines: an evaluation for each choice of gains, the tag of the run, and
    the relevance string of every query by length."""

    evaluations: Mapping[Gains, Evaluation]
    tag: str = ""
    strings: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


def text(lines: Sequence[TrecLine], values: TrecValues, shown: Sequence[Part]) -> str:
    """Return the lines of every query that counts, in byte order, and those of all queries."""
    parts: list[str] = []
    if "queries" in shown:
        rows = {gains: _rows(run) for gains, run in values.evaluations.items()}
        single = [line for line in lines if line.scope != "summary"]
        for query in sorted(next(iter(rows.values())), key=str.encode):
            parts += [
                _line(line, query, _query_value(line, values, query, rows)) for line in single
            ]
    if "summary" in shown:
        whole = [line for line in lines if line.scope != "queries"]
        parts += [_line(line, "all", _summary_value(line, values)) for line in whole]
    return "".join(parts)


def _rows(evaluation: Evaluation) -> dict[str, int]:
    """Return the row of every query that counts."""
    values, lists = evaluation.result(COUNTED).values, evaluation.lists
    if values is None or lists is None:
        return {}
    return {str(key): row for row, key in enumerate(lists.keys) if np.isfinite(values[row])}


def _line(line: TrecLine, query: str, shown: str) -> str:
    return f"{line.label:<22}\t{query}\t{shown}\n"


def _query_value(
    line: TrecLine, trec_values: TrecValues, query: str, rows: Mapping[Gains, Mapping[str, int]]
) -> str:
    if line.kind == "string":
        return f"'{trec_values.strings[line.length].get(query, '')}'"
    evaluation, row = trec_values.evaluations[line.gains], rows[line.gains][query]
    values = [evaluation.result(name).values for name in line.names]
    return _format_mean(line, [float(value[row]) for value in values if value is not None])


def _summary_value(line: TrecLine, values: TrecValues) -> str:
    if line.kind == "tag":
        return values.tag
    return _format_mean(line, [values.evaluations[line.gains][name] for name in line.names])


def _format_mean(line: TrecLine, values: Sequence[float]) -> str:
    value = sum(values) / len(values)
    return f"{value:.0f}" if line.kind == "count" else f"{value:6.4f}"
