"""Every metric and population once more, slowly and plainly, from the definitions.

Nothing here is shared with the package: lists are sorted, looked through one by one, and averaged
with `math.fsum`. A metric gives what stands above and below the line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import exp, floor, fsum, inf, log, log2
from typing import Any

from strategies import Case, level

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
        above = grade - (self.threshold or 0.0) + 1
        worth = {"binary": 1.0, "linear": grade, "signed": grade, "exp2": 2.0**grade - 1,
                 "exp2_above": 2.0**above - 1}[c.gain]  # fmt: skip
        return worth if gains else 0.0

    def gain_of(self, item: Any) -> float:
        return self.gain(self.grades[item]) if item in self.grades else 0.0

    def discount(self, rank: int) -> float:
        if self.convention.discount == "log":
            return 1 / log2(rank + 1)
        if self.convention.discount == "position":
            return 1 / rank
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
            drawn = convention.negative_grades == "sampled"
            mine = [(i, s) for i, s in mine if i in grades and not (drawn and grades[i] < 0)]
        tie = {
            "pessimistic": lambda i, g=grades: (g.get(i, -inf), i),
            "optimistic": lambda i, g=grades: (-g.get(i, -inf), i),
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
        "judged_or_listed": one.told or bool(one.items),
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
    if metric in DRAWN:
        convention = convention.replace(negative_grades="sampled")
    depth = None if metric in LEVELS else k
    lists = [one for one in lists_of(case, convention).values() if counts(one, depth)]
    if not lists:  # the mean over the lists with a hit is 0/0 where nothing was hit
        return UNDEFINED if convention.list_needed == "hit" else None
    fractions = [FRACTIONS[metric](one, k) for one in lists]
    if metric in SUMS:
        return fsum(a for a, _ in fractions)
    if metric in GEOMETRIC:
        return exp(fsum(a for a, _ in fractions) / len(fractions))
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
    if over == "reachable_returned":
        return min(len(one.relevant), len(one.top(k)))
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


def f_unsquared(one: One, k: int | None) -> Fraction:
    return 2 * one.hits(k), _precision_below(one, k) + _recall_below(one, k)


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
        "reachable_returned": min(len(one.relevant), len(one.top(k))),
        "k": _whole(one, k),
        "found": max(len(ranks), 1),
    }[over]
    return fsum(n / r for n, r in enumerate(ranks, 1)), below


def average_recall(one: One, k: int | None) -> Fraction:
    above = fsum(n / len(one.relevant) for n in range(1, one.hits(k) + 1))
    return above, average_precision(one, k)[1]


def mean_prefix_precision(one: One, k: int | None) -> Fraction:
    end = int(_whole(one, k))
    return fsum(one.hits(n) / n for n in range(1, end + 1)), end


def mean_prefix_recall(one: One, k: int | None) -> Fraction:
    end = int(_whole(one, k))
    return sum(one.hits(n) for n in range(1, end + 1)), end * len(one.relevant)


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


def _best(one: One, k: int | None, gain: Callable[[float], float] | None = None) -> list[float]:
    """The gains of the ideal list."""
    choice, returned = one.convention.ideal, len(one.top(k))
    gain = gain or one.gain
    barely = gain(max(1.0, one.threshold or 1.0))
    if choice == "k":
        return [barely] * (len(one.items) if k is None else k)
    if choice == "returned":
        return [barely] * returned
    if choice in ("found", "listed"):
        items = one.top(k) if choice == "found" else one.items
        return sorted((gain(one.grades.get(i, -inf)) for i in items), reverse=True)[:k]
    best = sorted(map(gain, one.grades.values()), reverse=True)
    return best[: returned if choice == "reachable_returned" else k]


def rprec(one: One, k: int | None) -> Fraction:
    size = len(one.relevant)
    return one.hits(size if k is None else min(size, k)), size


def rbp(one: One, k: int | None) -> Fraction:
    return fsum(0.2 * 0.8 ** (r - 1) * one.gain_of(i) for r, i in enumerate(one.top(k), 1)), 1


def normalised_rbp(one: One, k: int | None) -> Fraction:
    found = fsum(0.8 ** (r - 1) * one.gain_of(i) for r, i in enumerate(one.top(k), 1))
    return found, fsum(0.8 ** (r - 1) * g for r, g in enumerate(_best(one, k), 1))


def ncrr(one: One, k: int | None) -> Fraction:
    found = fsum(1 / r for r, item in enumerate(one.top(k), 1) if item in one.relevant)
    best = _best(one, k, lambda grade: float(one.good(grade)))
    return found, fsum(g / r for r, g in enumerate(best, 1))


def list_auc_strict(one: One, k: int | None) -> Fraction:
    good = [item in one.relevant for item in one.top(k)]
    pairs = [(a, b) for n, a in enumerate(good) for b in good[n + 1 :] if a != b]
    return sum(a for a, _ in pairs), len(pairs)


def err(one: One, k: int | None) -> Fraction:
    reach, value = 1.0, 0.0
    for rank, item in enumerate(one.top(k), 1):
        stop = one.gain_of(item) / (_most(one) + 1)
        value += reach * stop / rank
        reach *= 1 - stop
    return value, 1


def _most(one: One) -> float:
    """The gain of grade 4, the highest."""
    above = 2.0 ** (4 - (one.threshold or 0.0) + 1) - 1
    most = {"binary": 1, "linear": 4, "signed": 4, "exp2": 15, "exp2_above": above}
    return most[one.convention.gain]


def _chance(one: One, item: object) -> float:
    return one.gain_of(item) / _most(one)


def certain_err(one: One, k: int | None) -> Fraction:
    reach, value = 1.0, 0.0
    for rank, item in enumerate(one.top(k), 1):
        value += reach * _chance(one, item) / rank
        reach *= 1 - _chance(one, item)
    return value, 1


def pfound(one: One, k: int | None) -> Fraction:
    looks, value = 1.0, 0.0
    for item in one.top(k):
        value += looks * _chance(one, item)
        looks *= (1 - _chance(one, item)) * 0.85
    return value, 1


def average_gain(one: One, k: int | None) -> Fraction:
    return fsum(one.gain_of(item) for item in one.top(k)), precision(one, k)[1]


def best_rr(one: One, k: int | None) -> Fraction:
    if not one.relevant:
        return 0, 0
    highest = max(one.grades.values())
    ranks = [r for r, item in enumerate(one.top(k), 1) if one.grades.get(item) == highest]
    return (1 / ranks[0] if ranks else 0), 1


def graded_auc(one: One, k: int | None) -> Fraction:
    grades = [one.grades[item] for item in one.top(k) if item in one.grades]
    pairs = [(a, b) for n, a in enumerate(grades) for b in grades[n + 1 :] if a != b]
    return sum(a > b for a, b in pairs), len(pairs)


def all_pairs_auc(one: One, k: int | None) -> Fraction:
    place = {item: n for n, item in enumerate(one.grades)}
    worth = [(one.grades[i], -place[i]) for i in one.top(k) if i in one.grades]
    pairs = [(a, b) for n, a in enumerate(worth) for b in worth[n + 1 :]]
    return (sum(a > b for a, b in pairs), len(pairs)) if len(one.grades) > 2 else (0, 0)


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


def list_auc(one: One, k: int | None) -> Fraction:
    right, pairs = list_auc_strict(one, k)
    return (right, pairs) if pairs else (float(one.hits(k) > 0), 1)


def pauc(one: One, k: int | None) -> Fraction:
    return _pairs_won(one, k, inf), len(one.relevant) * _misses_wanted(one, k)


def pauc_strict(one: One, k: int | None) -> Fraction:
    return (0.0, 0.0) if _ends_early(one, k) else pauc(one, k)


def pap(one: One, k: int | None) -> Fraction:
    wanted = _misses_wanted(one, k)
    return _pairs_won(one, k, wanted), min(len(one.relevant), wanted) * wanted


def pap_strict(one: One, k: int | None) -> Fraction:
    return (0.0, 0.0) if _ends_early(one, k) else pap(one, k)


def _ends_early(one: One, k: int | None) -> bool:
    misses, found = len(one.items) - one.hits(None), one.hits(None)
    return misses < _misses_wanted(one, k) and found < len(one.relevant)


def _misses_wanted(one: One, k: int | None) -> int:
    return max(len(one.items) - one.hits(None), 1) if k is None else k


def _pairs_won(one: One, k: int | None, most: float) -> int:
    """Places free for misses below each of the first hits, misses that no list holds included."""
    wanted, misses, hits, won = _misses_wanted(one, k), 0, 0, 0
    for item in one.items:
        if item not in one.relevant:
            misses += 1
        elif misses < wanted and hits < most:
            hits, won = hits + 1, won + wanted - misses
    return won


def ndcg_of_joins(one: One, k: int | None) -> Fraction:
    convention = one.convention.replace(ideal="reachable", discount_by="rank")
    return ndcg(replace(one, convention=convention), k)


def deep_precision(one: One, k: int | None) -> Fraction:
    return one.hits(10), _precision_below(one, k)


def rprec_found(one: One, k: int | None) -> Fraction:
    hits, size = rprec(one, k)
    return (hits / size, 1.0) if hits else (0.0, 0.0)


def iprec(one: One, k: int | None) -> Fraction:
    return _interpolated(one, one.items, level(k)), 1


def iprec_mean(one: One, k: int | None) -> Fraction:
    return fsum(_interpolated(one, one.top(k), n / 10) for n in range(11)), 11


def _interpolated(one: One, items: list[Any], recall: float) -> float:
    good = [item in one.relevant for item in items]
    wanted = floor(recall * len(one.relevant) + 1 - 1e-9)
    precisions = [sum(good[:n]) / n for n in range(1, len(good) + 1) if sum(good[:n]) >= wanted]
    return max(precisions, default=0.0)


def gm_map(one: One, k: int | None) -> Fraction:
    above, below = average_precision(one, k)
    return log(max(above / below if below else 0.0, 1e-5)), 1


def gm_bpref(one: One, k: int | None) -> Fraction:
    above, below = bpref(one, k)
    return log(max(above / below if below else 0.0, 1e-5)), 1


def bing(one: One, k: int | None) -> Fraction:
    top = one.top(k)
    wrong = [sum(i not in one.relevant for i in top[:n]) for n in range(len(top))]
    terms = [1 / log2(2 + w) for w, i in zip(wrong, top, strict=True) if i in one.relevant]
    return fsum(terms), len(one.relevant)


def g(one: One, k: int | None) -> Fraction:
    best = sorted(map(one.gain, one.grades.values()), reverse=True)
    value, cost, so_far = 0.0, 0.0, 0.0
    for rank, item in enumerate(one.top(k)):
        cost += max(1.0, best[rank] if rank < len(best) else 0.0)
        so_far += one.gain_of(item)
        value += one.gain_of(item) / log2(2 + cost - so_far)
    return value, fsum(best)


def ndcg_at_hits(one: One, k: int | None) -> Fraction:
    best = [gain for gain in _sorted_gains(one) if gain > 0]
    ranks = [r for r, item in enumerate(one.top(k), 1) if one.gain_of(item) > 0]
    ends = ranks + [max(len(one.top(k)), len(best))] * (len(best) - len(ranks))
    return fsum(_ndcg_upto(one, one.top(k), end) for end in ends), len(best)


def rndcg(one: One, k: int | None) -> Fraction:
    gains, top = [*_sorted_gains(one), 0.0], one.top(k)
    ends = [n for n in range(1, len(gains)) if gains[n - 1] > gains[n]]
    if ends and len(top) > ends[-1] + 1:
        ends.append(len(top))
    if not one.relevant:
        return 0.0, 0.0
    return fsum(_ndcg_upto(one, top, end) for end in ends), len(ends)


def _sorted_gains(one: One) -> list[float]:
    return sorted(map(one.gain, one.grades.values()), reverse=True)


def _ndcg_upto(one: One, items: list[Any], end: int) -> float:
    found = fsum(one.gain_of(i) * one.discount(r) for r, i in enumerate(items[:end], 1))
    return found / fsum(x * one.discount(r) for r, x in enumerate(_sorted_gains(one)[:end], 1))


def infap(one: One, k: int | None) -> Fraction:
    value, drawn, right, told = 0.0, 0, 0, 0
    for rank, item in enumerate(one.top(k), 1):
        if item in one.relevant:
            value += (1 + drawn * (right + 1e-5) / (told + 2e-5)) / rank
        drawn += item in one.grades
        right += item in one.relevant
        told += one.grades.get(item, -1) >= 0
    return value, len(one.relevant)


def judged(one: One, k: int | None) -> Fraction:
    return sum(item in one.grades for item in one.top(k)), len(one.top(k))


def unjudged(one: One, k: int | None) -> Fraction:
    return sum(item not in one.grades for item in one.top(k)), _whole(one, k)


def rbp_residual(one: One, k: int | None) -> Fraction:
    top = one.top(k)
    unknown = [0.2 * 0.8**n for n, item in enumerate(top) if item not in one.grades]
    return (fsum(unknown) + 0.8 ** len(top) if unknown else 0.0), 1


def scaled_rbp(one: One, k: int | None) -> Fraction:
    return rbp(one, k)[0], max([1.0, *_sorted_gains(one)])


def _browse(one: One, k: int | None, go_on: Callable[[int, float, float], float]) -> Fraction:
    """What a user gains and looks at who goes on by rank, gain and gain so far."""
    above, below, reached, so_far = 0.0, 0.0, 1.0, 0.0
    for rank in range(1, min(k or 1000, 1000) + 1):
        item = one.items[rank - 1] if rank <= len(one.items) else None
        gain = min(max(one.grades[item], 0.0), 1.0) if item in one.relevant else 0.0
        so_far += gain
        above, below = above + reached * gain, below + reached
        reached *= go_on(rank, gain, so_far)
    return above, below


def bpm(one: One, k: int | None) -> Fraction:
    return _browse(one, k, lambda rank, gain, so_far: float(so_far < 1))


def insq(one: One, k: int | None) -> Fraction:
    return _browse(one, k, lambda rank, gain, so_far: ((rank + 1) / (rank + 2)) ** 2)


def inst(one: One, k: int | None) -> Fraction:
    return _browse(
        one, k, lambda rank, gain, so_far: ((rank + 1 - so_far) / (rank + 2 - so_far)) ** 2
    )


def sdcg(one: One, k: int | None) -> Fraction:
    return _browse(one, k, lambda rank, gain, so_far: log2(rank + 1) / log2(rank + 2))


def nerr8(one: One, k: int | None) -> Fraction:
    return _browse(one, k, lambda rank, gain, so_far: 1 - gain)


def nerr9(one: One, k: int | None) -> Fraction:
    return _browse(one, k, lambda rank, gain, so_far: rank / (rank + 1) * (1 - gain))


def nerr10(one: One, k: int | None) -> Fraction:
    return _browse(one, k, lambda rank, gain, so_far: 0.9 * (1 - gain))


def nerr11(one: One, k: int | None) -> Fraction:
    return _browse(one, k, lambda rank, gain, so_far: ((rank + 1) / (rank + 2)) ** 2 * (1 - gain))


def compatibility(one: One, k: int | None) -> Fraction:
    places = {item: place for place, item in enumerate(one.items)}
    ideal = sorted(one.relevant, key=lambda i: (-one.grades[i], places.get(i, inf)))
    depth = min(max(len(one.items), len(ideal)), inf if k is None else k)
    weights = {d: 0.95 ** (d - 1) / d for d in range(1, int(depth) + 1)}
    shared = [w * len({*one.items[:d]} & {*ideal[:d]}) for d, w in weights.items()]
    return fsum(shared), fsum(w * len(ideal[:d]) for d, w in weights.items())


def num_q(one: One, k: int | None) -> Fraction:
    return 1, 1


def num_ret(one: One, k: int | None) -> Fraction:
    return len(one.top(k)), 1


def num_rel(one: One, k: int | None) -> Fraction:
    return len(one.relevant), 1


def num_rel_ret(one: One, k: int | None) -> Fraction:
    return one.hits(k), 1


def num_nonrel_judged_ret(one: One, k: int | None) -> Fraction:
    return judged(one, k)[0] - one.hits(k), 1


def utility(one: One, k: int | None) -> Fraction:
    return 2 * one.hits(k) - len(one.top(k)), 1


def set_map(one: One, k: int | None) -> Fraction:
    return one.hits(k) ** 2, max(len(one.top(k)), 1) * len(one.relevant)


def full_lists(one: One, k: int | None) -> Fraction:
    return int(len(one.top(None)) >= (1 if k is None else k)), 1


def covered_users(one: One, k: int | None) -> Fraction:
    return full_lists(one, None)


def filled_share(one: One, k: int | None) -> Fraction:
    return len(one.top(k)), _whole(one, k)


def unlike_reference(one: One, k: int | None) -> Fraction:
    if not one.items or not one.grades:
        return 0.0, 0.0
    return _whole(one, k) - _shared(one, k), _whole(one, k)


def reference_overlap(one: One, k: int | None) -> Fraction:
    return _shared(one, k), len(one.top(k))


def rank_biased_overlap(one: One, k: int | None) -> Fraction:
    end = max(len(one.items), len(one.grades)) if k is None else k
    weights = {depth: 0.85 ** (depth - 1) for depth in range(1, end + 1)}
    agreed = fsum(weight * _shared(one, d) / d for d, weight in weights.items())
    return agreed, fsum(weights.values())


def least_item_promoted(one: One, k: int | None) -> Fraction:
    place = {item: n for n, item in enumerate(one.grades)}
    below = [place[item] - _whole(one, k) for item in one.top(k) if item in place]
    return (max([0, *below]), 1) if one.grades else (0.0, 0.0)


def _shared(one: One, k: int | None) -> int:
    """Items that are among the first k of the list and among the first k of the truth."""
    return len(set(one.top(k)) & set(list(one.grades)[:k]))


SUMS = (
    "covered_users",
    "full_lists",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "num_nonrel_judged_ret",
)
GEOMETRIC = ("gm_map", "gm_bpref")
DRAWN = ("infap",)
LEVELS = ("iprec",)


FRACTIONS = {
    "precision": precision, "recall": recall, "f1": f1, "hit": hit, "mrr": mrr,
    "map": average_precision, "mar": average_recall,
    "mean_prefix_precision": mean_prefix_precision, "mean_prefix_recall": mean_prefix_recall,
    "dcg": dcg, "ndcg": ndcg, "rprec": rprec, "rbp": rbp, "err": err,
    "bpref": bpref, "bpref_strict": bpref_strict, "rmrr": rmrr,
    "list_auc": list_auc, "pauc": pauc, "pauc_strict": pauc_strict, "pap": pap,
    "pap_strict": pap_strict, "map_by_rank": average_precision, "ndcg_of_joins": ndcg_of_joins,
    "f_unsquared": f_unsquared,
    "certain_err": certain_err, "pfound": pfound, "average_gain": average_gain,
    "best_rr": best_rr, "graded_auc": graded_auc, "all_pairs_auc": all_pairs_auc,
    "deep_precision": deep_precision, "rprec_found": rprec_found,
    "iprec": iprec, "iprec_mean": iprec_mean, "gm_map": gm_map, "gm_bpref": gm_bpref,
    "bing": bing, "g": g, "ndcg_at_hits": ndcg_at_hits, "rndcg": rndcg, "infap": infap,
    "judged": judged, "unjudged": unjudged, "rbp_residual": rbp_residual, "scaled_rbp": scaled_rbp,
    "list_length": num_ret, "covered_users": covered_users, "full_lists": full_lists,
    "num_q": num_q, "num_ret": num_ret, "num_rel": num_rel, "num_rel_ret": num_rel_ret,
    "num_nonrel_judged_ret": num_nonrel_judged_ret, "utility": utility, "set_map": set_map,
    "ncrr": ncrr, "normalised_rbp": normalised_rbp, "list_auc_strict": list_auc_strict,
    "filled_share": filled_share, "full_list_share": full_lists, "covered_share": covered_users,
    "unlike_reference": unlike_reference, "reference_overlap": reference_overlap,
    "rank_biased_overlap": rank_biased_overlap, "least_item_promoted": least_item_promoted,
    "bpm": bpm, "insq": insq, "inst": inst, "sdcg": sdcg, "nerr8": nerr8, "nerr9": nerr9,
    "nerr10": nerr10, "nerr11": nerr11, "compatibility": compatibility,
}  # fmt: skip
