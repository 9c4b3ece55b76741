"""The small data that the documentation's commands run on: a test set and two recommenders' lists.

Made, not real: 200 users with one to nine relevant items out of 400, graded from 1 to 5. They have
what real data have: users without a list, lists that end early, and equal scores.
"""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

USERS, ITEMS, LENGTH = 200, 400, 20


def write(folder: Path) -> None:
    """Write test.csv, popular.csv and nearest.csv into a folder."""
    chance = Random(2)  # noqa: S311  (no secrets here)
    weight = [1 / (item + 5) for item in range(ITEMS)]
    truth: dict[int, dict[int, int]] = {}
    for user in range(USERS):
        wanted = _draw(chance, weight, 1 + int(9 * chance.random() ** 2))
        truth[user] = {item: 1 + int(5 * chance.random()) for item in wanted}
    rows = [
        (f"u{user}", f"i{item}", grade) for user, of in truth.items() for item, grade in of.items()
    ]
    _save(folder / "test.csv", ("user", "item", "grade"), rows)
    _save(folder / "popular.csv", ("user", "item", "score"), _lists(truth, chance, taste=0.0))
    _save(folder / "nearest.csv", ("user", "item", "score"), _lists(truth, chance, taste=1.2))


def _draw(chance: Random, weight: list[float], many: int) -> list[int]:
    keys = [chance.random() ** (1 / w) for w in weight]
    return sorted(range(len(weight)), key=keys.__getitem__, reverse=True)[:many]


def _lists(
    truth: dict[int, dict[int, int]], chance: Random, taste: float
) -> list[tuple[str, str, float]]:
    """Popular items with noise and, with taste, what the user wants; one decimal, so with ties."""
    rows = []
    for user, wanted in truth.items():
        if user % 50 == 7:
            continue
        scores = {
            item: round(40 / (item + 8) + chance.random() * 2 + taste * (item in wanted), 1)
            for item in range(ITEMS)
        }
        best = sorted(scores, key=scores.__getitem__, reverse=True)
        best = best[: 6 if user % 40 == 3 else LENGTH]
        rows += [(f"u{user}", f"i{item}", scores[item]) for item in best]
    return rows


def _save(path: Path, heading: tuple[str, ...], rows: list[tuple[str, str, float]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(rows)
