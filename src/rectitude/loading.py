"""`load`: read back any result that was saved, whatever it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import is_zipfile

from rectitude.aggregate.evaluation import FORMAT, FORMAT_OF_SEVERAL, Evaluation
from rectitude.candidate_sets.value import Candidates
from rectitude.comparison.opening import load_evaluations
from rectitude.comparison.result import Comparison
from rectitude.errors import UnreadableFile
from rectitude.experiment.results import Run
from rectitude.explanation.explain.result import Explanation
from rectitude.reports.history import History
from rectitude.storage import read_stored
from rectitude.texts import require_regular

Loaded = Evaluation | dict[str, Evaluation] | Comparison | Explanation | History | Candidates | Run
EXPECTED = (
    "a file written by the save method of an Evaluation, Comparison, Explanation, History or "
    "Candidates, or the folder of a run."
)
_LOADERS: Mapping[str, Callable[[Path], Loaded]] = {
    FORMAT: Evaluation.load,
    "rectitude.comparison": Comparison.load,
    "rectitude.explanation": Explanation.load,
    "rectitude.history": History.load,
}


def load(path: str | os.PathLike[str]) -> Loaded:
    """Read back a saved result: an evaluation, comparison, explanation, history or candidates, or
    the folder of a run. Several evaluations in one file become a dict.

    The content decides what it is, not the name.
    """
    where = require_regular(path)
    if where.is_dir():
        return Run.open(where)
    if is_zipfile(where):
        return _load_evaluations(where)
    if _starts_parquet(where):
        return Candidates.load(where)
    kind = _kind_of(where)
    if kind == FORMAT_OF_SEVERAL:
        return _load_evaluations(where)
    if kind not in _LOADERS:
        raise UnreadableFile(f"{where} contains {kind!r}, which is not a saved result.", EXPECTED)
    return _LOADERS[kind](where)


def _load_evaluations(path: Path) -> Evaluation | dict[str, Evaluation]:
    """Return the only evaluation of a file, or all of them by name."""
    evaluations = load_evaluations(path)
    if not evaluations:
        raise UnreadableFile(f"{path} contains no evaluation.", EXPECTED)
    return next(iter(evaluations.values())) if len(evaluations) == 1 else evaluations


def _starts_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be read: {error.strerror or error}.", EXPECTED
        ) from error


def _kind_of(path: Path) -> str:
    """Return the format that a JSON file states; its type or suffix if it states none."""
    document = read_stored(path, "saved result", EXPECTED)
    stated = document.get("format") if isinstance(document, Mapping) else None
    return str(stated or f"a JSON {type(document).__name__}")
