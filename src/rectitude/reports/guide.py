"""A guide to metrics for lists with one target.

It shows values by rank and by loss, the values of random guessing, which relations between metrics
always hold and which do not, and which metric to use for what. The metrics themselves compute every
number, under the default convention.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rectitude.arrays import Integers, Ragged
from rectitude.judge.judged import Judged
from rectitude.metrics import METRICS, Counts
from rectitude.metrics.choices import find_choice
from rectitude.metrics.names import parse
from rectitude.profiles import Asked, profile_of
from rectitude.render import Grid, number

WIDTH = 100
RANKS = (1, 2, 3, 4, 5, 10, 11, 100, 1000)
LOSSES = (0.0, 0.1, 0.5, math.log(2), 1.0, 1.5, 2.0, 2.5, 2.8, 3.0, 3.5, 4.6, 6.9)
CLASSES = (2, 10, 100, 1000, 10_000)
BY_RANK = ("accuracy@1", "accuracy@5", "accuracy@10", "mrr", "ndcg", "ndcg@10")
OF_CLASSES = ("accuracy@1", "weighted_f1", "macro_f1", "balanced_accuracy", "mcc")
CARD = (
    "accuracy", "mrr", "ndcg", "weighted_f1", "macro_f1", "mcc", "cross_entropy",
    "expected_calibration_error", "mean_rank",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the guide: a title, an explanation, and a table."""

    title: str
    about: str
    rows: Sequence[Mapping[str, Any]]


def guide() -> list[Section]:
    """Compute the guide."""
    return [
        _ranks(), _mrr_and_ndcg(), _losses(), _chance(), _imbalance(), _always(), _not_always(),
        _choosing(), _applications(), _card(),
    ]  # fmt: skip


def text(sections: Sequence[Section]) -> str:
    """Return the guide as text, at most 100 columns wide."""
    return "\n\n".join(map(_render_section, sections))


