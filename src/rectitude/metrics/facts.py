"""`Facts`: what a metric may need beyond the judged lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rectitude.errors import MissingNeed
from rectitude.metrics.registry import Metric

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Facts:
    """Tables about items and users, and what was seen in training; None where nothing was handed
    over."""

    items: pl.DataFrame | None = None
    users: pl.DataFrame | None = None
    train: pl.DataFrame | None = None

    @property
    def catalogue(self) -> int:
        """How many items the catalogue holds."""
        return 0 if self.items is None else int(self.items["item"].n_unique())

    @cached_property
    def trained(self) -> int:
        """How many users there are in train."""
        return 0 if self.train is None else int(self.train["list"].n_unique())

    def require(self, metric: Metric) -> None:
        """An error if the metric needs a table that is not there."""
        wants = {
            "items": "a table of the catalogue",
            "users": "a table of the users",
            "train": "the training interactions",
        }
        for need in metric.needs:
            if need in wants and getattr(self, need) is None:
                raise MissingNeed(
                    f"metric {metric.name!r} needs {wants[need]}, and none was given.",
                    advice=f"pass {need}= to evaluate, or --{need} on the command line.",
                )
