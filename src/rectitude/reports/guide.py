"""How to read metrics of one target per list: tables from rank and loss to value, what chance
gives, what always holds between metrics and what does not, and which metric to use for what.

Every number is computed by the metrics themselves, under the default convention.
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
from rectitude.metrics.choices import CHOICES
from rectitude.metrics.names import parse
from rectitude.profiles import Asked, profile_of
from rectitude.render import Grid, number

WIDTH = 100
RANKS = (1, 2, 3, 4, 5, 10, 11, 100, 1000)
LOSSES = (0.0, 0.1, 0.5, math.log(2), 1.0, 1.5, 2.0, 2.5, 2.8, 3.0, 3.5, 4.6, 6.9)
CLASSES = (2, 10, 100, 1000, 10_000)
BY_RANK = ("accuracy@1", "accuracy@5", "accuracy@10", "mrr", "ndcg", "ndcg@10")
OF_CLASSES = ("accuracy@1", "weighted_f1", "macro_f1", "balanced_accuracy", "mcc")
CARD = ("accuracy", "mrr", "ndcg", "weighted_f1", "macro_f1", "mcc", "cross_entropy", "mean_rank")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the guide: a title, what to know, and a table."""

    title: str
    about: str
    rows: Sequence[Mapping[str, Any]]


def guide() -> list[Section]:
    """The guide, computed."""
    return [
        _ranks(), _losses(), _chance(), _imbalance(), _always(), _not_always(), _choosing(),
        _applications(), _card(),
    ]  # fmt: skip


def text(sections: Sequence[Section]) -> str:
    """The guide for people, at most 100 columns wide."""
    return "\n\n".join(map(_text, sections))


def as_dict(sections: Sequence[Section]) -> dict[str, Any]:
    """The guide for JSON."""
    return {
        "guide": [
            {"title": s.title, "about": s.about, "rows": [dict(r) for r in s.rows]}
            for s in sections
        ]
    }


def at_ranks(ranks: Integers) -> Judged:
    """Lists that have their one target at these ranks."""
    size = len(ranks)
    everyone = np.ones(size, bool)
    truth = Ragged(np.arange(size + 1), np.ones(size))
    numbers, zeros = np.arange(size), np.zeros(size, np.int64)
    return Judged(numbers, ranks, np.ones(size), zeros, ranks, truth, everyone, everyone)


def by_rank(name: str, ranks: Sequence[int]) -> list[float]:
    """The value of a list metric where the one target stands at these ranks."""
    asked = profile_of(None).resolve(parse(name)[0])
    lists = at_ranks(np.array(ranks, np.int64))
    ratio = asked.metric.function(lists, asked.cutoff, **_choices(asked), **asked.numbers)
    values: list[float] = (ratio.above / ratio.below).tolist()
    return values


def by_chance(name: str, classes: int) -> float:
    """The expected value of a list metric if the target stands at every rank alike."""
    return math.fsum(by_rank(name, range(1, classes + 1))) / classes


def of_classes(name: str, support: Sequence[int], correct: Sequence[int]) -> float:
    """The value of a class metric where every miss of a class goes to the next one."""
    hits, targets = np.array(correct), np.array(support)
    predicted = hits + np.roll(targets - hits, 1)
    counts: Counts = {"support": targets, "predicted": predicted, "correct": hits}
    asked = profile_of(None).resolve(parse("micro_f1" if name == "accuracy@1" else name)[0])
    return float(asked.metric.function(counts, **_choices(asked)))


def _choices(asked: Asked) -> dict[str, Any]:
    return {s: CHOICES[s][getattr(asked.convention, s)] for s in asked.metric.switches}


