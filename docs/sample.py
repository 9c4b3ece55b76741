"""The small data that the documentation's commands run on: a test set, two recommenders' lists,
dense scores, and logits of next places.

Made, not real: 200 users with one to nine relevant items out of 400, graded from 1 to 5. They have
what real data have: users without a list, lists that end early, and equal scores. The logits are of
400 visits to 60 places, of which some are visited often; two models made them, one of which looks
further back.
"""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import numpy as np

USERS, ITEMS, LENGTH = 200, 400, 20
VISITS, PLACES = 400, 60


def write(folder: Path) -> None:
    """Write test.csv, popular.csv and nearest.csv; train.csv and scores.npz; targets.npy, short.npy
    and long.npy into a folder."""
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
    _write_scores(folder, truth)
    _write_logits(folder)


def _write_scores(folder: Path, truth: dict[int, dict[int, int]]) -> None:
    """Scores of every user and item, and what the users had before."""
    chance = np.random.default_rng(3)
    popular = 40 / (np.arange(ITEMS) + 8)
    scores = (popular + 2 * chance.random((USERS, ITEMS))).astype(np.float32)
    rows = []
    for user, wanted in truth.items():
        scores[user, list(wanted)] += 1.2
        had = chance.choice(ITEMS, 10, replace=False, p=popular / popular.sum())
        had = [item for item in had.tolist() if item not in wanted]
        scores[user, had] += 2
        rows += [(f"u{user}", f"i{item}", 1) for item in had]
    _save(folder / "train.csv", ("user", "item", "grade"), rows)
    users = np.array([f"u{user}" for user in range(USERS)])
    items = np.array([f"i{item}" for item in range(ITEMS)])
    np.savez(folder / "scores.npz", scores=scores, users=users, items=items)


def _write_logits(folder: Path) -> None:
    """The place of each visit, and what two models expected."""
    chance = np.random.default_rng(4)
    often = 1 / np.arange(1, PLACES + 1)
    targets = chance.choice(PLACES, VISITS, p=often / often.sum())
    np.save(folder / "targets.npy", targets)
    noise = chance.standard_normal((VISITS, PLACES))
    for name, knows in (("short", 1.5), ("long", 2.2)):
        logits = np.log(often) + noise
        logits[np.arange(VISITS), targets] += knows
        np.save(folder / f"{name}.npy", logits.astype(np.float32))


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
