"""`rectitude explain`: why do two numbers of the same name differ?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.inputs import Files, with_files
from rectitude.cli.options import convention_of, reported
from rectitude.errors import BadName, RectitudeError

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


def _end(which: str) -> Any:
    words = f"The {which} convention: a profile, switches to change, or a saved evaluation (.json)."
    return typer.Option(metavar="PROFILE|SWITCH=VALUE ...", help=words)


@with_files
def run(
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="Ranked lists, or two saved evaluations (.json)."),
    ] = None,
    *,
    predictions: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Ranked lists: user, item, score.")
    ] = None,
    other: Annotated[
        str | None, typer.Option(metavar="FILE", help="Other predictions for the second number.")
    ] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="Such as ndcg@10.")] = None,
    first: Annotated[list[str] | None, _end("first")] = None,
    second: Annotated[list[str] | None, _end("second")] = None,
    seed: Annotated[int, typer.Option(help="For shares that are estimated.")] = 0,
    files: Files,
) -> int:
    """Say how the gap between two numbers is made up.

    Every switch in which the two conventions differ gets its share, and the shares add up to the
    gap; with each come the users whose value it changes. Two saved evaluations are compared by what
    they record; with the predictions and the truth, their gaps are explained.
    """
    saved = [file for file in named or () if file.endswith(".json")]
    lists = [*(file for file in named or () if file not in saved), *(predictions or ())]
    if saved and not (lists or files.scores or files.logits):
        files.deliver(_compared(saved))
        return 0
    ends = _ends(saved, first, second, other)
    metrics = _metrics(metric, ends)
    given = {**_predictions(files, lists, other), **files.given(), "seed": seed}
    explanations = _explained(ends, metrics, given)
    files.deliver(_Several(explanations) if len(metrics) > 1 else explanations[0])
    return 1 if len(explanations) < len(metrics) else 0


@dataclass(frozen=True, slots=True)
class _Several:
    """Explanations in a row."""

    explanations: Sequence[Explanation]

    def to_json(self) -> str:
        """All of them as JSON text."""
        return json.dumps({"explanations": [one.as_dict() for one in self.explanations]}, indent=1)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.explanations))


def _compared(saved: Sequence[str]) -> Differences:
    from rectitude.explanation.explain.differences import differences

    return differences(*_loaded(saved))


def _loaded(saved: Sequence[str]) -> tuple[Evaluation, Evaluation]:
    from rectitude.aggregate.evaluation import Evaluation

    if len(saved) != 2:
        raise BadName(f"evaluations that were named: {', '.join(saved)}.", "two, to be compared.")
    return Evaluation.load(saved[0]), Evaluation.load(saved[1])


def _ends(
    saved: Sequence[str],
    first: Sequence[str] | None,
    second: Sequence[str] | None,
    other: str | None,
) -> tuple[object, object]:
    """What the two numbers are taken under."""
    if saved and (first or second):
        raise BadName("two saved evaluations and --first or --second were given.", "one of them.")
    if saved:
        return _loaded(saved)
    if not (first or second or other):
        raise BadName(
            "there is nothing to compare.",
            "--first and --second with different conventions, or --other predictions.",
        )
    return _end_of(first or (), "--first"), _end_of(second or (), "--second")


def _end_of(values: Sequence[str], option: str) -> object:
    from rectitude.aggregate.evaluation import Evaluation

    if len(values) == 1 and values[0].endswith(".json"):
        return Evaluation.load(values[0])
    return convention_of(values, option)


def _metrics(metric: str | None, ends: tuple[object, object]) -> list[str]:
    """The metric asked for, or all that two saved evaluations have in common."""
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.explanation.explain.differences import differences

    one, two = ends
    if metric is not None:
        return [metric]
    if isinstance(one, Evaluation) and isinstance(two, Evaluation):
        return [found.metric for found in differences(one, two).metrics]
    raise BadName("no metric was named.", "--metric with a name such as ndcg@10.")


def _predictions(files: Files, lists: Sequence[str], other: str | None) -> dict[str, Any]:
    """The predictions and the truth by the names that `explain` has for them."""
    found, truth = files.opened(lists, other)
    if len(found) > 2:
        raise BadName(f"{len(found)} predictions were named.", "one, and another as --other.")
    names = ("predictions", "other_predictions")
    return {**dict(zip(names, found.values(), strict=False)), "truth": truth}


def _explained(
    ends: tuple[object, object], metrics: Sequence[str], given: Mapping[str, Any]
) -> list[Explanation]:
    """Each metric explained; of several, what fails is reported and left out."""
    from rectitude.explanation.explain import explain

    explanations = []
    for metric in metrics:
        try:
            explanations.append(explain(metric=metric, first=ends[0], second=ends[1], **given))
        except RectitudeError as error:
            if len(metrics) == 1:
                raise
            reported(type(error).__name__, str(error))
    return explanations