def _ranks() -> Section:
    values = {name: by_rank(name, RANKS) for name in BY_RANK}
    rows = [{"rank": r, **{name: values[name][n] for name in BY_RANK}} for n, r in enumerate(RANKS)]
    mrr = 0.6767
    harmonic = METRICS["harmonic_mean_rank"].function(mrr=mrr)
    return Section(
        "What one target is worth at its rank",
        "A metric is the mean of these values over all lists. At a cutoff, a target beyond it "
        "is worth 0: NDCG@10 is 0 at rank 11, NDCG without a cutoff is not.\n"
        f"A mean reciprocal rank of {mrr:.4f} is a harmonic mean rank of {harmonic:.2f}. The "
        "arithmetic mean of the ranks is larger, often much larger: ask for mean_rank or "
        "median_rank.",
        rows,
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
        "exp(-loss) is the geometric mean of the probabilities that the targets get. The "
        "arithmetic mean, mean_probability, is never smaller.\n"
        "Losses are comparable only at the same classes: guessing among C classes has the loss "
        "ln C. A lower loss does not show better calibration; sharper probabilities lower it "
        "too.",
        rows,
    )


def _chance() -> Section:
    names = ("accuracy@1", "accuracy@5", "accuracy@10", "mrr", "ndcg@10")
    rows = [
        {"classes": size, **{n: by_chance(n, size) for n in names}, "loss": math.log(size)}
        for size in CLASSES
    ]
    return Section(
        "What guessing gives",
        "Whether a value is near random depends on the number of classes, so there are no "
        "bands such as '30% is poor'. These are the values of a random order, and the loss of "
        "equal probabilities.\n"
        "A second floor is the commonest class: always predicting it has an accuracy@1 of its "
        "share. Evaluate rt.Logits.majority(...) and rt.Logits.random(...) beside a model.",
        rows,
    )


def _imbalance() -> Section:
    cases = {
        "A 600 of 1000 right, B 1 of 10": ([1000, 10], [600, 1]),
        "A 600 of 1000 right, B never": ([1000, 10], [600, 0]),
        "A always right, B never": ([1000, 10], [1000, 0]),
    }
    rows = [
        {"two places": told, **{name: of_classes(name, *counts) for name in OF_CLASSES}}
        for told, counts in cases.items()
    ]
    return Section(
        "What happens to a rare class",
        "Weighted F1 weighs classes by their targets, so it does not protect rare ones: "
        "giving up B costs it next to nothing. macro_f1 and balanced_accuracy count every "
        "class alike; mcc is 0 for a constant answer.",
        rows,
    )


def _always() -> Section:
    rules = {
        "accuracy@1 <= accuracy@5 <= accuracy@10": "a longer list holds the shorter one",
        "accuracy@1 = hit@1 = mrr@1 = ndcg@1": "at rank 1 all of them are 1, elsewhere 0",
        "accuracy@1 <= mrr@k <= ndcg@k <= accuracy@k": "at every rank, see the first table",
        "accuracy@1 <= mrr <= 1; mrr@k <= mrr": "a cutoff takes reciprocal ranks away",
        "1 / mrr <= mean_rank": "a harmonic mean is at most the arithmetic one",
        "exp(-cross_entropy) <= mean_probability": "a geometric mean is at most the arithmetic one",
        "micro_f1 = weighted_recall = accuracy@1": "one target and one answer per list",
    }
    return Section(
        "What always holds",
        "With one target per list, on the same lists, and with one rule for ties in every "
        "metric: tools that break ties by different rules print an accuracy@1 that is not "
        "their ndcg@1.",
        [{"relation": rule, "because": why} for rule, why in rules.items()],
    )


