"""Parquet files on a disk that Spark's workers see: they read them themselves.

Spark hands rows to Python one by one, which takes most of the time of an evaluation. If a DataFrame
is nothing but Parquet files under `file:`, without partitions in their paths or a schema of its
own, workers read the same rows straight from the files. All other DataFrames, those of Spark
Connect among them, come by way of Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

MOST_FILES = 256
"""how many files the driver looks at before it leaves them to Spark"""
SPAN_ROWS = 500_000
FIELDS = "file string, first bigint, count bigint, number bigint"


@dataclass(frozen=True, slots=True)
class Scans:
    """The files of a DataFrame that workers may read themselves; none if Spark must."""

    files: Sequence[str]

    def head(self, empty: pl.DataFrame, rows: int) -> pl.DataFrame | None:
        """Return the first rows; None if Spark must read them. `empty` has the columns, in the
        types that Spark gives them."""
        if not self.files or not self._have(empty):
            return None
        return _scan(self.files[0]).select(empty.columns).head(rows).collect()

    def spans(self, empty: pl.DataFrame) -> list[tuple[str, int, int, int]]:
        """Return all rows as spans: the file, the first row, how many there are, and the number of
        the span. There are none if Spark must read them."""
        spans: list[tuple[str, int, int, int]] = []
        if not self._have(empty):
            return spans
        for file in self.files:
            height = int(_scan(file).select(pl.len()).collect().item())
            for first in range(0, height, SPAN_ROWS):
                spans.append((file, first, min(SPAN_ROWS, height - first), len(spans)))
        return spans

    def _have(self, empty: pl.DataFrame) -> bool:
        """Return whether all files have these columns in these types."""
        try:
            schemas = [_scan(file).collect_schema() for file in self.files]
        except (pl.exceptions.PolarsError, OSError):  # damaged or encrypted: Spark says so
            return False
        return all(
            schema.get(name) == dtype for schema in schemas for name, dtype in empty.schema.items()
        )


def _scan(file: str) -> pl.LazyFrame:
    return pl.scan_parquet(file, glob=False)


def read_spans(batches: Iterator[Any], columns: list[str]) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of each span, with its number; runs on a worker."""
    for batch in batches:
        for span in batch.to_pylist():
            scanned = _scan(span["file"]).select(columns)
            yield span["number"], scanned.slice(span["first"], span["count"]).collect()


def find_scans(frame: Any) -> Scans:
    """Return the Parquet files that are all of a DataFrame; none if it is more, or if this version
    of Spark does not say."""
    with suppress(Exception):  # private to Spark: whatever fails, Spark reads the rows
        plan = frame._jdf.queryExecution().analyzed()
        relation = plan.relation()
        plain = relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
        if plan.getClass().getSimpleName() == "LogicalRelation" and plain:
            parts = [urlsplit(file) for file in sorted(frame.inputFiles())]
            local = all(part.scheme == "file" and not part.netloc for part in parts)
            if local and relation.partitionSchema().isEmpty() and len(parts) <= MOST_FILES:
                return Scans([unquote(part.path) for part in parts])
    return Scans(())
