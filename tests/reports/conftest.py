"""A report with every section, opened from disk in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from opened import HOSTILE, Opened

import rectitude as rt
from rectitude.data.log import open_log
from rectitude.data.synthetic import shop
from rectitude.explanation.robustness import robustness
from rectitude.models import model_of
from rectitude.reports.content import Content, ReportStage, Slice, Window, content_of
from rectitude.reports.page import write


@pytest.fixture(scope="session")
def content() -> Content:
    """Three models of a small shop; the name of one looks like a script."""
    train, truth = shop(seed=7)
    users, items = truth["user"].unique().sort(), train["item"].unique().sort()
    rng = np.random.default_rng(0)
    drawn = np.concatenate([rng.permutation(len(items))[:20] for _ in users])
    chance = pl.DataFrame({"user": users.gather(np.repeat(np.arange(len(users)), 20))})
    chance = chance.with_columns(
        item=items.gather(drawn), rank=pl.Series(np.tile(np.arange(20), len(users)))
    )
    lists: dict[str, Any] = {"neighbours": "item-knn", "popularity": "popularity"}
    for name, kind in lists.items():
        model = model_of(kind)
        model.fit(open_log(train))
        lists[name] = model.recommend(users, 20)
    lists[HOSTILE] = chance
    asked = ["ndcg@{5,10,20}", "recall@{5,10,20}", "mrr"]
    evaluations = {
        name: rt.evaluate(one, truth, asked, train=train, intervals=True)
        for name, one in lists.items()
    }
    slices = [
        Slice(by="activity", slice=part, model=model, metric="ndcg@10", value=0.1 * (nth + 1),
              low=0.1 * nth, high=0.1 * (nth + 2), lists=40, warning="few lists" * (nth == 0))
        for nth, part in enumerate(("few", "many"))
        for model in lists
    ]  # fmt: skip
    windows = [
        Window(label=f"week {nth}", values={"ndcg@10": dict.fromkeys(lists, 0.1 * nth)})
        for nth in (1, 2, 3)
    ]
    one_bin = {
        "above": 0.5, "up_to": 1.0, "rows": 40, "correct": 30, "probability": 0.8,
        "share_correct": 0.75,
    }  # fmt: skip
    return replace(
        content_of(evaluations, "A small shop & three models"),
        calibration={"relevance_calibration_error": {model: [one_bin] for model in lists}},
        comparison=rt.compare(evaluations, baseline="popularity").as_dict(),
        robustness=robustness(lists, truth, "ndcg@10").as_dict(),
        audit=rt.audit(train=train, truth=truth, predictions=lists["neighbours"]).as_dict(),
        explanation=rt.explain(
            lists["neighbours"], truth, "ndcg@10", "default", "rectools"
        ).as_dict(),
        slices=slices,
        windows=windows,
        flow=[
            ReportStage(label="the log", rows=900),
            ReportStage(label="k_core", rows=700, dropped=200),
        ],
        reproduce="rectitude run shop.toml",
    )


@pytest.fixture(scope="session")
def path(content: Content, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report as a file."""
    return write(content, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def opened(browser: Any, path: Path) -> Iterator[Opened]:
    """The report on a wide screen."""
    one = Opened(browser, path, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield one
    one.context.close()
