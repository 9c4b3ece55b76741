"""What a metric needs of the judged lists beyond ranks, and what to do where it is not there."""

from __future__ import annotations

from rectitude.arrays import Integers
from rectitude.errors import MissingNeed
from rectitude.judge.judged import Judged, Single
from rectitude.metrics.registry import Metric

_WANTS = {
    "scores": (
        "the rank of every relevant item among all candidates",
        "evaluate rt.Scores(scores), rt.Embeddings(users, items) or rt.Logits(logits).",
    ),
    "unseen": (
        "the number of items that each user had not in training",
        "pass train= or items=, or evaluate rt.Scores(scores).",
    ),
    "met": ("how often training held each item", "pass train= as a table."),
    "classes": ("one target per list", "evaluate rt.Logits(logits) with targets."),
    "logits": ("logits", "evaluate rt.Logits(logits) with targets."),
    "shown": ("the items in every place", "evaluate lists, rt.Scores(scores) or rt.Embeddings."),
}


def require_in(lists: Judged, metric: Metric) -> None:
    """An error if the metric needs something that these lists do not have."""
    for need in metric.requires:
        if need in _WANTS and not _is_there(lists, need):
            raise _missing(need, f"metric {metric.name!r}")


def candidates_of(lists: Judged) -> Integers:
    """(lists,) how many items the ranker chose among."""
    if lists.candidates is None:
        raise _missing("scores", "this metric")
    return lists.candidates


def unseen_of(lists: Judged) -> Integers:
    """(lists,) items of the catalogue that the user had not in training."""
    if lists.unseen is None:
        raise _missing("unseen", "this metric")
    return lists.unseen


def single_of(lists: Judged) -> Single:
    """The lists as a classification."""
    if lists.single is None:
        raise _missing("classes", "this metric")
    return lists.single


def _is_there(lists: Judged, need: str) -> bool:
    if need == "logits":
        return lists.single is not None and lists.single.loss is not None
    field = {"scores": "candidates", "classes": "single"}.get(need, need)
    return getattr(lists, field) is not None


def _missing(need: str, who: str) -> MissingNeed:
    what, advice = _WANTS[need]
    return MissingNeed(f"{who} needs {what}, and there is nothing of the kind.", advice=advice)
