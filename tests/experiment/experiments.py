"""A small experiment, faulty custom models, and a way to compare run folders."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

HERE = Path(__file__).resolve().parent
SMALL = """\
[data]
shop = { rows = 2_000 }

[[prepare]]
step = "deduplicate"
keep = "first"

[split]
how = "time_ratio"
ratio = 0.2
validation = { how = "time_ratio", ratio = 0.2 }

[audit]
mode = "off"

[models.popularity]

[models.item-knn]
neighbours = 20

[evaluate]
metrics = ["ndcg@10", "recall@{5,10}"]

[explain]
mode = "off"

[report]
mode = "off"
"""
TUNED = """
[models.tuned]
model = "item-knn"

[models.tuned.tune]
trials = 4
space = { neighbours = { low = 5, high = 40 } }
"""
VOLATILE = ("log.jsonl", "environment.json", "resources.json", ".lock")


def write(folder: Path, text: str = SMALL, name: str = "experiment.toml") -> Path:
    """Write the file of an experiment, and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, str]:
    """Return the hash of every file in a run's folder, except files that contain times."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in VOLATILE
    }


class Steady:
    """A model that recommends the first items of the training data to all users."""

    def __init__(self, first: int = 0) -> None:
        self.first = first

    def fit(self, train: Any) -> Steady:
        self.items = train.frame["item"].unique().sort()
        return self

    def rows(self, users: pl.Series, k: int) -> pl.DataFrame:
        items = self.items[self.first : self.first + k]
        ranked = pl.DataFrame({"item": items, "score": -pl.int_range(len(items), eager=True)})
        return pl.DataFrame({"user": users}).join(ranked, how="cross")

    def recommend(
        self, users: pl.Series, k: int, *, candidates: Any = None, seen: Any = None
    ) -> pl.DataFrame:
        return self.rows(users, k)


class Spied(Steady):
    """Records the rows it was trained on, and the users it recommended to."""

    fitted: ClassVar[list[set[int]]] = []
    asked: ClassVar[list[set[int]]] = []

    def fit(self, train: Any) -> Steady:
        self.fitted.append(set(train.frame["row"]))
        return super().fit(train)

    def recommend(self, users: pl.Series, k: int, **given: Any) -> pl.DataFrame:
        self.asked.append(set(users))
        return self.rows(users, k)


class Raising(Steady):
    def fit(self, train: Any) -> Steady:
        raise ZeroDivisionError(f"no luck with {object()}")


class Exiting(Steady):
    def fit(self, train: Any) -> Steady:
        raise SystemExit("no licence")


class Repeating(Steady):
    def recommend(self, users: pl.Series, k: int, **given: Any) -> pl.DataFrame:
        rows = self.rows(users, k - 1)
        return pl.concat([rows, rows.head(1)])


class NotANumber(Steady):
    def recommend(self, users: pl.Series, k: int, **given: Any) -> pl.DataFrame:
        return self.rows(users, k).with_columns(score=pl.lit(float("nan")))


class Short(Steady):
    def recommend(self, users: pl.Series, k: int, **given: Any) -> pl.DataFrame:
        return self.rows(users, 3)


class Strange(Steady):
    def recommend(self, users: pl.Series, k: int, **given: Any) -> pl.DataFrame:
        return self.rows(users, k).with_columns(item=pl.col("item") + 1_000_000)


class Greedy(Steady):
    def recommend(self, users: pl.Series, k: int, **given: Any) -> pl.DataFrame:
        return self.rows(users, k + 5)
