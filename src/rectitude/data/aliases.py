"""The names that columns have in files and frames of all recommender libraries."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rectitude.data.table import What

USER = (
    "user", "user_id", "userId", "uid", "user_idx", "user_index", "user_no", "query", "query_id",
    "qid", "query_idx", "customer_id", "visitor_id", "reviewer_id", "target_item_id",
)  # fmt: skip
ITEM = (
    "item", "item_id", "itemId", "iid", "item_idx", "item_index", "item_no", "items", "item_ids",
    "movieId", "doc", "doc_id", "docno", "document", "document_id", "corpus_id", "passage_id",
    "product_id", "article_id",
    "track_id", "song_id", "book_id", "isbn", "asin", "business_id", "news_id", "video_id",
)  # fmt: skip
# Words that only a prediction bears come before words that truth uses as well: a frame with
# `prediction` beside `rating` (Microsoft recommenders, Surprise) is unambiguous.
SCORE = (
    (
        "score", "scores", "prediction", "predictions", "predicted", "pred", "preds",
        "predicted_rating", "predicted_score", "prediction_score", "y_pred", "y_hat", "est",
        "probability", "prob", "logit", "similarity",
    ),
    ("rating", "ratings", "relevance", "rel", "weight"),
)  # fmt: skip
RANK = ("rank", "position", "ranking", "item_rank")
GRADE = (
    "grade", "rating", "ratings", "relevance", "rel", "label", "gain", "weight", "score", "stars",
    "overall", "preference", "y_true",
)  # fmt: skip
TIMESTAMP = (
    "timestamp", "time", "ts", "datetime", "date", "event_time", "event_timestamp", "unix_time",
    "unixReviewTime", "created_at", "InvoiceDate",
)  # fmt: skip
COUNT = (
    "count", "counts", "quantity", "qty", "frequency", "freq", "plays", "playcount", "clicks",
)  # fmt: skip
"""What counts something, so that a number below zero is a mistake."""
SEVERAL = frozenset(("model", "modelname", "run", "system", "fold", "seed"))
"""What tells apart several sets of lists in one table, in its normal form."""
WEIGHT = ("weight", "weights", "list_weight", "sample_weight")

ALIASES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "user": (USER,),
    "item": (ITEM,),
    "score": SCORE,
    "rank": (RANK,),
    "grade": (GRADE,),
    "weight": (WEIGHT,),
    "timestamp": (TIMESTAMP,),
}
ROLES = ("list", "user", "item", "score", "rank", "grade", "weight", "timestamp")
"""All roles, in the order of the columns of a table."""

# What the columns mean where nothing names them: files without a header, tuples.
POSITIONS: Mapping[What, tuple[str, ...]] = {
    "predictions": ("list", "item", "score"),
    "truth": ("list", "item", "grade"),
    "train": ("list", "item", "grade"),
    "items": ("item",),
    "users": ("list",),
    "weights": ("list", "weight"),
    "candidates": ("list", "item"),
    "log": ("list", "item", "grade", "timestamp"),
}
NEEDED: Mapping[What, tuple[str, ...]] = {
    "predictions": ("item",),
    "truth": ("item",),
    "train": ("item",),
    "items": ("item",),
    "users": (),
    "weights": ("weight",),
    "candidates": ("item",),
    "log": ("item",),
}
WELCOME: Mapping[What, tuple[str, ...]] = {
    "predictions": ("score", "rank"),
    "truth": ("grade",),
    "train": ("grade",),
    "items": (),
    "users": (),
    "weights": (),
    "candidates": (),
    "log": ("grade", "timestamp"),
}
KEPT_WHOLE: tuple[What, ...] = ("items", "users")
NAMED_ONLY: Mapping[What, tuple[str, ...]] = {"truth": ("timestamp",), "train": ("timestamp",)}


def normal(name: str) -> str:
    """A name as it is compared: no case, no separators, no RecBole type."""
    bare = re.sub(r":(token|float)(_seq)?$", "", name.strip())
    return re.sub(r"[\s_\-]", "", bare).lower()


COUNTS = frozenset(map(normal, COUNT))
NORMAL = {
    role: tuple(frozenset(map(normal, tier)) for tier in tiers) for role, tiers in ALIASES.items()
}
