"""Groups of users, and attributes in the ledger: what each group has, and who has no attribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from rectitude.aggregate.by_group import ByGroup
from rectitude.aggregate.state import State, overall, tally
from rectitude.arrays import Flags, Integers, run_starts
from rectitude.convention import Convention
from rectitude.data.attributes import Groups
from rectitude.data.ledger import Ledger
from rectitude.errors import MissingNeed, NothingToEvaluate
from rectitude.judge.join import Verdict
from rectitude.judge.sides import Sides
from rectitude.metrics.registry import Ratio
from rectitude.profiles import Asked

_NAMED = 12


def by_group(
    ratio: Ratio,
    flags: Flags,
    groups: Groups,
    convention: Convention,
    sides: Sides,
    spread: bool,
) -> ByGroup:
    """The values of the lists that count, added up for each group that has any."""
    group, states = groups.number, dict[str, State]()
    counts = np.flatnonzero(flags & (group >= 0))
    order = counts[np.argsort(group[counts], kind="stable")]
    for which in np.split(order, run_starts(group[order])[1:]) if len(order) else ():
        mine = Ratio(ratio.above[which], ratio.below[which])
        weights = None if sides.weights is None else sides.weights[which]
        own = (np.ones(len(which), bool), convention, weights, sides.owners[which])
        state = tally(mine, *own, partial(_label, sides, which), spread).state
        states[str(groups.names[int(group[which[0]])])] = state
    return ByGroup(states)


def _label(sides: Sides, which: Integers, number: int) -> str:
    return sides.label(int(which[number]))


def means_of(asked: Asked, total: ByGroup) -> dict[str, float]:
    """The value of each group that has one; an error where there are not two of them."""
    convention, how = asked.convention, asked.metric.overall
    means = {
        name: overall(state, convention, how)
        for name, state in total.states.items()
        if state.counted or state.nan
    }
    if len(means) < 2:
        found = f"1 group of {asked.by!r}: {next(iter(means))!r}" if means else "no group"
        raise NothingToEvaluate(
            f"{str(asked.name)!r} has a value for {found}.",
            "lists of at least two groups.",
            f"check the column {asked.by!r} of users=.",
        )
    return means


def tell_groups(ledger: Ledger, asked: Asked, means: Mapping[str, float], total: ByGroup) -> None:
    """Write down the mean and the size of each group, and warn of groups of one."""
    sizes = {name: total.states[name].counted for name in means}
    unit = f"{asked.convention.unit}s"
    words = [f"{name} {mean:.4f} ({sizes[name]:,} {unit})" for name, mean in means.items()]
    more = f", ... ({len(words)} groups in all)" if len(words) > _NAMED else ""
    ledger.note(str(asked.name), f"{', '.join(words[:_NAMED])}{more}")
    single = [name for name, size in sizes.items() if size == 1]
    about = f"groups of {asked.numbers['by']!r} have one value: their mean is no mean"
    name = f"groups_of_one_{asked.numbers['by']}"
    ledger.count(name, len(single), about, len(sizes), single[0] if single else "", "warning")


def require_values(asked: Asked, ledger: Ledger) -> None:
    """An error if nothing has a value of an attribute that the metric looks at."""
    for what in ("item", "user"):
        for column in asked.numbers.values():
            found = ledger.entries.get(f"{what}s_without_{column}")
            if found is not None and found.count and found.count == found.of:
                raise MissingNeed(
                    f"column {column!r} of {what}s= has no value for any {what}.",
                    f"a value for some {what}s at least.",
                )


def account_for_attributes(verdicts: Iterable[Verdict], ledger: Ledger) -> None:
    """Count the items and users without a value of the attributes that metrics looked at."""
    for judged in (verdict.judged for verdict in verdicts):
        if judged.stock is not None:
            judged.stock.attributes.account(ledger, judged.stock.ids)
        if judged.people is not None:
            judged.people.attributes.account(ledger, judged.people.ids, judged.owner)
