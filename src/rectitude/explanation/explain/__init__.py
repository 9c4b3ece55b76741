"""`explain`: what causes the gap between two values of the same metric."""

from __future__ import annotations

from typing import Unpack

from rectitude.data.ledger import list_warnings
from rectitude.errors import BadLists, RectitudeError, UndefinedValue
from rectitude.evaluation.inputs import Arguments, gather_arguments
from rectitude.explanation.explain.attribution import Attribution, Group, attribute
from rectitude.explanation.explain.game import Game
from rectitude.explanation.explain.result import Change, Explanation, Part, Side, change_of
from rectitude.explanation.explain.touched import flip
from rectitude.explanation.trials import End, end_of, one_name


def explain(
    predictions: object,
    truth: object,
    metric: str,
    first: object,
    second: object,
    *,
    other_predictions: object = None,
    seed: int = 0,
    **inputs: Unpack[Arguments],
) -> Explanation:
    """Explain the gap between the values of a metric under two conventions.

    `first` and `second` are profile names, conventions, dicts of switches, or evaluations, which
    bring the definitions that they recorded. Each switch that differs gets its Shapley value, so
    the parts add up to `second - first`. Each part also shows which users it affects. With
    `other_predictions`, the second value is computed from those predictions, and their effect is
    separated from that of the conventions. Other arguments are those of `evaluate`.

    >>> lists, truth = {"ann": ["a", "b", "c"]}, {"ann": ["b", "z"]}
    >>> parts = explain(lists, truth, "ndcg@3", "default", "rectools").parts
    >>> [part.label for part in parts]
    ['ideal']
    """
    name = one_name(metric)
    arguments = gather_arguments(predictions, truth, inputs)
    game = Game(end_of(first, name), end_of(second, name), arguments, other_predictions)
    sides = _sides(game)
    attribution = attribute(game, seed)
    keys = game.keys(frozenset())
    return Explanation(
        str(name), *sides, *_parts(game, attribution), attribution.method, attribution.tried,
        attribution.drawn, seed, len(keys.keys), len(keys.users), _notes(game, sides),
    )  # fmt: skip


def _sides(game: Game) -> tuple[Side, Side]:
    """Return both values; raise an error that says which one is missing, and why."""
    everybody = frozenset(player.name for player in game.players)
    for other in (set[str](), {"predictions"} if game.other is not None else set[str]()):
        game.keys(other)  # raises errors in the inputs before a convention can be blamed
    sides = []
    for which, end, coalition in (
        ("first", game.first, frozenset[str]()),
        ("second", game.second, everybody),
    ):
        try:
            value = game.result(coalition).value
        except RectitudeError as error:
            raise _no_value(which, end, error) from error
        if not abs(value) < float("inf"):
            raise _no_value(
                which, end, UndefinedValue(f"the value is {value}, not a finite number.")
            )
        sides.append(Side(end.label, value))
    if game.other is not None:
        _require_common_lists(game)
    return sides[0], sides[1]


def _no_value(which: str, end: End, error: RectitudeError) -> RectitudeError:
    return type(error)(
        f"{str(end.asked.name)!r} has no value under the {which} convention ({end.label}): "
        f"{error.found}",
        error.expected or "two values to compare.",
        error.advice or "change this convention or the inputs.",
    )


def _require_common_lists(game: Game) -> None:
    """Raise an error if the two predictions have no list in common."""
    first, second = (game.predicted(coalition) for coalition in (frozenset[str](), {"predictions"}))
    if first.isdisjoint(second):
        raise BadLists(
            f"the two predictions have no list in common ({len(first):,} and {len(second):,} "
            "lists).",
            "predictions of two models for the same users.",
            "check that both use the same ids.",
        )


def _parts(game: Game, attribution: Attribution) -> tuple[tuple[Part, ...], tuple[Change, ...]]:
    """Return the parts, largest share first, and the changes that affect no value and no list."""
    shares = attribution.shares
    errors = shares.error or [None] * len(attribution.groups)
    rows = zip(attribution.groups, shares.share, errors, strict=True)
    parts = [_part(game, group, share, error) for group, share, error in rows]
    idle = [_part(game, group, 0.0, 0.0 if shares.error else None) for group in attribution.idle]
    parts += [part for part in idle if part.touches]
    without = (change for part in idle if not part.touches for change in part.changes)
    return tuple(sorted(parts, key=lambda part: -abs(part.share))), tuple(without)


def _part(game: Game, group: Group, share: float, error: float | None) -> Part:
    nobody = frozenset[str]()
    everybody = frozenset(player.name for player in game.players)
    return Part(
        tuple(change_of(player) for player in group.players),
        share,
        flip(game, nobody, group.names),
        flip(game, everybody, everybody - group.names),
        error,
        group.reason,
    )


def _notes(game: Game, sides: tuple[Side, Side]) -> tuple[str, ...]:
    """Return warnings: an evaluation was made from other inputs, the two scales differ, or what
    `evaluate` warns about."""
    ends = zip(("first", "second"), (game.first, game.second), sides, strict=True)
    notes = [
        f"the {which} evaluation recorded {end.recorded!r}, but these inputs give {side.value!r}: "
        "it was made from other inputs."
        for which, end, side in ends
        if end.recorded is not None and abs(end.recorded - side.value) > 1e-12
    ]
    if any(player.name == "scale" for player in game.players):
        notes.append("one value is in percent, the other is not: set the same scale on both sides.")
    everybody = frozenset(player.name for player in game.players)
    ledgers = {"first": [game.ledger(frozenset())], "second": [game.ledger(everybody)]}
    return (*notes, *list_warnings(ledgers))
