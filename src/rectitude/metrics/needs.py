"""What a metric needs of the judged lists beyond ranks, and what to do where it is not there."""

from __future__ import annotations

from typing import TypeVar

from rectitude.errors import MissingNeed
from rectitude.judge.judged import Judged
from rectitude.metrics.registry import Metric

Found = TypeVar("Found")

_WANTS = {
    "scores": (
        "the rank of every relevant item among all candidates",
        "evaluate rt.Scores, rt.Embeddings, rt.Logits(logits), or lists of all candidates=.",
    ),
    "unseen": (
        "the number of items that each user had not in training",
        "pass train= or items=, or evaluate rt.Scores(scores).",
    ),
    "met": ("how often training held each item", "pass train= as a table."),
    "classes": ("one target per list", "evaluate rt.Logits(logits) with targets."),
    "predicted": (
        "the predicted score of every judged item",
        "evaluate lists with a score column, rt.Scores(scores) or rt.Embeddings.",
    ),
    "scored": (
        "the score in every place",
        "evaluate lists with a score column, rt.Scores(scores) or rt.Embeddings.",
    ),
    "chances": ("logits", "evaluate rt.Logits(logits) with targets."),
    "parts": (
        "the names of the metrics that it is made of",
        "write them in brackets: hypervolume[precision,recall]@10.",
    ),
    "logits": ("logits", "evaluate rt.Logits(logits) with targets."),
    "shown": ("the items in every place", "evaluate lists, rt.Scores(scores) or rt.Embeddings."),
    "catalogue": ("all items that could be shown", "pass items=, or evaluate rt.Scores(scores)."),
    "wanted": ("the items of the truth", "evaluate lists, rt.Scores(scores) or rt.Embeddings."),
    "people": ("the users of the lists", "evaluate lists, rt.Scores(scores) or rt.Embeddings."),
}

_HANDED = {
    "items": "items=", "users": "users=", "train": "train=", "met": "train=",
    "unseen": "train= or items=", "catalogue": "items= or scores", "scores": "scores",
    "predicted": "predicted scores", "scored": "predicted scores", "classes": "classes",
    "logits": "logits", "chances": "logits", "parts": "names of metrics",
}  # fmt: skip


def handed_over(metric: Metric) -> str:
    """What has to be handed over for a metric beside lists and truth, in words."""
    words = [_HANDED[need] for need in metric.requires if need in _HANDED]
    return ", ".join(dict.fromkeys(words)) or "lists"


def require_in(lists: Judged, metric: Metric) -> None:
    """An error if the metric needs something that these lists do not have."""
    for need in metric.requires:
        if need in _WANTS and not _is_there(lists, need):
            raise _missing(need, f"metric {metric.name!r}")


def needed(found: Found | None, need: str) -> Found:
    """What a metric needs of the lists, or an error where it is not there."""
    if found is None:
        raise _missing(need, "this metric")
    return found


def _is_there(lists: Judged, need: str) -> bool:
    if need in ("logits", "chances"):
        field = {"logits": "loss"}.get(need, need)
        return lists.single is not None and getattr(lists.single, field) is not None
    if need == "catalogue":
        return lists.stock is not None and lists.stock.catalogue is not None
    field = {"scores": "candidates", "classes": "single", "predicted": "score"}.get(need, need)
    return getattr(lists, field, None) is not None


def _missing(need: str, who: str) -> MissingNeed:
    what, advice = _WANTS[need]
    return MissingNeed(f"{who} needs {what}, and there is nothing of the kind.", advice=advice)
