"""SVMlight files with queries, as of LETOR and MSLR: `label qid:query feature:value ... # comment`.

Each line is a judged row of a query. Features are checked but not kept. As predictions, a line has
the score in front, as `paste -d' ' scores.txt test.txt` writes it. Without `qid:`, a file next to
it has the sizes of the queries: `test.txt.query` of LightGBM or `test.txt.group` of XGBoost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.compression import PACKED
from rectitude.data.formats.file import File, open_content
from rectitude.data.formats.lines import number_lines, source_of
from rectitude.data.table import Source
from rectitude.errors import BadTable, UnreadableFile
from rectitude.texts import require_regular

_BLOCK = 1 << 24
"""How many bytes are parsed at a time: only three short columns of each line are kept."""
LINE = (
    r"^\s*(?<value>[^\s:#]+)(?:\s+(?<label>[^\s:#]+))?(?:\s+qid:(?<list>[^\s#]+))?"
    r"(?:\s+[^\s:#]+:[^\s#]+)*\s*(?:#(?<comment>.*))?$"
)
_DOCUMENT = r"(?:^|\s)docid\s*=\s*(\S+)|^\s*(\S+)"
SIZES = (".query", ".group")
"""Endings of files with the sizes of queries: LightGBM's and XGBoost's."""


def read_letor(file: File, want: WantedColumns) -> Source:
    """Read the rows of queries: labels as grades, or for predictions the scores in front of them.

    An item is the document that the comment names (`docid = d1`, or its first word). If a line has
    no comment, all items are row numbers within their query, from 0.
    """
    value = "score" if want.what == "predictions" else "grade"
    rows = pl.concat(_parse(file, block, start, value) for start, block in _read_blocks(file))
    if not rows.height:
        raise UnreadableFile(
            f"{file.path} has no rows.",
            "lines such as '2 qid:1 1:0.5'.",
            "write or download it again.",
        )
    sizes = None
    if rows["list"].null_count():
        sizes = _require_sizes(file, rows)
        rows = rows.with_columns(_number_queries(sizes, rows.height, file))
    numbers = pl.int_range(pl.len()).over("list").cast(pl.String)
    item = pl.col("item") if rows["item"].null_count() == 0 else numbers
    source = source_of(file, rows.select("list", item.alias("item"), value))
    note = "" if sizes is None else f"queries of the sizes in {sizes.name}"
    return replace(source, recognised=note)


def find_sizes(path: Path) -> Path | None:
    """Return the file next to a data file that has the sizes of its queries, or None."""
    plain = path.with_suffix("") if path.suffix.lower() in PACKED else path
    names = [f"{name}{ending}" for name in (path.name, plain.name) for ending in SIZES]
    found = [path.with_name(name) for name in dict.fromkeys(names)]
    return next((sizes for sizes in map(require_regular, found) if sizes.is_file()), None)


def _require_sizes(file: File, rows: pl.DataFrame) -> Path:
    """Return the file with the sizes of the queries, for rows that do not name their query."""
    missing, name = rows["list"].null_count(), file.path.name
    sizes = find_sizes(file.path)
    if missing == rows.height and sizes is not None:
        return sizes
    number = rows.filter(pl.col("list").is_null())["number"][0]
    if missing < rows.height:
        raise BadTable(
            f"{name}: {missing:,} of {rows.height:,} rows name no query (first: line {number}).",
            "qid:QUERY after the label, in all rows or in none.",
            "fix these lines.",
        )
    raise BadTable(
        f"{name}: no row names its query (first: line {number}), and no file next to it has"
        " the sizes of the queries.",
        f"qid:QUERY after the label, or a file {name}.query or {name}.group with the number of"
        " rows of each query.",
    )


def _number_queries(sizes: Path, rows: int, file: File) -> pl.Series:
    """Return the query of each row, numbered from 0."""
    lines = number_lines(open_content(sizes))
    counts = lines["line"].str.strip_chars().cast(pl.UInt32, strict=False).cast(pl.Int64)
    wrong = lines.filter(counts.is_null())
    if wrong.height:
        raise BadTable(
            f"{sizes.name}, line {wrong['number'][0]} is not the size of a query:"
            f" {wrong['line'][0]!r:.40}.",
            "a whole number on each line: how many rows the query has.",
            "write it again.",
        )
    if counts.sum() != rows:
        raise BadTable(
            f"the sizes in {sizes.name} add up to {counts.sum():,}, but {file.path.name} has"
            f" {rows:,} rows.",
            "the same number.",
            "write both files again, from the same data.",
        )
    queries = np.repeat(np.arange(len(counts)), counts.to_numpy())
    return pl.Series("list", queries).cast(pl.String)


def _read_blocks(file: File) -> Iterator[tuple[int, pl.Series]]:
    """Yield the lines of a file in blocks, with the number of the first line of each block."""
    start = 1
    with file.open() as stream:
        while lines := stream.readlines(_BLOCK):
            try:
                text = b"".join(lines).decode("utf-8-sig" if start == 1 else "utf-8")
            except UnicodeDecodeError as error:
                line = start + b"".join(lines).count(b"\n", 0, error.start)
                raise UnreadableFile(
                    f"{file.path} is not UTF-8 (line {line}).",
                    "text in UTF-8.",
                    "convert it, for example with: iconv -f latin1 -t utf-8",
                ) from None
            yield start, pl.Series("line", text.removesuffix("\n").split("\n"))
            start += len(lines)


def _parse(file: File, lines: pl.Series, start: int, value: str) -> pl.DataFrame:
    """Return query, document (null without a comment) and value of each line that is not blank or
    a comment."""
    numbered = lines.to_frame().with_row_index("number", start)
    filled = numbered.filter(~pl.col("line").str.strip_chars().str.contains("^(#|$)"))
    fields = filled.with_columns(pl.col("line").str.extract_groups(LINE)).unnest("line")
    number = pl.col("value").cast(pl.Float64, strict=False)
    labelled = pl.lit(value=True) if value == "score" else pl.col("label").is_null()
    valid = (number.is_finite() & labelled).fill_null(value=False)
    wrong = fields.filter(~valid)
    if wrong.height:
        raise _bad_line(file, int(wrong["number"][0]), wrong.height, value)
    document = pl.col("comment").str.extract_groups(_DOCUMENT)
    named = pl.coalesce(document.struct.field("1"), document.struct.field("2"))
    return fields.select("number", "list", named.alias("item"), number.alias(value))


def _bad_line(file: File, number: int, count: int, value: str) -> BadTable:
    shapes = {
        "grade": "a label, qid:QUERY and features on each line, such as '2 qid:1 1:0.5 2:0.1'.",
        "score": "a score, an optional label, qid:QUERY and features on each line, such as "
        "'0.73 2 qid:1 1:0.5'.",
    }
    others = f" (and {count - 1} more lines nearby)" if count > 1 else ""
    return BadTable(
        f"{file.path.name}, line {number}{others} is not a row of a query.",
        shapes[value],
        "fix this line; scores of a model go in front: paste -d' ' scores.txt test.txt",
    )
