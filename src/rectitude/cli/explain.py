"""`rectitude explain`: why do two values of the same metric differ?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Files, refuse, with_files
from rectitude.cli.options import convention_of, report_error
from rectitude.errors import BadArgument, RectitudeError

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.explanation.explain.differences import Differences
    from rectitude.explanation.explain.result import Explanation

NAME = "explain"
EXAMPLE = """\b
Examples:
  rectitude explain recs.csv --truth test.csv --metric ndcg@10 --first recbole --second elliot
  rectitude explain recs.csv --truth test.csv --metric map@10 --second ap_over=reachable
  rectitude explain a.csv --other b.csv --truth test.csv --metric mrr --second trec_eval-9
  rectitude explain a.json b.json
  rectitude explain a.json b.json --predictions recs.csv --truth test.csv --metric ndcg@10"""


def _convention_option(which: str) -> Any:
    words = f"The {which} convention: a profile, switches to change, or a saved evaluation (.json)."
    return typer.Option(metavar="PROFILE|SWITCH=VALUE ...", help=words)


@with_files
def run(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Ranked lists, or two saved evaluations (.json)."),
    ] = None,
    *,
    predictions: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Ranked lists: user, item, score.")
    ] = None,
    other: Annotated[
        str | None, typer.Option(metavar="FILE", help="Other predictions, for the second value.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="The metric, such as ndcg@10.")
    ] = None,
    first: Annotated[list[str] | None, _convention_option("first")] = None,
    second: Annotated[list[str] | None, _convention_option("second")] = None,
    seed: Annotated[int, typer.Option(help="The random seed of estimated shares.")] = 0,
    files: Files,
) -> int:
    """Explain the gap between two values of a metric.

    Every switch in which the two conventions differ gets a share of the gap, and the shares add up
    to the gap. Each share lists the users whose value the switch changes. Two saved evaluations are
    compared by what they record; with the predictions and the truth, their gaps are explained.
    """
    saved = [file for file in paths or () if file.endswith(".json")]
    lists = [*(file for file in paths or () if file not in saved), *(predictions or ())]
    if saved and not (lists or files.scores or files.logits):
        _require_saved_only(first, second, other)
        options = {"--metric": metric, "--seed": seed or None, **files.given()}
        refuse(options, "two saved evaluations without --predictions")
        files.deliver(_compare_saved(saved))
        return 0
    sides = _load_sides(saved, first, second, other)
    metrics = _choose_metrics(metric, sides)
    arguments = {**_open_predictions(files, lists, other), **files.as_arguments(), "seed": seed}
    explanations = _explain_metrics(sides, metrics, arguments)
    files.deliver(_Several(explanations) if len(metrics) > 1 else explanations[0])
    return 1 if len(explanations) < len(metrics) else 0


@dataclass(frozen=True, slots=True)
class _Several:
    """The explanations of several metrics."""

    explanations: Sequence[Explanation]

    def to_json(self) -> str:
        """Return all of them as JSON text."""
        stored = [explanation.as_dict() for explanation in self.explanations]
        return json.dumps({"explanations": stored}, indent=1)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.explanations))


def _compare_saved(saved: Sequence[str]) -> Differences:
    from rectitude.explanation.explain.differences import differences

    return differences(*_load_both(saved))


def _load_both(saved: Sequence[str]) -> tuple[Evaluation, Evaluation]:
    from rectitude.aggregate.evaluation import Evaluation

    if len(saved) != 2:
        number = (
            "1 saved evaluation was" if len(saved) == 1 else f"{len(saved)} saved evaluations were"
        )
        raise BadArgument(f"{number} given: {', '.join(saved)}.", "two to compare.")
    return Evaluation.load(saved[0]), Evaluation.load(saved[1])


def _load_sides(
    saved: Sequence[str],
    first: Sequence[str] | None,
    second: Sequence[str] | None,
    other: str | None,
) -> tuple[object, object]:
    """Return the convention or the saved evaluation behind each of the two values."""
    if saved:
        _require_saved_only(first, second)
        return _load_both(saved)
    if not (first or second or other):
        raise BadArgument(
            "there is nothing to compare.",
            "different conventions as --first and --second, or other predictions as --other.",
        )
    return _load_side(first or (), "--first"), _load_side(second or (), "--second")


def _require_saved_only(
    first: Sequence[str] | None, second: Sequence[str] | None, other: str | None = None
) -> None:
    """Raise an error for options that would be ignored with saved evaluations."""
    options = {"--first": first, "--second": second, "--other": other}
    given = [name for name, value in options.items() if value]
    if given:
        raise BadArgument(
            f"saved evaluations and {' and '.join(given)} were both given.",
            "only one of them: a saved evaluation has its convention and predictions.",
        )


def _load_side(values: Sequence[str], option: str) -> object:
    from rectitude.aggregate.evaluation import Evaluation

    if len(values) == 1 and values[0].endswith(".json"):
        return Evaluation.load(values[0])
    return convention_of(values, option)


def _choose_metrics(metric: str | None, sides: tuple[object, object]) -> list[str]:
    """Return the given metric, or all metrics that two saved evaluations share."""
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.explanation.explain.differences import differences

    first, second = sides
    if metric is not None:
        return [metric]
    if isinstance(first, Evaluation) and isinstance(second, Evaluation):
        return [difference.metric for difference in differences(first, second).metrics]
    raise BadArgument("no metric was given.", "--metric with a name such as ndcg@10.")


def _open_predictions(files: Files, lists: Sequence[str], other: str | None) -> dict[str, Any]:
    """Return the predictions and the truth as arguments of `explain`."""
    opened, truth = files.open(lists, other)
    if len(opened) > 2:
        raise BadArgument(
            f"{len(opened)} prediction files were given.",
            "one; pass a second one with --other.",
        )
    names = ("predictions", "other_predictions")
    return {**dict(zip(names, opened.values(), strict=False)), "truth": truth}


def _explain_metrics(
    sides: tuple[object, object], metrics: Sequence[str], arguments: Mapping[str, Any]
) -> list[Explanation]:
    """Explain each metric; report those that fail and leave them out, unless all of them do."""
    from rectitude.explanation.explain import explain

    explanations, failures = [], []
    for metric in metrics:
        try:
            explanations.append(
                explain(metric=metric, first=sides[0], second=sides[1], **arguments)
            )
        except RectitudeError as error:
            failures.append(error)
    if failures and not explanations:
        raise failures[0]
    for failure in failures:
        report_error(type(failure).__name__, str(failure))
    return explanations
