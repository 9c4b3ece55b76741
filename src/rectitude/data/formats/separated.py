"""Separated text: csv, tsv, files without a header, MovieLens' `::`, RecBole's typed headers.

Ids stay the text they are, so that "007" survives, unless all of them are integers written the
plain way. Polars parses the file at full speed. If it meets trouble, the lines are gone through one
by one to say which of them is wrong; files that are merely odd are then read with patience.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.data.columns import KEPT_WHOLE, POSITIONS, TYPED, WantedColumns, matches
from rectitude.data.formats.file import HEAD, File, FileContent, write_bytes
from rectitude.data.formats.fit import require_plain
from rectitude.data.ids import whole_numbers
from rectitude.data.table import Source
from rectitude.data.values import EXACT, IDS, NUMBERS
from rectitude.errors import BadTable, UnreadableFile
from rectitude.parallel import in_blocks
from rectitude.storage import Write

Header = Literal["guessed", "none", "first line"]
Rest = Literal["refused", "ignored"]
Ids = Literal["text", "integers or text"]
Bytes = NDArray[np.uint8]
COLONS = "::"
_WORDS = {"\t": "tabs", " ": "spaces", ",": "commas"}
_NO_HEADER = (
    "if the file has no header: rt.Interactions(path, format='headerless'), or first"
    " rectitude convert --from headerless."
)


def read_separated(
    file: File, want: WantedColumns, separator: str = "", header: Header = "guessed"
) -> Source:
    """Text in columns; the first line says what separates them, and whether it is a header."""
    path, lines = file.path, file.start
    before = next((number for number, line in enumerate(lines) if line.strip()), None)
    if before is None:
        raise UnreadableFile(f"{path} holds no lines.", "a table, with or without a header.")
    separator = separator or file.separator
    first = fields_of(lines[before], separator)
    named = header == "first line" or (header == "guessed" and _is_header(first, want))
    names = first if named else [f"column {place + 1}" for place in range(len(first))]
    text = Text(
        path, file.data, names, separator, before + named, late=before > 0,
        whole=want.what in KEPT_WHOLE, loose=separator == " ",
    )  # fmt: skip
    places = dict(zip(POSITIONS[want.what], names, strict=False))
    word = _WORDS.get(separator, repr(separator))
    return Source(
        path.name, names, partial(parse, text), None if named else places, text=True,
        hint=_NO_HEADER if named else "",
        recognised=f"separated by {word}, {'with' if named else 'without'} a header",
    )  # fmt: skip


def read_csv(file: File, want: WantedColumns) -> Source:
    """Text separated by commas, semicolons or bars; where it was named so, by nothing else."""
    line = file.lines[0] if file.lines else ""
    return read_separated(file, want, max((",", ";", "|"), key=line.count) if want.form else "")


def read_tsv(file: File, want: WantedColumns) -> Source:
    """Text separated by tabs, also where its name says otherwise."""
    return read_separated(file, want, "\t")


def read_headerless(file: File, want: WantedColumns) -> Source:
    """Separated text whose first line is a row like all others."""
    return read_separated(file, want, header="none")


def in_places(*roles: str) -> Callable[[File, WantedColumns], Source]:
    """Reads text without a header whose columns have these roles, in order.

    Where lists are users, the user is the key; the column list is that of a basket or session.
    """

    def read(file: File, want: WantedColumns) -> Source:
        source = read_separated(file, want, header="none")
        places = dict(zip(roles, source.names, strict=False))
        if "user" in places and not want.keyed:
            places["list"] = places.pop("user")
        if want.what != "log":
            places.pop("timestamp", None)
        return replace(source, roles=places)

    return read


def read_movielens(file: File, want: WantedColumns) -> Source:
    """MovieLens' ratings.dat: user::item::rating::timestamp. Lines keep their numbers."""
    data = file.content.replace(COLONS.encode(), b"\t")
    tabbed = replace(file, data=data, head=data[: len(file.head)])
    opened = read_separated(tabbed, want, "\t", "none")
    return replace(opened, recognised="without a header")


def read_recbole(file: File, want: WantedColumns) -> Source:
    """An atomic file of RecBole (.inter, .user, .item), whole or split (name.train.inter)."""
    if not typed_fields(file):
        first = file.lines[0] if file.lines else ""
        raise BadTable(
            f"{file.path.name} has the header {first!r:.80}.",
            "names with types and tabs between them, such as user_id:token and rating:float.",
        )
    return read_separated(file, want, "\t", "first line")


def typed_fields(file: File) -> list[str]:
    """The names of a header that all bear types, such as user_id:token; none of another header."""
    fields = fields_of(file.lines[0], "\t") if file.lines else []
    return fields if len(fields) > 1 and all(map(TYPED.search, fields)) else []


def fields_of(line: str, separator: str) -> list[str]:
    """The fields of one line."""
    if separator == " ":
        return line.split()
    return [field.strip() for field in next(csv.reader([line], delimiter=separator))]


def _is_header(fields: Sequence[str], want: WantedColumns) -> bool:
    """A header names a role; failing that, it is a line without any number."""
    named = [name for name in fields if name in want.named.values()]
    if named or any(matches(fields, role, want) for role in ("list", "user", "item", "weight")):
        return True
    return not any(field.strip() and is_number([field]) for field in fields)


def write_separated(
    content: FileContent, path: Path, *, separator: str = ",", header: bool = True
) -> Mapping[Path, Write]:
    """Rows as text, compressed if the name asks for it."""
    raw = content.frame.write_csv(separator=separator, include_header=header).encode()
    return write_bytes(raw, path)


