"""What must be unchanged for a run to go on where a killed one stopped: files, settings, plan.

Each has a fingerprint, so that nothing is reused that could have changed. Files are compared
by path, size and time of change, like `make` does it; tables in memory are never taken to be the
same.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path

import numpy as np
import polars as pl

from rectitude._version import __version__
from rectitude.aggregate.definition import fingerprint
from rectitude.data.formats.several import match_files
from rectitude.data.table import is_wrapped
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.plan import Plan


def identify_inputs(given: RawInputs, *settings: object) -> str:
    """Return the fingerprint of all inputs and of settings that decide what temporary files
    contain."""
    facts = [_versions(), given.list_key, given.columns, given.keep, given.padding, *settings]
    for name, source in sorted(given.inputs.items()):
        facts += [name, *_describe_source(source)]
    return _hash(facts)


def identify_plan(plan: Plan) -> str:
    """Return the fingerprint of everything that a plan asks of a part."""
    held = plan.per_list is None
    asked = [(name, fingerprint(a), a.convention.as_dict()) for name, a in plan.measured.items()]
    names = [(str(a.name), fingerprint(a), a.convention.as_dict()) for a in plan.asked]
    profile = (plan.profile.label, plan.profile.convention.as_dict(), plan.profile.padding)
    return _hash([_versions(), asked, names, profile, plan.intervals, plan.slicings, held])


def _versions() -> tuple[str, ...]:
    return __version__, pl.__version__, np.__version__


def _describe_source(source: object) -> Iterator[object]:
    """Yield what tells whether a source is the same; something unique for one in memory."""
    if source is None:
        yield None
    elif is_wrapped(source):
        users = None if source.users is None else secrets.token_hex()
        yield from (dict(source.columns), source.ordered, getattr(source, "format", None), users)
        yield from _describe_source(source.source)
    elif isinstance(source, str | PathLike):
        yield from _describe_files(Path(fspath(source)).expanduser())
    elif isinstance(source, list | tuple) and all(isinstance(p, str | PathLike) for p in source):
        for path in source:
            yield from _describe_source(path)
    else:
        yield secrets.token_hex()


def _describe_files(path: Path) -> Iterator[object]:
    files = [path] if path.is_file() else match_files(path)
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    for file in files:
        about = file.stat()
        yield (os.fspath(file.resolve()), about.st_size, about.st_mtime_ns, about.st_ino)


def _hash(facts: list[object]) -> str:
    return hashlib.blake2b(repr(facts).encode(), digest_size=12).hexdigest()
