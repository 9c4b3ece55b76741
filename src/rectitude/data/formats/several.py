"""One table in several files: a list of paths, a pattern such as `parts/*.csv`, or partitions.

Hive, Spark and Polars write partitions: folders whose names say the value of a column, as in
`user=1/part-0.parquet`. That column is then not in the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from os.path import commonpath
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from rectitude.data.columns import quote_names
from rectitude.data.ids import whole_numbers
from rectitude.data.table import Source, SourceParts
from rectitude.errors import BadArgument, BadTable, UnreadableFile
from rectitude.texts import require_regular

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The name of the folder with the rows that have no value."""
BY_ROW = ("csr", "daisyrec", "sets")
"""Formats whose users are the numbers of rows or lines, which start again in every file."""
Open = Callable[[Path], Source]


def match_files(pattern: Path) -> list[Path]:
    """Return the files that a pattern matches, sorted; none if it is no pattern."""
    if pattern.exists() or not any(sign in str(pattern) for sign in "*?["):
        return []
    root = Path(pattern.anchor or ".")
    matches = sorted(root.glob(str(pattern.relative_to(pattern.anchor))))
    files = [match for match in map(require_regular, matches) if match.is_file()]
    if not files:
        raise UnreadableFile(
            f"no file matches {str(pattern)!r}.",
            "a pattern that matches at least one file.",
            "check the pattern and the current directory.",
        )
    return files


def open_several(paths: Sequence[Path], label: str, open_one: Open) -> Source:
    """Return several files with the same columns as one source."""
    repeated = next((path for path, count in Counter(paths).items() if count > 1), None)
    if repeated is not None:
        raise BadArgument(f"{repeated} is listed twice.", "each file once.")
    sources = [open_one(path) for path in paths]
    first = sources[0]
    for path, source in zip(paths, sources, strict=True):
        _require_like(first, source, paths[0], path)
    form, _, details = first.recognised.partition(" (")
    recognised = f"{form} ({len(paths)} files; {details}"
    if len(paths) == 1:
        recognised = first.recognised
    values = _partition_values(paths)
    handed = [source.handed for source in sources if source.handed is not None]
    return replace(
        first,
        label=label,
        names=[*first.names, *(name for name in values if name not in first.names)],
        take=lambda chosen: _take_all(sources, values, chosen, label),
        handed=pl.concat(handed) if len(handed) == len(sources) else None,
        recognised=recognised,
        parts=_join_parts(sources, values),
    )


def _join_parts(sources: Sequence[Source], values: Mapping[str, pl.Series]) -> SourceParts:
    """Return how to read several files piece by piece; a file without parts is one piece."""
    rows = [None if source.parts is None else source.parts.rows for source in sources]

    def each(size: int) -> Iterator[Source]:
        for number, source in enumerate(sources):
            for part in [source] if source.parts is None else source.parts.each(size):
                yield _with_values(part, values, number)

    def span(first: int, last: int) -> Source:
        within = [
            _with_values(part, values, number)
            for number, part in _overlapping(sources, first, last)
        ]
        return replace(
            within[0], take=lambda chosen: pl.concat([part.take(chosen) for part in within])
        )

    by_number = all(source.parts is not None and source.parts.span for source in sources)
    return SourceParts(sum(count or 0 for count in rows), each, span if by_number else None)


def _overlapping(sources: Sequence[Source], first: int, last: int) -> Iterator[tuple[int, Source]]:
    """Yield the number of each file that has some of the rows, and those rows."""
    start = 0
    for number, source in enumerate(sources):
        if source.parts is None or source.parts.span is None:
            raise ValueError("rows of this file cannot be found by number")
        low, high = max(first - start, 0), min(last - start, source.parts.rows)
        start += source.parts.rows
        if low < high:
            yield number, source.parts.span(low, high)


def _with_values(part: Source, values: Mapping[str, pl.Series], number: int) -> Source:
    """Return a part of a file with the columns that its folders name."""
    names = [*part.names, *(name for name in values if name not in part.names)]
    return replace(
        part, names=names, take=lambda chosen: _take_file(part, values, chosen, number), parts=None
    )


def _require_like(first: Source, source: Source, one: Path, other: Path) -> None:
    """Raise an error unless two files have the same format and columns."""
    forms = [opened.recognised.partition(" ")[0] for opened in (first, source)]
    if forms[0] != forms[1] or forms[0] in BY_ROW:
        reason = "number their users by row" if forms[0] in BY_ROW else "have different formats"
        raise BadTable(
            f"{one.name} ({forms[0]}) and {other.name} ({forms[1]}) {reason}.",
            "files of one table, in one format that names the users.",
            "read them one by one, and join them as one frame.",
        )
    if {*first.names} != {*source.names}:
        raise BadTable(
            f"{other.name} has the columns {quote_names(source.names)}, but {one.name} has"
            f" {quote_names(first.names)}.",
            "the same columns in every file of a table.",
            "leave out the files that do not belong to it.",
        )


def _partition_values(paths: Sequence[Path]) -> dict[str, pl.Series]:
    """Return the columns that the names of folders hold, one value per file."""
    root = commonpath([path.parent for path in paths])
    folders = [path.parent.relative_to(root).parts for path in paths]
    values = [dict(name.split("=", 1) for name in names if "=" in name) for names in folders]
    shared = [key for key in values[0] if all(key in of_file for of_file in values)]
    columns = {}
    for key in shared:
        texts = [unquote(of_file[key]) for of_file in values]
        column = pl.Series(key, [None if text == NO_VALUE else text for text in texts], pl.String)
        numbers = whole_numbers(column)
        columns[key] = column if numbers is None else numbers
    return columns


def _take_all(
    sources: Sequence[Source],
    values: Mapping[str, pl.Series],
    chosen: Mapping[str, str],
    label: str,
) -> pl.DataFrame:
    """Read the chosen columns of every file, and add those that the folders name."""
    frames = [_take_file(source, values, chosen, n) for n, source in enumerate(sources)]
    types = {new: {frame.schema[new] for frame in frames} for new in chosen}
    mixed = [new for new, kinds in types.items() if pl.String in kinds and len(kinds) > 1]
    if mixed and not all(source.text for source in sources):
        raise BadTable(
            f"the column {chosen[mixed[0]]!r} of {label} has the types"
            f" {', '.join(sorted(map(str, types[mixed[0]])))} in different files.",
            "one type in all files.",
            "write the files again with one type.",
        )
    return pl.concat(frames, how="vertical_relaxed")


def _take_file(
    source: Source, values: Mapping[str, pl.Series], chosen: Mapping[str, str], number: int
) -> pl.DataFrame:
    """Read the chosen columns of one file, and add those that its folders name."""
    own = {new: name for new, name in chosen.items() if name in source.names}
    frame = source.take(own or {source.names[0]: source.names[0]})
    added = {new: values[name] for new, name in chosen.items() if new not in own}
    constant = [
        column.gather([number]).new_from_index(0, frame.height).alias(new)
        for new, column in added.items()
    ]
    return frame.with_columns(constant).select(*chosen)