def write_movielens(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """user::item::rating[::timestamp]."""
    require_plain(content.frame, r'[:"\s]', "a file separated by '::'")
    raw = content.frame.write_csv(separator="\t", include_header=False)
    return write_bytes(raw.replace("\t", COLONS).encode(), path)


# from text to columns


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


def _integers(text: Text, at: Mapping[str, int]) -> dict[int, pl.DataType]:
    """The columns of ids and timestamps that begin with integers, in a text that has all its
    integers written the plain way."""
    content = text.content
    lines = content[:HEAD].tobytes().split(b"\n")
    if content.size > HEAD:
        lines.pop()
    before = sum(len(line) + 1 for line in lines[: text.skip])
    places = [at[role] for role in (*IDS, "timestamp") if role in at]
    first = _quickly(replace(text, data=b"\n".join(lines)), at, {})  # of late text nothing is told
    if first is None or first.is_empty():
        return {}
    integers = [place for place in places if whole_numbers(first[_column(place)]) is not None]
    plain = bool(integers) and written_plainly(content[before:], text.separator)
    return dict.fromkeys(integers, pl.Int64()) if plain else {}


def _quickly(
    text: Text, at: Mapping[str, int], types: Mapping[int, pl.DataType]
) -> pl.DataFrame | None:
    """The columns as Polars reads them; None if it cannot, or not safely."""
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


def _rows(text: Text, places: Iterable[int], types: Mapping[int, pl.DataType]) -> pl.DataFrame:
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


def _column(place: int) -> str:
    """The name that Polars gives to a column without one."""
    return f"column_{place + 1}"


def _picked(frame: pl.DataFrame, at: Mapping[str, int]) -> pl.DataFrame:
    return frame.select(frame[_column(place)].alias(new) for new, place in at.items())


def _largest(column: pl.Series) -> float:
    finite = column.filter(column.is_finite())
    return float(finite.abs().max() or 0)  # type: ignore[arg-type]


def _guessed(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns beside the ids, as numbers where every value is one."""

    def guess(column: pl.Series) -> pl.Series:
        for dtype in (pl.Int64, pl.Float64):
            number = column.cast(dtype, strict=False)
            if number.null_count() == column.null_count():
                return number
        return column

    return frame.with_columns(guess(frame[name]) for name in frame.columns if name not in IDS)


# lines one by one


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


def _patiently(text: Text, at: Mapping[str, int], numbers: Mapping[str, int]) -> pl.DataFrame:
    """The columns of a file without faults that Polars does not read at once.

    Blank lines in odd places, spaces around numbers, integers too large for a float.
    """
    rows = [fields for _, fields in _lines(text)]
    columns = {
        new: pl.Series(new, [row[place] or None for row in rows], dtype=pl.String)
        for new, place in at.items()
    }
    typed = [_from_text(column) if new in numbers else column for new, column in columns.items()]
    return _guessed(pl.DataFrame(typed)) if text.whole else pl.DataFrame(typed)


def _from_text(column: pl.Series) -> pl.Series:
    """Text as integers if all of it is, else as floats; what is no number was refused before."""
    bare = column.str.strip_chars()
    whole = bare.cast(pl.Int64, strict=False)
    if whole.null_count() == bare.null_count():
        return whole
    return pl.Series(column.name, [float(value) if value else None for value in bare])


# Polars takes `07`, `+7` and ` 7` for 7 where it is asked for integers; as ids they differ. One
# pass over the bytes tells whether a text has any of these.


_BLOCK = 1 << 20  # threads that have less to do at a time wait for each other
_REST = 4
"""Bytes behind the beginning of a field, it included, that show whether it is odd."""
_PADDING = b"\n" * _REST
_ASCII = 128
_MINUS, _POINT, _ZERO, _NEWLINE, _RETURN = b"-.0\n\r"


def written_plainly(content: Bytes, separator: str) -> bool:
    """Whether no field begins with a quote, a space, a plus, `-0` (but `-0.5` may) or a zero before
    another digit, and no carriage return stands inside a line. The content begins with a field."""
    if (content[:1] >= _ASCII).any():  # a byte order mark, perhaps
        return False
    signs = [ord(byte) for byte in '+" \t' if byte != separator]
    odd: list[bool] = []

    def look(part: Bytes) -> None:
        odd.append(_odd(part, ord(separator), signs))

    def work(first: int, last: int) -> None:
        for low in range(first, last, _BLOCK):
            look(content[low : min(low + _BLOCK, last) + _REST])

    look(np.frombuffer(b"\n" + content[:_REST].tobytes() + _PADDING, np.uint8))
    look(np.frombuffer(content[-_REST:].tobytes() + _PADDING, np.uint8))
    in_blocks(work, max(content.size - _REST, 0), _BLOCK)
    return not any(odd)


def _odd(content: Bytes, separator: int, signs: Sequence[int]) -> bool:
    """Whether one of the fields is not written plainly that begin before the last few bytes."""
    before, first = content[:-_REST], content[1 : 1 - _REST]
    returns = before == _RETURN
    if returns.any() and (first[returns] != _NEWLINE).any():
        return True
    begins = before == separator
    begins |= before == _NEWLINE
    begins &= first <= _ZERO  # what is odd comes before the digits
    one, two, three = (content[np.flatnonzero(begins) + place] for place in (1, 2, 3))
    zero = (one == _ZERO) & (two >= _ZERO) & (two <= _ZERO + 9)
    zero |= (one == _MINUS) & (two == _ZERO) & (three != _POINT)
    return bool(zero.any() or any((one == byte).any() for byte in signs))
