"""Damage to tables: text in columns, and the columns of Parquet and Arrow files."""

from __future__ import annotations

import io
from random import Random
from typing import Any

from damaged_trees import SNIPPETS

FIELDS = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e999", "-1", "-0", "0x10", "1,5", "1_000", "null", "NA",
    "9" * 400, "99999999999999999999", "-99999999999999999999", "1.5.2", "text", "\x00", "\x1b[31m",
    "\x9b31m", "\u202e", "=1+1", '"', '"a', "'", "\t", ";", "|", "x" * 70_000, "2020-99-99", "true",
    "\r", "1e-400", "٣", "\ufeff", "\u2028", "a\u0000b", "[1, 2]", "{}", "0/0", "+5", "5%",
)  # fmt: skip
HEADS = ("user", "item", "score", "rank", "", "\x1b[31m", "user_id", "1", "x" * 70_000, "list")


def damage_text(chance: Random, text: str) -> tuple[str, str]:
    """Return what was done to a table in text, and the table."""
    name = chance.choice(list(TEXT))
    return f"text {name}", TEXT[name](chance, text)


def _separator(text: str) -> str:
    first = text.partition("\n")[0]
    return max(("::", ",", "\t", ";", "|", " "), key=lambda mark: first.count(mark) * len(mark))


def _rows(text: str) -> tuple[list[list[str]], str]:
    mark = _separator(text)
    return [line.split(mark) for line in text.splitlines()], mark


def _joined(rows: list[list[str]], mark: str) -> str:
    return "\n".join(mark.join(row) for row in rows) + "\n"


def _field(chance: Random, text: str) -> str:
    rows, mark = _rows(text)
    for _ in range(chance.choice((1, 1, 3))):
        row = chance.choice(rows[1:] or rows)
        row[chance.randrange(len(row))] = chance.choice(FIELDS)
    return _joined(rows, mark)


def _column(chance: Random, text: str) -> str:
    rows, mark = _rows(text)
    place, value = chance.randrange(len(rows[0])), chance.choice(FIELDS)
    for row in rows[1:]:
        row[place : place + 1] = [value]
    return _joined(rows, mark)


def _lost(chance: Random, text: str) -> str:
    rows, mark = _rows(text)
    place = chance.randrange(len(rows[0]))
    return _joined([row[:place] + row[place + 1 :] for row in rows], mark)


def _head(chance: Random, text: str) -> str:
    rows, mark = _rows(text)
    rows[0][chance.randrange(len(rows[0]))] = chance.choice(HEADS)
    return _joined(rows, mark)


def _ragged(chance: Random, text: str) -> str:
    rows, mark = _rows(text)
    for _ in range(chance.choice((1, 5))):
        row = chance.choice(rows)
        row[:] = row[:-1] if chance.random() < 0.5 else [*row, chance.choice(FIELDS)]
    return _joined(rows, mark)


def _wide(chance: Random, text: str) -> str:
    rows, mark = _rows(text)
    many = chance.choice((10, 12_000))
    return _joined([row + [f"c{n}" for n in range(many)] for row in rows[:3]], mark)


def _repeated(chance: Random, text: str) -> str:
    rows, mark = _rows(text)
    return _joined(rows + rows[1:] * chance.choice((1, 3)), mark)


def _only_head(chance: Random, text: str) -> str:
    return text.partition("\n")[0] + chance.choice(("", "\n", "\n\n\n", "\r\n"))


def _ends(chance: Random, text: str) -> str:
    return text.replace("\n", chance.choice(("\r", "\r\n", "\n\r", "\u2028", "\n\n", "\x0b")))


def _marks(chance: Random, text: str) -> str:
    other = chance.choice((",", "\t", ";", "|", " ", "::", ":", "\x00", "\x01", "^", ",,"))
    return text.replace(_separator(text), other)


