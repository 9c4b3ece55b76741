"""Four public data sets, prepared, split and ranked in the same way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl

import rectitude as rt

FILES = {
    "ml-100k": "ml-100k/ml-100k.inter",
    "ml-latest-small": "ml-latest-small/ratings.csv",
    "amazon-video-games": "amazon-video-games/Video.txt",
    "online-retail-ii": "online-retail-ii/interactions.parquet",
}
MODELS = {
    "popularity": {},
    "item-knn-20": {"model": "item-knn", "neighbours": 20},
    "item-knn-200": {"model": "item-knn", "neighbours": 200},
    "user-knn": {"neighbours": 100},
}
DEPTH = 100


def study(path: str | Path, name: str, folder: Path, models: dict[str, dict]) -> rt.Run:
    """Fit models to a random 80% of each user's interactions, and rank for the other 20%."""
    return rt.run(
        {
            "name": name,
            "seed": 0,
            "folder": str(folder / name),
            "data": {"path": str(path)},
            "prepare": [
                {"step": "deduplicate", "keep": "first"},
                {"step": "k_core", "users": 5, "items": 5},
            ],
            "split": {"how": "random_ratio", "ratio": 0.2, "level": "user"},
            "models": models,
            "evaluate": {"metrics": ["ndcg@10"], "depth": DEPTH},
            "audit": {"mode": "off"},
        },
        progress="quiet",
    )


def inputs(run: rt.Run) -> tuple[dict[str, Path], Path, pl.DataFrame]:
    """Return the lists of each model, the truth, and the training data of a run."""
    models = run.results["models"]
    lists = {name: run.folder / model["runs"][0]["predictions"] for name, model in models.items()}
    return lists, run.folder / "truth.parquet", pl.read_parquet(run.folder / "train.parquet")


def data_set(name: str) -> Path:
    """Return the file of a data set, or say where it is looked for."""
    folder = os.environ.get("RECTITUDE_DATA")
    if folder is None:
        sys.exit("RECTITUDE_DATA is not set: point it at the folder that has ml-100k and others")
    path = Path(folder) / FILES[name]
    if not path.exists():
        sys.exit(f"{FILES[name]} is not in the folder that RECTITUDE_DATA names")
    return path
