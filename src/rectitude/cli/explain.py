"""`rectitude explain`: why do two numbers of the same name differ?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli import files
from rectitude.cli.inputs import Inputs, opened, source
from rectitude.cli.options import Json, convention_of, pairs, reported
from rectitude.errors import BadName, RectitudeError

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.explanation.explain import Explanation

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


def run(  # noqa: PLR0913  one parameter per option
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Ranked lists, or two saved evaluations (.json)."),
    ] = None,
    *,
    truth: files.Truth = None,
    predictions: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Ranked lists: user, item, score.")
    ] = None,
    scores: files.Scores = None,
    logits: files.Logits = None,
    targets: files.Targets = None,
    other: Annotated[
        str | None, typer.Option(metavar="FILE", help="Other predictions for the second number.")
    ] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="Such as ndcg@10.")] = None,
    first: Annotated[list[str] | None, _end("first")] = None,
    second: Annotated[list[str] | None, _end("second")] = None,
    train: files.Train = None,
    candidates: files.Candidates = None,
    ranking: files.Ranking = None,
    score_users: files.ScoreUsers = None,
    score_items: files.ScoreItems = None,
    padding: files.Padding = None,
    items: files.Items = None,
    users: files.Users = None,
    weights: files.Weights = None,
    list_key: files.ListKey = "user",
    columns: files.Columns = None,
    seed: Annotated[int, typer.Option(help="For shares that are estimated.")] = 0,
    as_json: Json = False,
    output: files.Output = None,
) -> int:
    """Say how the gap between two numbers is made up.

    Every switch in which the two conventions differ gets its share, and the shares add up to the
    gap; with each come the users whose value it changes. Two saved evaluations are compared by what
    they record; with the predictions and the truth, their gaps are explained.
    """
    files.require_writable(output)
    saved = [file for file in named or () if file.endswith(".json")]
    lists = [*(file for file in named or () if file not in saved), *(predictions or ())]
    if saved and not (lists or scores or logits):
        files.deliver(_compared(saved, as_json), output)
        return 0
    given: dict[str, Any] = {
        "train": source(train), "items": items, "users": users, "weights": weights,
        "list_key": list_key, "columns": pairs(columns or (), "--columns", "user=visitor"),
        "candidates": source(candidates), "ranking": source(ranking), "seed": seed,
    }  # fmt: skip
    lists, dense, classes = (
        [*kind, other] if other and kind else list(kind or ()) for kind in (lists, scores, logits)
    )
    inputs = Inputs(
        lists, dense, classes, truth, targets, score_users, score_items, padding=padding
    )
    ends = _ends(saved, first, second, other)
    return _explained(inputs, ends, _metrics(metric, ends), given, as_json, output)


def _compared(saved: Sequence[str], as_json: bool) -> str:
    from rectitude.explanation.explain.saved import differences

    found = differences(*_loaded(saved))
    return found.to_json() if as_json else str(found)


def _loaded(saved: Sequence[str]) -> tuple[Evaluation, Evaluation]:
    from rectitude.aggregate.evaluation import Evaluation

    if len(saved) != 2:
        raise BadName(f"{len(saved)} saved evaluation was named.", "two, to be compared.")
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
    return _end_of(first or ()), _end_of(second or ())


def _end_of(values: Sequence[str]) -> object:
    from rectitude.aggregate.evaluation import Evaluation

    if len(values) == 1 and values[0].endswith(".json"):
        return Evaluation.load(values[0])
    return convention_of(values)


def _metrics(metric: str | None, ends: tuple[object, object]) -> list[str]:
    """The metric asked for, or all that two saved evaluations have in common."""
    from rectitude.aggregate.evaluation import Evaluation
    from rectitude.explanation.explain.saved import differences

    one, two = ends
    if metric is not None:
        return [metric]
    if isinstance(one, Evaluation) and isinstance(two, Evaluation):
        return [found.metric for found in differences(one, two).metrics]
    raise BadName("no metric was named.", "--metric with a name such as ndcg@10.")


def _explained(
    inputs: Inputs,
    ends: tuple[object, object],
    metrics: Sequence[str],
    given: Mapping[str, Any],
    as_json: bool,
    output: Any,
) -> int:
    from rectitude.explanation.explain import explain

    found, truth = opened(inputs)
    one, *rest = found.values()
    if len(rest) > 1:
        raise BadName(f"{len(found)} predictions were named.", "one, and another as --other.")
    if rest:
        given = {**given, "other_predictions": rest[0]}
    explanations, failed = [], 0
    for metric in metrics:
        try:
            explanations.append(explain(one, truth, metric, *ends, **given))
        except RectitudeError as error:
            if len(metrics) == 1:
                raise
            failed = 1
            reported(type(error).__name__, str(error))
    files.deliver(_said(explanations, as_json), output)
    return failed


def _said(explanations: Sequence[Explanation], as_json: bool) -> str:
    """One explanation as such; several in a row."""
    if not as_json:
        return "\n\n".join(map(str, explanations))
    if len(explanations) == 1:
        return explanations[0].to_json()
    return json.dumps(
        {"explanations": [json.loads(one.to_json()) for one in explanations]}, indent=1
    )
