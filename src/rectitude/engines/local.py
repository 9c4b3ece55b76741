"""Evaluation on one machine: open, judge, compute, add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.slicing import Axis, kept_columns
from rectitude.data.slicing import parse_all as parse_slices
from rectitude.data.sources import Sources
from rectitude.engines.opening import Given, opened
from rectitude.engines.part import computed, part_of, results_of
from rectitude.metrics.names import parse_all
from rectitude.predictions.logits import Logits
from rectitude.profiles import Asked, Profile, profile_of

DEFAULT_METRICS = ("ndcg@10", "recall@10", "precision@10", "hit@10", "mrr", "map")
TARGET_METRICS = ("accuracy@{1,5,10}", "mrr", "ndcg@10", "weighted_f1", "cross_entropy")


def evaluate(  # noqa: PLR0913  one parameter per input
    predictions: object,
    truth: object,
    metrics: str | Iterable[str] | None = None,
    convention: object = None,
    *,
    train: object = None,
    items: object = None,
    users: object = None,
    candidates: object = None,
    ranking: object = None,
    list_key: str = "user",
    weights: object = None,
    columns: Mapping[str, str] | None = None,
    intervals: bool = False,
    slices: object = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Evaluate predictions against the truth.

    `predictions` are ranked lists in any tabular form (a path, a Polars, pandas or Arrow frame, a
    dict of lists, a sparse matrix), or dense: `Scores`, `Logits` or `Embeddings`. `truth` is a
    table; for logits, an array of targets. Wrap tables in `Lists` and `Interactions` to name
    columns. `convention` is a profile name, a `Convention`, or a dict of switches to change.
    `train` says what was seen, and is masked in dense scores; nothing but `candidates` competes, a
    table or a `Candidates` value; `ranking` is an order to use in place of the scores' own.
    `slices` are attributes to part by, such as "gender" or "activity:4", as `engines.slices` has
    them. `progress` is called with the rows of dense scores that are done, and with all.

    >>> evaluate({"ann": ["a", "b", "c"]}, {"ann": ["b"]}, metrics="mrr")["mrr"]
    0.5
    """
    profile, slicings = profile_of(convention), parse_slices(slices)
    asked = asked_of(metrics, profile, predictions)
    given = Given(
        {
            "predictions": predictions, "truth": truth, "train": train, "items": items,
            "users": users, "weights": weights, "candidates": candidates,
        },
        ranking, list_key, columns, progress, profile.padding, kept_columns(slicings),
    )  # fmt: skip
    sources = opened(given, list(computed(asked, profile).values()), profile.convention)
    return evaluation_of(sources, asked, profile, intervals, slicings)


def evaluation_of(
    sources: Sources,
    asked: Sequence[Asked],
    profile: Profile,
    intervals: bool,
    slicings: Sequence[Sequence[Axis]] = (),
) -> Evaluation:
    """The evaluation of what is open already."""
    if slicings:
        from rectitude.engines.axes import require_axes

        require_axes(slicings, sources)
    wanted = computed(asked, profile)
    part = part_of(sources, asked, profile, wanted, intervals or bool(slicings))
    results, failures = results_of(asked, profile, part, intervals)
    parted = None
    if slicings:
        from rectitude.engines.slice_numbers import slices_of
        from rectitude.engines.sliced import Asking, sums_of

        sums = sums_of(slicings, part, sources, Asking(asked, profile, wanted))
        parted = slices_of(sums, part, asked, profile)
    return Evaluation(results, part.ledger, part.manifest, failures, part.keys, parted)


def asked_of(
    metrics: str | Iterable[str] | None, profile: Profile, predictions: object
) -> list[Asked]:
    """The metrics that were asked for, or the usual ones of such predictions."""
    usual = TARGET_METRICS if isinstance(predictions, Logits) else DEFAULT_METRICS
    return [profile.resolve(name) for name in parse_all(usual if metrics is None else metrics)]
