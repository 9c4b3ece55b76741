"""`rectitude metrics`: which metrics there are, what one of them means, and how to read them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Conventions, Json, convention_of, listing
from rectitude.errors import BadName

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
        bool, typer.Option("--guide", help="How to read and choose metrics of one target.")
    ] = False,
    as_json: Json = False,
) -> int:
    """List the metrics, explain one, or print the guide.

    An explanation says how the metric is defined, how to read it and when to use it. The guide has
    tables from rank and loss to value, what guessing gives, and which metric to use when.
    """
    if guide:
        return _guide(name, convention, as_json)
    from rectitude.metrics import METRICS
    from rectitude.metrics.names import parse_all
    from rectitude.profiles import profile_of

    profile = profile_of(convention_of(convention or ()))
    asked = [profile.resolve(one) for one in parse_all(list(METRICS) if name is None else name)]
    if as_json:
        typer.echo(json.dumps({"metrics": [_facts(one) for one in asked]}, indent=1))
    elif name is None:
        typer.echo(_table([one.metric for one in asked]))
    else:
        typer.echo("\n\n".join(_explained(one) for one in asked))
    return 0


def _guide(name: str | None, convention: list[str] | None, as_json: bool) -> int:
    from rectitude.reports import guide

    if name is not None or convention:
        raise BadName(
            "--guide goes with no metric and no convention.",
            "rectitude metrics --guide, with --json or without.",
        )
    sections = guide.guide()
    typer.echo(json.dumps(guide.as_dict(sections), indent=1) if as_json else guide.text(sections))
    return 0


def _table(metrics: list[Metric]) -> str:
    from rectitude.metrics.registry import handed_over

    rows = [
        [m.name, m.title, _range(m), _direction(m), _cutoff(m), handed_over(m)] for m in metrics
    ]
    table = listing([["name", "title", "range", "better", "cutoff", "needs"], *rows])
    return (
        f"{table}\n\nAsk for ndcg@10, ndcg@{{5,10}} or ndcg; rectitude metrics ndcg explains it, "
        "rectitude metrics\n--guide says how to read and choose."
    )


def _range(metric: Metric) -> str:
    low, high = metric.bounds
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"up to {high:g}"
    return f"{low:g} to {high:g}" if math.isfinite(high) else f"from {low:g}"


def _cutoff(metric: Metric) -> str:
    return "needed" if "shown" in metric.requires else metric.cutoff


def _direction(metric: Metric) -> str:
    return {"high": "higher", "low": "lower"}[metric.best]


def _explained(asked: Asked) -> str:
    from rectitude.aggregate.definition import definition
    from rectitude.metrics.registry import handed_over

    metric = asked.metric
    parts = [definition(asked), ""]
    parts += [f"How to read it: {metric.reading}"] if metric.reading else []
    parts += [f"When to use it: {metric.use}"] if metric.use else []
    parts.append(f"Values: {_range(metric)}; {_direction(metric)} is better.")
    parts += [f"Needs: {handed_over(metric)}; cutoff {_cutoff(metric)}."]
    return "\n".join([*parts, *_choices(asked), *_numbers(asked)])


def _choices(asked: Asked) -> list[str]:
    """The metric's own switches with all their choices, the one in force marked."""
    from rectitude.convention import SWITCHES

    lines = ["", "Switches (* in force):"] if asked.metric.switches else []
    for switch in asked.metric.switches:
        lines.append(f"  {switch}: {SWITCHES[switch].about}")
        for choice, words in SWITCHES[switch].choices.items():
            mark = "*" if getattr(asked.convention, switch) == choice else " "
            lines.append(f"   {mark} {choice}: {words}")
    return lines


def _numbers(asked: Asked) -> list[str]:
    from rectitude.metrics.registry import written

    name, numbers = asked.metric.name, asked.numbers
    words = {key: (_kind(value), written(value)) for key, value in numbers.items()}
    return [
        f"{kind}: {key} = {value}; set it as {name}[{key}={value}]."
        for key, (kind, value) in words.items()
    ]


def _kind(value: float | str) -> str:
    return "Text" if isinstance(value, str) else "Number"


def _facts(asked: Asked) -> dict[str, Any]:
    from rectitude.aggregate.definition import definition

    metric = asked.metric
    return {
        "name": str(asked.name),
        "metric": metric.name,
        "title": metric.title,
        "about": metric.about,
        "definition": definition(asked),
        "reading": metric.reading,
        "use": metric.use,
        "bounds": [bound if math.isfinite(bound) else None for bound in metric.bounds],
        "best": metric.best,
        "kind": metric.kind,
        "needs": list(metric.requires),
        "cutoff": metric.cutoff,
        "switches": {switch: getattr(asked.convention, switch) for switch in metric.switches},
        "numbers": dict(asked.numbers),
        "source": metric.cite,
    }
