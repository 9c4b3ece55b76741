"""`explain`: how the gap between two numbers of the same name is made up."""

from __future__ import annotations

from typing import Unpack

from rectitude.errors import BadLists, RectitudeError, UndefinedValue
from rectitude.evaluation.inputs import Arguments, given_of
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
    """Say how the gap between a metric under two conventions is made up.

    `first` and `second` are profile names, conventions, dicts of switches, or evaluations, whose
    recorded definitions are taken. Each switch that differs gets its Shapley value, so that the
    parts add up to `second` less `first`; with each come the users it touches. With
    `other_predictions` the second number is theirs, and what they add is told from what the
    conventions add. Other arguments are those of `evaluate`.

    >>> lists, truth = {"ann": ["a", "b", "c"]}, {"ann": ["b", "z"]}
    >>> parts = explain(lists, truth, "ndcg@3", "default", "rectools").parts
    >>> [part.label for part in parts]
    ['ideal']
    """
    name = one_name(metric)
    given = given_of(predictions, truth, inputs)
    game = Game(end_of(first, name), end_of(second, name), given, other_predictions)
    sides = _sides(game)
    found = attribute(game, seed)
    keys = game.keys(frozenset())
    return Explanation(
        str(name), *sides, *_parts(game, found), found.method, found.tried, found.drawn, seed,
        len(keys.keys), len(keys.users), _notes(game, sides),
    )  # fmt: skip


def _sides(game: Game) -> tuple[Side, Side]:
    """Both numbers, or an error that says which of them there is not, and why."""
    everybody = frozenset(player.name for player in game.players)
    for other in (set[str](), {"predictions"} if game.other is not None else set[str]()):
        game.keys(other)  # what is wrong with the inputs is no fault of a convention
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
            raise _no_value(which, end, UndefinedValue(f"it is {value}."))
        sides.append(Side(end.label, value))
    if game.other is not None:
        _require_common_lists(game)
    return sides[0], sides[1]


def _no_value(which: str, end: End, error: RectitudeError) -> RectitudeError:
    return type(error)(
        f"{str(end.asked.name)!r} has no value under the {which} convention ({end.label}): "
        f"{error.found}",
        error.expected or "two numbers to compare.",
        error.advice or "change that convention, or the inputs.",
    )


def _require_common_lists(game: Game) -> None:
    """Refuse two predictions of which none is about the same list."""
    here, there = (game.predicted(one) for one in (frozenset[str](), {"predictions"}))
    if here.isdisjoint(there):
        raise BadLists(
            f"the two predictions have no list in common ({len(here):,} and {len(there):,} lists).",
            "two models that predicted for the same users.",
        )


def _parts(game: Game, found: Attribution) -> tuple[tuple[Part, ...], tuple[Change, ...]]:
    """Every part, the largest share first, and what changes neither the number nor any list."""
    errors = found.shares.error or [None] * len(found.groups)
    rows = zip(found.groups, found.shares.share, errors, strict=True)
    parts = [_part(game, group, share, error) for group, share, error in rows]
    idle = [_part(game, group, 0.0, 0.0 if found.shares.error else None) for group in found.idle]
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
    """Where an evaluation holds another value than these inputs give, and where the two numbers are
    shown on two scales."""
    ends = zip(("first", "second"), (game.first, game.second), sides, strict=True)
    notes = [
        f"the {which} evaluation holds {end.recorded!r}, these inputs give {side.value!r}: it was "
        "made from other inputs."
        for which, end, side in ends
        if end.recorded is not None and abs(end.recorded - side.value) > 1e-12
    ]
    if any(player.name == "scale" for player in game.players):
        notes.append("one number is in percent, the other is not: set scale alike on both sides.")
    return tuple(notes)
