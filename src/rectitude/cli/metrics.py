"""`rectitude metrics`: list the metrics, explain one, or print a guide to reading them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Conventions, Json, convention_of, listing
from rectitude.cli.output import say
from rectitude.errors import BadArgument

if TYPE_CHECKING:
    from rectitude.metrics.registry import Metric
    from rectitude.profiles import Asked

NAME = "metrics"
EXAMPLE = """\b
Examples:
  rectitude metrics
  rectitude metrics ndcg@10
  rectitude metrics ndcg@10 --convention rectools
  rectitude metrics --guide"""


def run(
    name: Annotated[str | None, typer.Argument(help="A metric, such as ndcg or ndcg@10.")] = None,
    convention: Conventions = None,
    guide: Annotated[
        bool, typer.Option("--guide", help="How to read and choose single-target metrics.")
    ] = False,
    as_json: Json = False,
) -> int:
    """List the metrics, explain one, or print the guide.

    An explanation gives the definition of a metric, how to read it and when to use it. The guide
    shows values by rank and by loss, what guessing gives, and which metric to use when.
    """
    if guide:
        return _print_guide(name, convention, as_json)
    from rectitude.metrics import METRICS
    from rectitude.metrics.names import parse_all
    from rectitude.profiles import profile_of

    profile = profile_of(convention_of(convention or ()))
    names = parse_all(list(METRICS) if name is None else name)
    requests = [profile.resolve(parsed) for parsed in names]
    if as_json:
        say(json.dumps({"metrics": [_facts(request) for request in requests]}, indent=1))
    elif name is None:
        say(_table([request.metric for request in requests]))
    else:
        say("\n\n".join(_explain_metric(request) for request in requests))
    return 0


def _print_guide(name: str | None, convention: list[str] | None, as_json: bool) -> int:
    from rectitude.reports import guide

    if name is not None or convention:
        raise BadArgument(
            "--guide was given together with a metric or a convention.",
            "rectitude metrics --guide, with or without --json.",
        )
    sections = guide.guide()
    say(json.dumps(guide.as_dict(sections), indent=1) if as_json else guide.text(sections))
    return 0


def _table(metrics: list[Metric]) -> str:
    """Return the metrics by family, in columns."""
    from rectitude.metrics.aliases import families
    from rectitude.metrics.registry import describe_inputs, group_by_family

    grouped = group_by_family(metrics)
    rows = [
        [m.name, m.title, _range(m), _direction(m), m.cutoff, describe_inputs(m)]
        for members in grouped.values()
        for m in members
    ]
    lines = listing([["name", "title", "range", "better", "cutoff", "needs"], *rows]).splitlines()
    place = 2  # after the heading and the rule
    for family, members in grouped.items():
        about = f": {families()[family][0]}" if family in families() else ""
        lines[place:place] = ["", f"{family}{about}"]
        place += len(members) + 2
    table = "\n".join(lines)
    return (
        f"{table}\n\nWrite ndcg, ndcg@10 or ndcg@{{5,10}}; names of other frameworks, such as "
        "HR@10, work, too.\n"
        "rectitude metrics ndcg explains a metric;\n"
        "rectitude metrics --guide shows how to read and choose metrics."
    )


def _range(metric: Metric) -> str:
    low, high = metric.bounds
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"up to {high:g}"
    return f"{low:g} to {high:g}" if math.isfinite(high) else f"from {low:g}"


def _direction(metric: Metric) -> str:
    return {"high": "higher", "low": "lower"}[metric.best]


def _explain_metric(request: Asked) -> str:
    from rectitude.aggregate.definition import definition
    from rectitude.metrics.aliases import other_names
    from rectitude.metrics.registry import describe_inputs

    metric = request.metric
    also = other_names(metric.name)
    lines = [definition(request), ""]
    lines.append(f"Family: {metric.family}." + (f" Also called {', '.join(also)}." if also else ""))
    lines += [f"How to read it: {metric.reading}"] if metric.reading else []
    lines += [f"When to use it: {metric.use}"] if metric.use else []
    lines.append(f"Values: {_range(metric)}; {_direction(metric)} is better.")
    lines += [f"Needs: {describe_inputs(metric)}; cutoff {metric.cutoff}."]
    return "\n".join([*lines, *_list_choices(request), *_list_parameters(request)])


def _list_choices(request: Asked) -> list[str]:
    """Return lines for the switches of a metric and their choices, the current one marked."""
    from rectitude.convention import SWITCHES

    lines = ["", "Switches (* = current choice):"] if request.metric.switches else []
    for switch in request.metric.switches:
        lines.append(f"  {switch}: {SWITCHES[switch].about}")
        for choice, words in SWITCHES[switch].choices.items():
            mark = "*" if getattr(request.convention, switch) == choice else " "
            lines.append(f"   {mark} {choice}: {words}")
        lines += [f"     or {SWITCHES[switch].table}"] if SWITCHES[switch].table else []
    return lines


def _list_parameters(request: Asked) -> list[str]:
    from rectitude.metrics.registry import format_parameter

    name, numbers = request.metric.name, request.numbers
    texts = {key: format_parameter(value) for key, value in numbers.items()}
    return [
        f"Parameter: {key} = {text}; set it as {name}[{key}={text}]." for key, text in texts.items()
    ]


def _facts(request: Asked) -> dict[str, Any]:
    from rectitude.aggregate.definition import definition

    metric = request.metric
    return {
        "name": str(request.name),
        "metric": metric.name,
        "title": metric.title,
        "about": metric.about,
        "definition": definition(request),
        "reading": metric.reading,
        "use": metric.use,
        "bounds": [bound if math.isfinite(bound) else None for bound in metric.bounds],
        "best": metric.best,
        "kind": metric.kind,
        "needs": list(metric.requires),
        "family": metric.family,
        "cutoff": metric.cutoff,
        "switches": {switch: getattr(request.convention, switch) for switch in metric.switches},
        "numbers": dict(request.numbers),
        "source": metric.cite,
    }
