"""Values per list that workers write to files, so that they need not be held by the driver.

The files are in a hidden folder beside the one that `per_list=` names, where all machines must see
them. Every attempt of a task writes a file of its own, and only files that a task returned count.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from rectitude.errors import UnreadableFile
from rectitude.evaluation.plan import Plan
from rectitude.evaluation.state import KeptValues
from rectitude.evaluation.written import tabulate_kept
from rectitude.storage import explain_unwritable


@contextmanager
def open_folder(plans: Sequence[Plan]) -> Iterator[Path | None]:
    """Yield a new folder for values per list, which is removed at the end; None if they are
    returned to the driver, as they are for a single file."""
    targets = [plan.per_list for plan in plans if plan.per_list is not None]
    if not targets or targets[0].suffix:
        yield None
        return
    target = targets[0].resolve()
    folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with explain_unwritable(target, folder):
            folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_values(plan: Plan, kept: KeptValues, folder: Path) -> tuple[Path, ...]:
    """Write the values of a part to a new file of the folder; return it."""
    values = tabulate_kept(kept, [str(asked.name) for asked in plan.asked])
    if values is None:
        return ()
    file = folder / f"{secrets.token_hex(8)}.arrow"
    with explain_unwritable(file, file):
        folder.mkdir(exist_ok=True)  # on another machine, whose disk this is not
        values.write_ipc(file, compression="uncompressed")
    return (file,)


def scan_values(file: Path) -> pl.LazyFrame:
    """Open a file that a worker wrote."""
    if not file.exists():
        raise UnreadableFile(
            f"a worker wrote values per list to {file}, which this process cannot see.",
            "a folder for per_list= that all machines share.",
            "with per_list='values.parquet', the values come to this process, which writes them.",
        )
    return pl.scan_ipc(file)
