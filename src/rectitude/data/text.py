"""Separated text: what its lines look like, and its columns as a frame.

Polars parses the file at full speed. If it meets trouble, the lines are gone through one by one to
say which of them is wrong; files that are merely odd are then read with patience.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import numpy as np

from rectitude.data.ids import whole_numbers
from rectitude.data.plainly import written_plainly
from rectitude.data.values import EXACT, IDS, NUMBERS
from rectitude.errors import BadTable, UnreadableFile

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


Rest = Literal["refused", "ignored"]
Ids = Literal["text", "integers or text"]
_HEAD = 1 << 16
"""Bytes that tell which columns hold integers."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text file, and how its lines split into fields."""

    path: Path
    data: bytes | None
    """The content if it is not the file as it is: decompressed, or with single spaces."""
    names: Sequence[str]
    separator: str = ","
    skip: int = 0
    """Lines before the first row, the header included."""
    loose: bool = False
    """Any number of spaces and tabs stands between two fields, so that none is empty."""
    late: bool = False
    """Blank lines come first; releases of Polars differ in whether skipping counts them."""
    quote: str | None = '"'
    comment: str | None = None
    whole: bool = False
    """All columns are wanted: those beside the ids take the type that their values suggest."""
    layout: str = ""
    """What a line must hold, in words, where the format says so."""
    rest: Rest = "refused"
    """What happens to fields beyond the names."""
    ids: Ids = "integers or text"
    """What ids are; integers only if all of them are written the plain way."""

    @property
    def content(self) -> NDArray[np.uint8]:
        """The bytes of the text, not copied."""
        size = self.path.stat().st_size if self.data is None else len(self.data)
        if not size:
            return np.empty(0, np.uint8)
        data = np.memmap(self.path, np.uint8, "r") if self.data is None else self.data
        return np.frombuffer(data, np.uint8)

    def open(self) -> BinaryIO:
        """The bytes of the text, from the file or from memory."""
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)


def parse(text: Text, chosen: Mapping[str, str]) -> pl.DataFrame:
    """The chosen columns: numbers as numbers, ids as they are written, timestamps as integers or as
    text."""
    import polars as pl

    at = {new: list(text.names).index(name) for new, name in chosen.items()}
    numbers = {} if text.whole else {role: at[role] for role in NUMBERS if role in at}
    kinds = {at[role]: pl.Int64() if role == "rank" else pl.Float64() for role in numbers}
    whole = {} if text.whole or text.ids == "text" else _integers(text, at)
    frame = _quickly(text, at, kinds | whole) if whole else None
    frame = _quickly(text, at, kinds) if frame is None else frame
    if frame is None and text.loose:
        return parse(_single_spaced(text), chosen)
    if frame is None:
        check_lines(text, numbers)
        return _patiently(text, at, numbers)
    if frame[_column(len(text.names) - 1)].null_count():
        check_lines(text, numbers)
    if "score" in numbers and _largest(frame[_column(at["score"])]) >= EXACT:
        return _patiently(text, at, numbers)
    return _picked(frame, at) if not text.whole else _guessed(_picked(frame, at))


def check_lines(text: Text, numbers: Mapping[str, int]) -> None:
    """Raise the error for the first line that is wrong, if one is."""
    width = len(text.names)
    for number, fields in _lines(text):
        wrong = [
            role for role, place in numbers.items() if not is_number(fields[place : place + 1])
        ]
        if len(fields) != width:
            what = f"{len(fields)} fields"
            expected = text.layout or f"{width} fields, as in the first line."
        elif wrong:
            what = f"{fields[numbers[wrong[0]]]!r} for the {wrong[0]}"
            expected = "a number."
        else:
            continue
        line = text.separator.join(fields)
        raise BadTable(f"{text.path.name}, line {number} has {what}: {line!r:.200}", expected,
                       "fix this line.")  # fmt: skip


def is_number(fields: Sequence[str]) -> bool:
    """Whether every field is empty or a number."""
    try:
        for field in fields:
            float(field.strip() or 0)
    except ValueError:
        return False
    return not any("_" in field for field in fields)


def utf8_lines(text: Text) -> Iterator[str]:
    """The lines of the file, or the error that says where it is not UTF-8."""
    offset = 0
    with text.open() as file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise _not_utf8(text, number, offset + error.start) from None
            offset += len(line)


def _not_utf8(text: Text, line: int, byte: int) -> UnreadableFile:
    return UnreadableFile(
        f"{text.path} is not UTF-8 (line {line}, byte {byte}).",
        "text in UTF-8.",
        "convert it, for example with: iconv -f latin1 -t utf-8",
    )


def _single_spaced(text: Text) -> Text:
    """The text with one space between fields; every line keeps its number."""
    with text.open() as file:
        data = file.read()
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(text, data.count(b"\n", 0, error.start) + 1, error.start) from None
    data = data.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    data = data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    if text.rest == "ignored":
        width = len(text.names)
        data = b"\n".join(b" ".join(line.split(b" ", width)[:width]) for line in data.split(b"\n"))
    return replace(text, data=data, separator=" ", loose=False)