def as_dict(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the guide as a dictionary for JSON."""
    return {
        "guide": [
            {"title": s.title, "about": s.about, "rows": [dict(r) for r in s.rows]}
            for s in sections
        ]
    }


def at_ranks(ranks: Integers) -> Judged:
    """Return lists with their one target at these ranks."""
    size = len(ranks)
    everyone = np.ones(size, bool)
    truth = Ragged(np.arange(size + 1), np.ones(size))
    numbers, zeros = np.arange(size), np.zeros(size, np.int64)
    return Judged(numbers, ranks, np.ones(size), zeros, ranks, truth, everyone, everyone)


def by_rank(name: str, ranks: Sequence[int]) -> list[float]:
    """Return the value of a metric for lists with their one target at each of these ranks."""
    request = profile_of(None).resolve(parse(name)[0])
    lists = at_ranks(np.array(ranks, np.int64))
    ratio = request.metric.function(lists, request.cutoff, **_choices(request), **request.numbers)
    values: list[float] = (ratio.above / ratio.below).tolist()
    return values


def by_chance(name: str, classes: int) -> float:
    """Return the expected value of a metric if every rank of the target is equally likely."""
    return math.fsum(by_rank(name, range(1, classes + 1))) / classes


def of_classes(name: str, support: Sequence[int], correct: Sequence[int]) -> float:
    """Return the value of a class metric if every miss of a class predicts the next class."""
    hits, targets = np.array(correct), np.array(support)
    predicted = hits + np.roll(targets - hits, 1)
    counts: Counts = {"support": targets, "predicted": predicted, "correct": hits}
    request = profile_of(None).resolve(parse("micro_f1" if name == "accuracy@1" else name)[0])
    return float(request.metric.function(counts, **_choices(request)))


def _choices(request: Asked) -> dict[str, Any]:
    return {s: find_choice(s, getattr(request.convention, s)) for s in request.metric.switches}


def _ranks() -> Section:
    values = {name: by_rank(name, RANKS) for name in BY_RANK}
    rows = [{"rank": r, **{name: values[name][n] for name in BY_RANK}} for n, r in enumerate(RANKS)]
    mrr = 0.6767
    harmonic = METRICS["harmonic_mean_rank"].function(mrr=mrr)
    return Section(
        "The value of a list by the rank of its target",
        "A metric is the mean of these values over all lists. A target beyond the cutoff counts "
        "as 0: NDCG@10 is 0 at rank 11, but NDCG without a cutoff is not.\n"
        f"A mean reciprocal rank of {mrr:.4f} is a harmonic mean rank of {harmonic:.2f}. The "
        "arithmetic mean of the ranks is larger, often much larger: to see it, use mean_rank or "
        "median_rank.",
        rows,
    )


def _mrr_and_ndcg() -> Section:
    ranks = (2, 10, 11)
    (mrr2, mrr10, mrr11), (ndcg2, ndcg10, ndcg11) = (by_rank(n, ranks) for n in ("mrr", "ndcg@10"))
    rows = (
        ("discount", "1 / rank", "1 / log2(rank + 1)"),
        ("cutoff", "none; mrr@10 has one", "10; ndcg has none"),
        ("from rank 1 to 2", f"loses {1 - mrr2:.3f}", f"loses {1 - ndcg2:.3f}: gentler"),
        ("at rank 10", f"{mrr10:.3f}", f"{ndcg10:.3f}"),
        ("at rank 11", f"{mrr11:.3f}", f"{ndcg11:.3f}: a jump at the cutoff"),
        ("several relevant items", "only the first one counts", "all of them count"),
        ("good for", "search for one item", "a list that is looked at from the top"),
    )
    return Section(
        "MRR and NDCG@10 side by side",
        "With one target, both depend only on its rank, so they mostly agree on which model is "
        "better.\n"
        "In favour of MRR: it uses every rank, and a near miss earns a share, where accuracy@1 "
        "gives 0. Against it: the top ranks dominate. Moving one target from rank 2 to rank 1 is "
        "worth as much as moving five targets from far below to rank 10. And to someone who "
        "browses a list, rank 5 is not five times worse than rank 1.",
        [dict(zip(("property", "mrr", "ndcg@10"), row, strict=True)) for row in rows],
    )


def _losses() -> Section:
    geometric = METRICS["geometric_mean_probability"].function
    rows = [
        {
            "loss": loss,
            "geometric mean probability": geometric(cross_entropy=loss),
            "as guessing among classes": math.exp(loss),
        }
        for loss in LOSSES
    ]
    return Section(
        "What a loss means as a probability",
        "exp(-loss) is the geometric mean of the probabilities of the targets. The arithmetic "
        "mean, mean_probability, is never smaller.\n"
        "Losses are comparable only for the same classes: guessing among C classes has a loss of "
        "ln C.\n"
        "A lower loss is not a sign of better calibration; sharper probabilities can lower it too. "
        "For calibration, ask for expected_calibration_error: the report then draws a reliability "
        "diagram. brier is a proper score like the loss, in which one mistake costs at most 2.",
        rows,
    )


def _chance() -> Section:
    names = ("accuracy@1", "accuracy@5", "accuracy@10", "mrr", "ndcg@10")
    rows = [
        {"classes": size, **{n: by_chance(n, size) for n in names}, "loss": math.log(size)}
        for size in CLASSES
    ]
    return Section(
        "What random guessing gives",
        "What random guessing gives depends on the number of classes, so a rule such as '30% is "
        "poor' makes no sense. The table shows the metrics of a random order, and the loss of "
        "equal probabilities.\n"
        "A second baseline is the most common class: always predicting it gives an accuracy@1 "
        "equal to its share. Compare a model with rt.Logits.majority(...) and "
        "rt.Logits.random(...).",
        rows,
    )


def _imbalance() -> Section:
    cases = {
        "A 600 of 1000 right, B 1 of 10": ([1000, 10], [600, 1]),
        "A 600 of 1000 right, B never": ([1000, 10], [600, 0]),
        "A always right, B never": ([1000, 10], [1000, 0]),
    }
    rows = [
        {"two places": case, **{name: of_classes(name, *counts) for name in OF_CLASSES}}
        for case, counts in cases.items()
    ]
    return Section(
        "What happens to a rare class",
        "Weighted F1 weights classes by their number of targets, so rare classes hardly count: "
        "getting B always wrong costs almost nothing. macro_f1 and balanced_accuracy weight all "
        "classes equally; mcc is 0 for a constant prediction.",
        rows,
    )


def _always() -> Section:
    rules = {
        "accuracy@1 <= accuracy@5 <= accuracy@10": "a longer list includes the shorter one",
        "accuracy@1 = hit@1 = mrr@1 = ndcg@1": "all of them are 1 at rank 1, else 0",
        "accuracy@1 <= mrr@k <= ndcg@k <= accuracy@k": "true at every rank, see the first table",
        "accuracy@1 <= mrr <= 1; mrr@k <= mrr": "a cutoff sets some reciprocal ranks to 0",
        "1 / mrr <= mean_rank": "a harmonic mean is at most the arithmetic one",
        "exp(-cross_entropy) <= mean_probability": "a geometric mean is at most the arithmetic one",
        "micro_f1 = weighted_recall = accuracy@1": "one target and one prediction per list",
    }
    return Section(
        "What always holds",
        "These relations hold with one target per list, on the same lists, and if every metric "
        "breaks ties in the same way. In tools that break ties differently, accuracy@1 and ndcg@1 "
        "may differ.",
        [{"relation": rule, "because": why} for rule, why in rules.items()],
    )


def _not_always() -> Section:
    def show_means(ranks: Sequence[int], *names: str) -> str:
        means = {name: math.fsum(by_rank(name, ranks)) / len(ranks) for name in names}
        targets = f"targets at rank {' and '.join(map(str, ranks))}"
        return f"{targets}: {', '.join(f'{name} {value:.3f}' for name, value in means.items())}"

    def loss(right: float, sure: float) -> float:
        return -right * math.log(sure) - (1 - right) * math.log(1 - sure)

    f1, accuracy = (of_classes(name, [1000, 10], [600, 1]) for name in ("weighted_f1", "micro_f1"))
    deep = (1, 100)
    harmonic, rank = len(deep) / math.fsum(by_rank("mrr", deep)), sum(deep) / len(deep)
    rules = {
        "weighted_f1 <= accuracy@1": f"the two places above: F1 {f1:.3f}, accuracy {accuracy:.3f}",
        "mrr <= ndcg@10": show_means((11,), "mrr", "ndcg@10"),
        "ndcg@10 <= accuracy@5": show_means((6,), "ndcg@10", "accuracy@5"),
        "mean rank = 1 / mrr": f"ranks 1 and 100: 1 / mrr {harmonic:.2f}, mean rank {rank:.1f}",
        "mean probability = exp(-loss)": "probabilities 0.9 and 0.1: mean 0.5, "
        f"exp(-loss) {math.sqrt(0.9 * 0.1):.1f}",
        "lower loss = better calibrated": f"90% right and 99% sure: loss {loss(0.9, 0.99):.3f}; "
        f"50% right and 50% sure, so calibrated: {loss(0.5, 0.5):.3f}",
        "higher accuracy = lower loss": f"always right, 51% sure: loss {loss(1, 0.51):.3f}; 90% "
        f"right, 99% sure: {loss(0.9, 0.99):.3f}",
        "more points = more percent": f"50% to 60%: +10 points, {60 / 50 - 1:+.0%}; 80% to 92%: "
        f"+12 points, {92 / 80 - 1:+.0%}",
    }
    return Section(
        "What does not always hold",
        "Each of these is true for some results and false for others.",
        [{"no rule": rule, "counterexample": why} for rule, why in rules.items()],
    )


def _choosing() -> Section:
    rows = (
        ("only one item is used", "accuracy@1", "mrr, cross_entropy"),
        ("a short list is shown", "accuracy@5", "ndcg@10, mrr"),
        ("a long list is browsed", "ndcg@10", "accuracy@10"),
        ("users look for one item and stop", "mrr", "median_rank, accuracy@1"),
        ("every rank further down costs", "mean_rank", "median_rank, mrr"),
        ("rare classes matter", "macro_f1", "balanced_accuracy, mcc, slices by popularity"),
        ("frequent classes matter most", "weighted_f1", "accuracy@1, macro_f1"),
        ("the probabilities are used", "cross_entropy", "brier, mean_probability"),
        ("a probability must mean what it says", "expected_calibration_error", "brier, accuracy@1"),
        (
            "models are compared in a paper",
            "all of them",
            "random guessing and the most common class",
        ),
    )
    keys = ("when", "look at", "and beside it")
    return Section(
        "Which metric when",
        "Choose the metric before you look at results, and report the others as well.",
        [dict(zip(keys, row, strict=True)) for row in rows],
    )


def _applications() -> Section:
    rows = (
        ("navigation announces the next turn", "accuracy@1", "there is no second guess"),
        ("a car suggests destinations", "accuracy@5", "any of five buttons is fine"),
        ("'places you might like'", "ndcg@10", "users look at ten, mostly at the first"),
        ("search for a known place", "mrr", "users stop at the place they looked for"),
        ("data is prefetched for k places", "accuracy@k", "a miss costs the same at any rank"),
        ("planning with the probabilities", "cross_entropy", "the ranks are not used"),
    )
    keys = ("application", "metric", "why")
    about = "The use of a prediction decides which mistakes matter."
    return Section("Applications", about, [dict(zip(keys, row, strict=True)) for row in rows])


def _card() -> Section:
    rows = []
    for name in CARD:
        metric = METRICS[name]
        low, high = metric.bounds
        span = f"{low:g} to {high:g}" if math.isfinite(high) else f"from {low:g}"
        better = {"high": "higher", "low": "lower"}[metric.best]
        rows.append({"metric": name, "range": span, "better": better, "what it is": metric.about})
    closing = (
        "rectitude metrics NAME shows how a metric is defined, how to read it and when to use it."
    )
    return Section("In short", closing, rows)


def _render_section(section: Section) -> str:
    lines = [section.title, "=" * len(section.title)]
    for paragraph in section.about.splitlines():
        lines += textwrap.wrap(paragraph, WIDTH)
    first, keys = section.rows[0], list(section.rows[0])
    words = [n for n, value in enumerate(first.values()) if isinstance(value, str)]
    rows = [[number(row[key]) for key in keys] for row in section.rows]
    return "\n".join([*lines, "", Grid(keys, rows, left=words).columns(WIDTH)])