def _not_always() -> Section:
    def told(ranks: Sequence[int], *names: str) -> str:
        means = {name: math.fsum(by_rank(name, ranks)) / len(ranks) for name in names}
        where = f"targets at rank {' and '.join(map(str, ranks))}"
        return f"{where}: {', '.join(f'{name} {value:.3f}' for name, value in means.items())}"

    def loss(right: float, sure: float) -> float:
        return -right * math.log(sure) - (1 - right) * math.log(1 - sure)

    f1, accuracy = (of_classes(name, [1000, 10], [600, 1]) for name in ("weighted_f1", "micro_f1"))
    deep = (1, 100)
    harmonic, rank = len(deep) / math.fsum(by_rank("mrr", deep)), sum(deep) / len(deep)
    rules = {
        "weighted_f1 <= accuracy@1": f"the two places above: F1 {f1:.3f}, accuracy {accuracy:.3f}",
        "mrr <= ndcg@10": told((11,), "mrr", "ndcg@10"),
        "ndcg@10 <= accuracy@5": told((6,), "ndcg@10", "accuracy@5"),
        "mean rank = 1 / mrr": f"ranks 1 and 100: 1 / mrr {harmonic:.2f}, mean rank {rank:.1f}",
        "mean probability = exp(-loss)": "probabilities 0.9 and 0.1: mean 0.5, "
        f"exp(-loss) {math.sqrt(0.9 * 0.1):.1f}",
        "lower loss = better calibrated": f"90% right and 99% sure: loss {loss(0.9, 0.99):.3f}; "
        f"50% right and 50% sure, which is calibrated: {loss(0.5, 0.5):.3f}",
        "higher accuracy = lower loss": f"always right, 51% sure: loss {loss(1, 0.51):.3f}; 90% "
        f"right, 99% sure: {loss(0.9, 0.99):.3f}",
        "more points = more percent": f"50% to 60%: +10 points, {60 / 50 - 1:+.0%}; 80% to 92%: "
        f"+12 points, {92 / 80 - 1:+.0%}",
    }
    return Section(
        "What does not always hold",
        "Each of these is true of some results and false of others.",
        [{"no rule": rule, "counterexample": why} for rule, why in rules.items()],
    )


def _choosing() -> Section:
    rows = (
        ("one answer is given", "accuracy@1", "mrr, cross_entropy"),
        ("a short list is shown", "accuracy@5", "ndcg@10, mrr"),
        ("a long list is browsed", "ndcg@10", "accuracy@10"),
        ("users look for one thing and stop", "mrr", "median_rank, accuracy@1"),
        ("every place further down costs", "mean_rank", "median_rank, mrr"),
        ("rare classes matter", "macro_f1", "balanced_accuracy, mcc"),
        ("frequent classes matter most", "weighted_f1", "accuracy@1, macro_f1"),
        ("probabilities are used further", "cross_entropy", "mean_probability, a calibration plot"),
        ("models are compared in a paper", "all of them", "guessing and the commonest class"),
    )
    keys = ("when", "look at", "and beside it")
    return Section(
        "Which metric when",
        "Choose before looking at results, and report the others beside it.",
        [dict(zip(keys, row, strict=True)) for row in rows],
    )


def _applications() -> Section:
    rows = (
        ("navigation speaks the next turn", "accuracy@1", "a second guess is of no use"),
        ("a car suggests destinations", "accuracy@5", "any of five buttons will do"),
        ("'places you might like'", "ndcg@10", "ten are browsed, the first ones most"),
        ("search for a known place", "mrr", "users stop at the place they looked for"),
        ("data is loaded ahead for k places", "accuracy@k", "a miss costs the same at any rank"),
        ("planning with the probabilities", "cross_entropy", "they are used, not the ranks"),
    )
    keys = ("application", "metric", "why")
    about = "What is done with an answer decides which mistakes count."
    return Section("Applications", about, [dict(zip(keys, row, strict=True)) for row in rows])


def _card() -> Section:
    rows = []
    for name in CARD:
        metric = METRICS[name]
        low, high = metric.bounds
        span = f"{low:g} to {high:g}" if math.isfinite(high) else f"from {low:g}"
        better = {"high": "higher", "low": "lower"}[metric.best]
        rows.append({"metric": name, "range": span, "better": better, "what it is": metric.about})
    closing = "rectitude metrics NAME says how each is defined, how to read it and when to use it."
    return Section("In short", closing, rows)


def _text(section: Section) -> str:
    lines = [section.title, "=" * len(section.title)]
    for paragraph in section.about.splitlines():
        lines += textwrap.wrap(paragraph, WIDTH)
    first, keys = section.rows[0], list(section.rows[0])
    words = [n for n, value in enumerate(first.values()) if isinstance(value, str)]
    rows = [[number(row[key]) for key in keys] for row in section.rows]
    return "\n".join([*lines, "", Grid(keys, rows, left=words).columns(WIDTH)])