def _quotes(chance: Random, text: str) -> str:
    at = chance.randrange(len(text))
    return text[:at] + chance.choice(('"', "'", '"""', '\\"')) + text[at:]


def _snippet(chance: Random, text: str) -> str:
    at = chance.randrange(len(text))
    return text[:at] + chance.choice(SNIPPETS) + text[at:]


def _late(chance: Random, text: str) -> str:
    """The damage comes late, where a look at the first lines does not reach."""
    rows, mark = _rows(text)
    bad = list(rows[-1])
    bad[chance.randrange(len(bad))] = chance.choice(FIELDS)
    return _joined([rows[0], *(rows[1:] * 400), bad], mark)


TEXT = {
    "field": _field, "column": _column, "lost column": _lost, "head": _head, "ragged": _ragged,
    "wide": _wide, "repeated": _repeated, "only head": _only_head, "line ends": _ends,
    "separators": _marks, "quotes": _quotes, "snippet": _snippet, "late": _late,
}  # fmt: skip


def damage_columns(chance: Random, data: bytes, ending: str) -> tuple[str, bytes]:
    """Return what was done to the columns of a Parquet or Arrow file, and the file."""
    import polars as pl

    source = io.BytesIO(data)
    frame = pl.read_parquet(source) if ending == ".parquet" else pl.read_ipc(source)
    metadata = pl.read_parquet_metadata(io.BytesIO(data)) if ending == ".parquet" else {}
    name = chance.choice(("type", "type", "type", "lost", "rename", "rows", "null", "metadata"))
    column = chance.choice(frame.columns) if frame.columns else ""
    if name == "type" and column:
        values = chance.choice(_odd_columns(frame.height))
        frame = frame.with_columns(values.alias(column))
    elif name == "lost" and column:
        frame = frame.drop(column)
    elif name == "rename" and column:
        frame = frame.rename({column: chance.choice(("x", "", "\x1b[31m", column.upper(), "list"))})
    elif name == "rows":
        frame = chance.choice((frame.head(0), frame.select([]), pl.concat([frame] * 3)))
    elif name == "null" and column:
        gone = pl.int_range(pl.len()) % chance.choice((1, 5)) == 0
        frame = frame.with_columns(pl.when(~gone).then(pl.col(column)).alias(column))
    elif metadata:
        key = chance.choice([key for key in metadata if key != "ARROW:schema"] or ["x"])
        metadata[key] = chance.choice(("", "{", "[]", "null", "1", "[" * 5000, "{}", "\x00"))
    return f"columns {name}", _written(frame, ending, metadata)


def _written(frame: Any, ending: str, metadata: dict[str, str]) -> bytes:
    target = io.BytesIO()
    if ending == ".parquet":
        kept = {key: value for key, value in metadata.items() if key != "ARROW:schema"}
        frame.write_parquet(target, metadata=kept or None)
    else:
        frame.write_ipc(target)
    return target.getvalue()


def _odd_columns(height: int) -> list[Any]:
    import datetime
    from decimal import Decimal

    import polars as pl

    def same(value: Any, kind: Any = None) -> Any:
        return pl.Series("x", [value] * height, dtype=kind, strict=False)

    return [
        same(None, pl.Null), same(float("nan")), same(float("inf")), same(-(2**62)),
        same(2**63, pl.UInt64), same(""), same("\x00"), same("\x1b[31m"), same(b"\xff\x00"),
        same([1, 2]), same([], pl.List(pl.Int64)), same({"a": 1}), same([{"item": 1}]),
        same(True), same(datetime.date(1, 1, 1)), same(datetime.timedelta(days=9)),
        same(datetime.time(1, 2)), same(Decimal("1.5")), same("a", pl.Categorical),
        same("a", pl.Enum(["a"])), same([1.0, 2.0], pl.Array(pl.Float64, 2)), same(1e308),
        same(1e-320), same([[1]]), same(datetime.datetime(9999, 12, 31)),
    ]  # fmt: skip
