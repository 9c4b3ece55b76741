"""Row groups from the footer of a Parquet file, as pyarrow reads them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rectitude.data.formats.footer import rows_by_group

FRAME = pl.DataFrame(
    {
        "user": range(1000),
        "name": [f"u{n}" for n in range(1000)],
        "vector": [[0.5, n] for n in range(1000)],
        "record": [{"item": n, "score": n / 7, "yes": n % 2 == 0} for n in range(1000)],
    }
)


@pytest.mark.parametrize("size", [1, 7, 300, 1000])
def test_every_group_has_its_rows(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path, row_group_size=size)
    groups = rows_by_group(path)
    assert sum(groups) == 1000
    assert len(groups) == -(-1000 // size)


def test_files_of_other_writers_are_read(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="missing: pip install pyarrow")
    path = tmp_path / "a.parquet"
    parquet.write_table(FRAME.to_arrow(), path, row_group_size=130, write_page_index=True)
    about = parquet.read_metadata(path)
    wanted = [about.row_group(n).num_rows for n in range(about.num_row_groups)]
    assert rows_by_group(path) == wanted


def test_a_table_without_rows_has_no_group_with_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    FRAME.clear().write_parquet(path)
    assert sum(rows_by_group(path)) == 0