def _lines(text: Text) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of every line that holds a row."""
    lines = utf8_lines(text)
    for _ in range(text.skip):
        next(lines, None)
    reader = csv.reader(lines, delimiter=text.separator, quotechar=text.quote)
    try:
        for fields in reader:
            comment = text.comment and fields and fields[0].startswith(text.comment)
            if any(fields) and not comment:
                yield text.skip + reader.line_num, fields
    except csv.Error as error:  # a carriage return inside a line, or a field without end
        raise BadTable(
            f"{text.path.name}, line {text.skip + reader.line_num} cannot be split ({error}).",
            "fields that hold no line breaks, or stand in quotes.",
            "fix this line.",
        ) from error


def _column(place: int) -> str:
    """The name that Polars gives to a column without one."""
    return f"column_{place + 1}"


def _quickly(
    text: Text, at: Mapping[str, int], types: Mapping[int, pl.DataType]
) -> pl.DataFrame | None:
    """The columns as Polars reads them; None if it cannot, or not safely."""
    import polars as pl

    # The last column is read always: only with it does Polars notice lines that are too long.
    # Loose text is read whole: a space too many shows as an empty field, wherever it is.
    last = len(text.names) - 1
    places = range(last + 1) if text.loose else sorted({*at.values(), last})
    try:
        frame = None if text.late else _rows(text, places, types)
    except pl.exceptions.PolarsError:
        return None
    if frame is not None and text.loose and any(column.null_count() for column in frame):
        return None
    return frame


def _integers(text: Text, at: Mapping[str, int]) -> dict[int, pl.DataType]:
    """The columns of ids and timestamps that begin with integers, in a text that has all its
    integers written the plain way."""
    import polars as pl

    content = text.content
    lines = content[:_HEAD].tobytes().split(b"\n")
    if content.size > _HEAD:
        lines.pop()
    before = sum(len(line) + 1 for line in lines[: text.skip])
    places = [at[role] for role in (*IDS, "timestamp") if role in at]
    first = _quickly(replace(text, data=b"\n".join(lines)), at, {})  # of late text nothing is told
    if first is None or first.is_empty():
        return {}
    integers = [place for place in places if whole_numbers(first[_column(place)]) is not None]
    plain = bool(integers) and written_plainly(content[before:], text.separator)
    return dict.fromkeys(integers, pl.Int64()) if plain else {}


def _rows(text: Text, places: Iterable[int], types: Mapping[int, pl.DataType]) -> pl.DataFrame:
    import polars as pl

    frame = pl.read_csv(
        text.path if text.data is None else text.data,
        has_header=False,
        skip_rows=text.skip,
        separator=text.separator,
        quote_char=text.quote,
        comment_prefix=text.comment,
        columns=[_column(place) for place in places],
        schema={_column(p): types.get(p, pl.String()) for p in range(len(text.names))},
        raise_if_empty=False,
        glob=False,
    )
    blank = pl.all_horizontal(pl.all().is_null())
    return frame.filter(~blank) if frame[:, 0].null_count() else frame


def _patiently(text: Text, at: Mapping[str, int], numbers: Mapping[str, int]) -> pl.DataFrame:
    """The columns of a file without faults that Polars does not read at once.

    Blank lines in odd places, spaces around numbers, integers too large for a float.
    """
    import polars as pl

    rows = [fields for _, fields in _lines(text)]
    columns = {
        new: pl.Series(new, [row[place] or None for row in rows], dtype=pl.String)
        for new, place in at.items()
    }
    typed = [_from_text(column) if new in numbers else column for new, column in columns.items()]
    return _guessed(pl.DataFrame(typed)) if text.whole else pl.DataFrame(typed)


def _from_text(column: pl.Series) -> pl.Series:
    """Text as integers if all of it is, else as floats; what is no number was refused before."""
    import polars as pl

    bare = column.str.strip_chars()
    whole = bare.cast(pl.Int64, strict=False)
    if whole.null_count() == bare.null_count():
        return whole
    return pl.Series(column.name, [float(value) if value else None for value in bare])


def _guessed(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns beside the ids, as numbers where every value is one."""
    import polars as pl

    def guess(column: pl.Series) -> pl.Series:
        for dtype in (pl.Int64, pl.Float64):
            number = column.cast(dtype, strict=False)
            if number.null_count() == column.null_count():
                return number
        return column

    return frame.with_columns(guess(frame[name]) for name in frame.columns if name not in IDS)


def _picked(frame: pl.DataFrame, at: Mapping[str, int]) -> pl.DataFrame:
    return frame.select(frame[_column(place)].alias(new) for new, place in at.items())


def _largest(column: pl.Series) -> float:
    finite = column.filter(column.is_finite())
    return float(finite.abs().max() or 0)  # type: ignore[arg-type]
