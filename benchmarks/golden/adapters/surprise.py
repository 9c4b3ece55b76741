"""Surprise: the functions of `surprise.accuracy`, and precision and recall as its FAQ defines them.

The FAQ prints a function for users to copy, which is no part of the package. It is written anew
here: the first k estimates of a user, of which those at or above the threshold are recommended;
relevant are true ratings at or above it; 0 where nothing is recommended, or nothing is relevant.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version as installed

from surprise import Prediction, accuracy

from golden.fixtures import Case, Fixture

FRAMEWORK = "Surprise"
CUTOFFS = (1, 3, 5, 10)
THRESHOLD = 3.5


def version() -> str:
    """The release that is installed."""
    return installed("scikit-surprise")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate predicted ratings, and the lists that the FAQ makes of them."""
    truth = {
        (user, item): float(grade)
        for user, item, grade in fixture.rows("truth", "user", "item", "grade")
    }
    predictions = [
        Prediction(user, item, truth[user, item], estimate, {})
        for user, item, estimate in fixture.rows("recommendations", "user", "item", "score")
    ]
    case = Case("surprise", fixture, "lists")
    for name in ("rmse", "mae", "mse", "fcp"):
        function = getattr(accuracy, name)
        case.add(name, name, partial(function, predictions, verbose=False))
    yield case
    options = {"relevant_from": THRESHOLD, "scores_from": THRESHOLD}
    case = Case("surprise", fixture, "lists", CUTOFFS, "faq", options)
    for k in CUTOFFS:
        precision, recall = _from_faq(predictions, k)
        for name, users in (("precision", precision), ("recall", recall)):
            mean = sum(users.values()) / len(users)
            case.put(f"{name}@{k}", f"precision_recall_at_k(k={k})", mean, users)
    yield case


def _from_faq(predictions: list[Prediction], k: int) -> tuple[dict[int, float], dict[int, float]]:
    by_user: dict[int, list[tuple[float, float]]] = {}
    for row in predictions:
        by_user.setdefault(row.uid, []).append((row.est, row.r_ui))
    precision, recall = {}, {}
    for user, pairs in by_user.items():
        first = sorted(pairs, key=lambda pair: -pair[0])[:k]
        recommended = [true for estimate, true in first if estimate >= THRESHOLD]
        hits = sum(true >= THRESHOLD for true in recommended)
        relevant = sum(true >= THRESHOLD for _, true in pairs)
        precision[user] = hits / len(recommended) if recommended else 0.0
        recall[user] = hits / relevant if relevant else 0.0
    return precision, recall
