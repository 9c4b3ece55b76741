"""`sample`: write the small files that the README and the documentation use.

The data are synthetic: 200 users with one to nine relevant items out of 400, graded from 1 to 5.
They have what real data have: users without a list, lists that end early, and equal scores. The
logits are for 400 visits to 60 places, some of which are visited often; two models made them, one
of which looks further back.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.errors import UnwritableFile
from rectitude.storage import made_folder, write_all

FILES: Mapping[str, str] = {
    "test.csv": "the ground truth: which items 200 users wanted, graded from 1 to 5",
    "train.csv": "what the users had before",
    "nearest.csv": "the lists of a recommender that knows the users",
    "popular.csv": "the lists of a recommender that ranks by popularity",
    "scores.npz": "dense scores: every user and item",
    "targets.npy": "the place of each of 400 visits",
    "short.npy": "logits of a model that looks a little back",
    "long.npy": "logits of a model that looks further back",
}
"""What each file contains."""
USERS, ITEMS, LENGTH = 200, 400, 20
VISITS, PLACES = 400, 60
Truth = dict[int, dict[int, int]]
Row = tuple[str, str, float]


def sample(folder: str | os.PathLike[str] = ".") -> Path:
    """Write the small files that the documentation uses into a folder, and return the folder.

    Nothing of yours is replaced: if a file with one of the names exists and differs, nothing is
    written.
    """
    with made_folder(folder) as target:
        files = {target / name: content for name, content in _make_contents().items()}
        for path, content in files.items():
            if path.exists() and (not path.is_file() or path.read_bytes() != content):
                names = ", ".join(path.name for path in files)
                raise UnwritableFile(
                    f"{path} exists and is not the file of the sample.",
                    f"a folder without files of these names: {names}.",
                    "choose another folder: rt.sample('sample'), or rectitude sample sample",
                )
        missing = {path: content for path, content in files.items() if not path.exists()}
        write_all({path: partial(_write, content) for path, content in missing.items()})
    return target


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _make_contents() -> dict[str, bytes]:
    """Return the content of every file by name."""
    chance = Random(2)  # noqa: S311  (no secrets here)
    weight = [1 / (item + 5) for item in range(ITEMS)]
    truth: Truth = {}
    for user in range(USERS):
        wanted = _draw_items(chance, weight, 1 + int(9 * chance.random() ** 2))
        truth[user] = {item: 1 + int(5 * chance.random()) for item in wanted}
    rows: list[Row] = [
        (f"u{user}", f"i{item}", grade) for user, of in truth.items() for item, grade in of.items()
    ]
    lists = {
        name: _table("score", _make_lists(truth, chance, taste))
        for name, taste in (("popular.csv", 0.0), ("nearest.csv", 1.2))
    }
    made = {"test.csv": _table("grade", rows), **lists, **_make_scores(truth), **_make_logits()}
    return {name: made[name] for name in FILES}


def _make_scores(truth: Truth) -> dict[str, bytes]:
    """Return scores of every user and item, and what the users had before."""
    chance = np.random.default_rng(3)
    popular = 40 / (np.arange(ITEMS) + 8)
    scores = (popular + 2 * chance.random((USERS, ITEMS))).astype(np.float32)
    rows: list[Row] = []
    for user, wanted in truth.items():
        scores[user, list(wanted)] += 1.2
        drawn = chance.choice(ITEMS, 10, replace=False, p=popular / popular.sum())
        had = [item for item in drawn.tolist() if item not in wanted]
        scores[user, had] += 2
        rows += [(f"u{user}", f"i{item}", 1) for item in had]
    users = np.array([f"u{user}" for user in range(USERS)])
    items = np.array([f"i{item}" for item in range(ITEMS)])
    file = io.BytesIO()
    np.savez(file, scores=scores, users=users, items=items)
    return {"train.csv": _table("grade", rows), "scores.npz": file.getvalue()}


def _make_logits() -> dict[str, bytes]:
    """Return the place of each visit, and what two models expected."""
    chance = np.random.default_rng(4)
    often = 1 / np.arange(1, PLACES + 1)
    targets = chance.choice(PLACES, VISITS, p=often / often.sum())
    noise = chance.standard_normal((VISITS, PLACES))
    made = {"targets.npy": _array(targets)}
    for name, knows in (("short.npy", 1.5), ("long.npy", 2.2)):
        logits = np.log(often) + noise
        logits[np.arange(VISITS), targets] += knows
        made[name] = _array(logits.astype(np.float32))
    return made


def _draw_items(chance: Random, weight: list[float], many: int) -> list[int]:
    keys = [chance.random() ** (1 / w) for w in weight]
    return sorted(range(len(weight)), key=keys.__getitem__, reverse=True)[:many]


def _make_lists(truth: Truth, chance: Random, taste: float) -> list[Row]:
    """Return popular items with noise and, with taste, what the user wants; scores have one
    decimal, so there are ties."""
    rows: list[Row] = []
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


def _table(value: str, rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("user", "item", value))
    writer.writerows(rows)
    return text.getvalue().encode()


def _array(values: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()
