"""Every metric and population once more, slowly and plainly, from the definitions.

Nothing here is shared with the package: lists are sorted, looked through one by one, and averaged
with `math.fsum`. A metric gives what stands above and below the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum, inf, log2
from typing import Any

from strategies import Case

from rectitude.convention import Convention


@dataclass
class One:
    """One list as it stands: items in order, and grades in the order of the truth."""

    items: list[Any]
    grades: dict[Any, float]
    handed: bool
    told: bool
    threshold: float | None
    convention: Convention
    relevant: set[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.relevant = {i for i, g in self.grades.items() if self.good(g)}

    def good(self, grade: float) -> bool:
        return grade > 0 if self.threshold is None else grade >= self.threshold

    def top(self, k: int | None) -> list[Any]:
        return self.items if k is None else self.items[:k]

    def hits(self, k: int | None) -> int:
        return sum(item in self.relevant for item in self.top(k))

    def fits(self, k: int | None) -> int:
        return min(len(self.relevant), inf if k is None else k)  # type: ignore[return-value]

    def gain(self, grade: float) -> float:
        c = self.convention
        gains = self.good(grade) if c.gain_from == "relevant" else grade > 0
        worth = {"binary": 1.0, "linear": grade, "exp2": 2.0**grade - 1}[c.gain]
        return worth if gains else 0.0

    def gain_of(self, item: Any) -> float:
        return self.gain(self.grades[item]) if item in self.grades else 0.0

    def discount(self, rank: int) -> float:
        if self.convention.discount == "log":
            return 1 / log2(rank + 1)
        return 1 / max(1.0, log2(rank))


def lists_of(case: Case, convention: Convention) -> dict[Any, One]:
    """Every list of a case under a convention."""
    found = {}
    for user in case.users():
        rows = [(g, i) for u, i, g in case.truth if u == user]
        if convention.negative_grades == "unjudged":
            rows_left = [(g, i) for g, i in rows if g >= 0]
        else:
            rows_left = rows
        grades = {i: g for g, i in rows_left}
        mine = [(i, s) for u, i, s in case.predictions if u == user]
        if convention.unjudged == "dropped":
            mine = [(i, s) for i, s in mine if i in grades]
        place = {item: n for n, item in enumerate(grades)}
        tie = {
            "pessimistic": lambda i, g=grades, p=place: (g.get(i, -inf), p.get(i, 0)),
            "optimistic": lambda i, g=grades, p=place: (-g.get(i, -inf), p.get(i, 0)),
            "given": lambda i: 0,
            "item_ascending": lambda i: i,
            "item_descending": lambda i: -i,
        }[convention.ties]
        order = [i for i, s in sorted(mine, key=lambda pair: (-pair[1], tie(pair[0])))]
        handed = user in case.handed or any(u == user for u, _, _ in case.predictions)
        found[user] = One(order, grades, handed, bool(rows), convention.relevant_from, convention)
    return found


def counts(one: One, k: int | None) -> bool:
    """Whether a list enters the mean."""
    c = one.convention
    truth = {
        "relevant": bool(one.relevant),
        "judged": one.told,
        "none": one.told or one.handed,
    }[c.truth_needed]
    predicted = {
        "none": True,
        "handed": one.handed,
        "items": bool(one.items),
        "hit": one.hits(k) > 0,
    }[c.list_needed]
    return truth and predicted


def mean(metric: str, k: int | None, case: Case, convention: Convention) -> float | None:
    """The value of a case, 0/0 counting 0 as in the conventions drawn; None if no list counts."""
    lists = [one for one in lists_of(case, convention).values() if counts(one, k)]
    if not lists:  # the mean over the lists with a hit is 0/0 where nothing was hit
        return UNDEFINED if convention.list_needed == "hit" else None
    fractions = [FRACTIONS[metric](one, k) for one in lists]
    if convention.average == "micro":
        below = fsum(b for _, b in fractions)
        return fsum(a for a, _ in fractions) / below if below else UNDEFINED
    return fsum(a / b if b else 0.0 for a, b in fractions) / len(fractions)


Fraction = tuple[float, float]
UNDEFINED = 0.0
"""What 0/0 is worth in the conventions that are drawn."""


def precision(one: One, k: int | None) -> Fraction:
    return one.hits(k), _precision_below(one, k)


def _precision_below(one: One, k: int | None) -> float:
    over = one.convention.precision_over
    if over == "reachable":
        return one.fits(k)
    return len(one.top(k)) if over == "returned" else _whole(one, k)


def _whole(one: One, k: int | None) -> int:
    return max(len(one.items), 1) if k is None else k


def recall(one: One, k: int | None) -> Fraction:
    return one.hits(k), _recall_below(one, k)


def _recall_below(one: One, k: int | None) -> float:
    return len(one.relevant) if one.convention.recall_over == "relevant" else one.fits(k)


def f1(one: One, k: int | None) -> Fraction:
    hits = one.hits(k)
    if not hits and one.convention.f1_without_hits == "undefined":
        return 0.0, 0.0
    return 2 * hits, _precision_below(one, k) + _recall_below(one, k) or 1


def hit(one: One, k: int | None) -> Fraction:
    hits = one.hits(k)
    return (hits if one.convention.hit_as == "count" else min(hits, 1)), 1


def mrr(one: One, k: int | None) -> Fraction:
    terms = [1 / r for r, item in enumerate(one.top(k), 1) if item in one.relevant]
    return fsum(terms if one.convention.reciprocal_rank == "sum" else terms[:1]), 1


def average_precision(one: One, k: int | None) -> Fraction:
    ranks = [r for r, item in enumerate(one.top(k), 1) if item in one.relevant]
    over = one.convention.ap_over
    below = {
        "relevant": len(one.relevant),
        "reachable": one.fits(k),
        "k": _whole(one, k),
        "found": max(len(ranks), 1),
    }[over]
    return fsum(n / r for n, r in enumerate(ranks, 1)), below


def dcg(one: One, k: int | None) -> Fraction:
    place = {item: n for n, item in enumerate(one.grades, 1)}
    by_place = one.convention.discount_by == "place"
    terms = [
        one.gain_of(i) * one.discount(place[i] if by_place else r)
        for r, i in enumerate(one.top(k), 1)
        if i in one.grades
    ]
    return fsum(terms), 1


def ndcg(one: One, k: int | None) -> Fraction:
    ideal = fsum(g * one.discount(r) for r, g in enumerate(_best(one, k), 1))
    return dcg(one, k)[0], ideal


def _best(one: One, k: int | None) -> list[float]:
    """The gains of the ideal list."""
    choice, returned = one.convention.ideal, len(one.top(k))
    barely = one.gain(max(1.0, one.threshold or 1.0))
    if choice == "k":
        return [barely] * (len(one.items) if k is None else k)
    if choice == "returned":
        return [barely] * returned
    if choice in ("found", "listed"):
        items = one.top(k) if choice == "found" else one.items
        return sorted(map(one.gain_of, items), reverse=True)[:k]
    best = sorted(map(one.gain, one.grades.values()), reverse=True)
    return best[: returned if choice == "reachable_returned" else k]


def rprec(one: One, k: int | None) -> Fraction:
    size = len(one.relevant)
    return one.hits(size if k is None else min(size, k)), size


def rbp(one: One, k: int | None) -> Fraction:
    return fsum(0.2 * 0.8 ** (r - 1) * one.gain_of(i) for r, i in enumerate(one.top(k), 1)), 1


def err(one: One, k: int | None) -> Fraction:
    most = {"binary": 1, "linear": 4, "exp2": 15}[one.convention.gain]
    reach, value = 1.0, 0.0
    for rank, item in enumerate(one.top(k), 1):
        stop = one.gain_of(item) / (most + 1)
        value += reach * stop / rank
        reach *= 1 - stop
    return value, 1


def bpref(one: One, k: int | None) -> Fraction:
    size = len(one.relevant)
    negative = len(one.grades) - size
    terms = []
    for rank, item in enumerate(one.top(k)):
        if item in one.relevant:
            above = sum(i in one.grades and i not in one.relevant for i in one.items[:rank])
            terms.append(1 - min(above, size) / min(negative, size) if above else 1.0)
    return fsum(terms), size


def bpref_strict(one: One, k: int | None) -> Fraction:
    if not one.relevant:
        return 0.0, 1.0
    if one.hits(None) and len(one.grades) == len(one.relevant):
        return 0.0, 0.0
    return bpref(one, k)


def rmrr(one: One, k: int | None) -> Fraction:
    place = {item: n for n, item in enumerate(one.grades)}
    hits = [(r, i) for r, i in enumerate(one.top(k)) if i in one.relevant]
    return fsum(1 / (abs(r - place[i]) + 1) for r, i in hits), len(one.relevant)


FRACTIONS = {
    "precision": precision, "recall": recall, "f1": f1, "hit": hit, "mrr": mrr,
    "map": average_precision, "dcg": dcg, "ndcg": ndcg, "rprec": rprec, "rbp": rbp, "err": err,
    "bpref": bpref, "bpref_strict": bpref_strict, "rmrr": rmrr,
}  # fmt: skip
