"""Separated text: csv, tsv, files without a header, MovieLens' `::`, RecBole's typed headers.

Ids stay text, so "007" survives, unless all of them are plain integers. Polars parses the file at
full speed. If it fails, the lines are checked one by one and the error names the first wrong line.
Files that are unusual but correct are then read by a slower parser.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.data.columns import KEPT_WHOLE, POSITIONS, TYPED, WantedColumns, matches
from rectitude.data.formats.file import HEAD, File, FileContent, not_text, write_bytes
from rectitude.data.formats.fit import require_plain
from rectitude.data.ids import whole_numbers
from rectitude.data.table import Source, SourceParts
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
_WITH_COMMAS = (
    "write the numbers with points, or pass the frame: pd.read_csv(path, sep={separator!r},"
    " decimal=',')."
)
_NO_HEADER = (
    "if the file has no header: {wrapper}(path, format='headerless'), or headerless:{file} on the"
    " command line."
)


def read_separated(
    file: File, want: WantedColumns, separator: str = "", header: Header = "guessed"
) -> Source:
    """Read text in columns; the first line shows the separator and whether there is a header."""
    path, lines = file.path, file.start
    first_line = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first_line is None:
        raise UnreadableFile(
            f"{path} contains only blank lines.",
            "a table, with or without a header.",
            "write or download it again.",
        )
    separator = separator or file.separator
    fields = fields_of(lines[first_line], separator)
    has_header = header == "first line" or (header == "guessed" and _is_header(fields, want))
    names = fields if has_header else [f"column {position + 1}" for position in range(len(fields))]
    text = Text(
        path, file.data, names, separator, first_line + has_header, late=first_line > 0,
        whole=want.what in KEPT_WHOLE, loose=separator == " ",
    )  # fmt: skip
    roles = dict(zip(POSITIONS[want.what], names, strict=False))
    word = _WORDS.get(separator, repr(separator))
    source = Source(
        path.name, names, partial(parse, text), None if has_header else roles, text=True,
        hint=_NO_HEADER.format(wrapper=want.wrapper, file=path.name) if has_header else "",
        recognised=f"separated by {word}, {'with' if has_header else 'without'} a header",
    )  # fmt: skip
    return replace(source, parts=_parts_of(text, source)) if file.data is None else source


def _parts_of(text: Text, source: Source) -> SourceParts:
    """Return how to read a text file piece by piece, cut at the ends of lines."""
    with text.open() as file:
        head = file.read(HEAD)
    length = max(len(head) // max(head.count(b"\n"), 1), 1)

    def each(rows: int) -> Iterator[Source]:
        number = 0
        for data in _cut_lines(text, rows * length):
            skip = text.skip if number == 0 else 0
            part = replace(text, data=data, skip=skip, late=text.late and not number, before=number)
            yield replace(source, take=partial(parse, part))
            number += data.count(b"\n")

    return SourceParts(text.path.stat().st_size // length, each)


def _cut_lines(text: Text, size: int) -> Iterator[bytes]:
    """Yield the bytes of a text in pieces of about this size, each of whole lines.

    A line break inside quotes does not end a line: an odd number of quotes comes before it.
    """
    quote, rest = (text.quote or "").encode(), b""
    with text.open() as file:
        while block := file.read(size):
            data = rest + block
            end = data.rfind(b"\n") + 1
            while quote and end and data.count(quote, 0, end) % 2:
                end = data.rfind(b"\n", 0, end - 1) + 1
            rest = data[end:]
            if end:
                yield data[:end]
    if rest:
        yield rest


def read_csv(file: File, want: WantedColumns) -> Source:
    """Read text separated by commas, semicolons or pipes (|); if csv was named, by nothing else."""
    line = file.lines[0] if file.lines else ""
    return read_separated(file, want, max((",", ";", "|"), key=line.count) if want.form else "")


def read_tsv(file: File, want: WantedColumns) -> Source:
    """Read text separated by tabs, even if its name says otherwise."""
    return read_separated(file, want, "\t")


def read_headerless(file: File, want: WantedColumns) -> Source:
    """Read separated text without a header."""
    return read_separated(file, want, header="none")


def by_position(*roles: str) -> Callable[[File, WantedColumns], Source]:
    """Return a reader for text without a header whose columns have these roles, in order.

    The column `list` is the basket or session. If the list key is the user, the user column is
    used instead.
    """

    def read(file: File, want: WantedColumns) -> Source:
        source = read_separated(file, want, header="none")
        role_columns = dict(zip(roles, source.names, strict=False))
        if "user" in role_columns and not want.keyed:
            role_columns["list"] = role_columns.pop("user")
        if want.what != "log":
            role_columns.pop("timestamp", None)
        return replace(source, roles=role_columns)

    return read


def read_movielens(file: File, want: WantedColumns) -> Source:
    """Read MovieLens' ratings.dat: user::item::rating::timestamp. Lines keep their numbers."""
    data = file.content.replace(COLONS.encode(), b"\t")
    tabbed = replace(file, data=data, head=data[: len(file.head)])
    opened = read_separated(tabbed, want, "\t", "none")
    return replace(opened, recognised="without a header")


def read_recbole(file: File, want: WantedColumns) -> Source:
    """Read an atomic file of RecBole (.inter, .user, .item), whole or split (name.train.inter)."""
    if not read_typed_fields(file):
        first = file.lines[0] if file.lines else ""
        raise BadTable(
            f"{file.path.name} has the header {first!r:.80}.",
            "names with types, separated by tabs, such as user_id:token and rating:float.",
            "fix the header, or leave out the format.",
        )
    return read_separated(file, want, "\t", "first line")


def read_typed_fields(file: File) -> list[str]:
    """Return the names of a header if all have types, such as user_id:token, otherwise none."""
    fields = fields_of(file.lines[0], "\t") if file.lines else []
    return fields if len(fields) > 1 and all(map(TYPED.search, fields)) else []


def fields_of(line: str, separator: str) -> list[str]:
    """Return the fields of one line."""
    if separator == " ":
        return line.split()
    return [field.strip() for field in next(csv.reader([line], delimiter=separator))]


def _is_header(fields: Sequence[str], want: WantedColumns) -> bool:
    """Whether a line is a header: it contains the name of a role, or no number at all."""
    chosen = [name for name in fields if name in want.named.values()]
    if chosen or any(matches(fields, role, want) for role in ("list", "user", "item", "weight")):
        return True
    return not any(
        field.strip() and (is_number([field]) or has_decimal_comma(field)) for field in fields
    )


def write_separated(
    content: FileContent, path: Path, *, separator: str = ",", header: bool = True
) -> Mapping[Path, Write]:
    """Write rows as text, compressed if the file name asks for it."""
    raw = content.frame.write_csv(separator=separator, include_header=header).encode()
    return write_bytes(raw, path)


def write_movielens(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write lines of user::item::rating[::timestamp]."""
    require_plain(content.frame, r'[:"\s]', "a file separated by '::'")
    raw = content.frame.write_csv(separator="\t", include_header=False)
    return write_bytes(raw.replace("\t", COLONS).encode(), path)


# from text to columns


@dataclass(frozen=True, slots=True)
class Text:
    """A text file, and how its lines split into fields."""

    path: Path
    data: bytes | None
    """The content, if it differs from the file: decompressed, or with single spaces."""
    names: Sequence[str]
    separator: str = ","
    skip: int = 0
    """Lines before the first row, including the header."""
    loose: bool = False
    """Whether any number of spaces and tabs separates two fields, so no field is empty."""
    late: bool = False
    """Whether blank lines come first; Polars releases differ in whether skipping counts them."""
    quote: str | None = '"'
    comment: str | None = None
    whole: bool = False
    """Whether to read all columns; those besides the ids get the type that their values suggest."""
    layout: str = ""
    """The fields of a line in words, if the format defines them."""
    rest: Rest = "refused"
    """What happens to fields beyond the names."""
    ids: Ids = "integers or text"
    """The type of ids; they become integers only if all of them are plain integers."""
    before: int = 0
    """The lines of the file before these, if they are a part of it."""

    @property
    def content(self) -> NDArray[np.uint8]:
        """The bytes of the text, without a copy."""
        size = self.path.stat().st_size if self.data is None else len(self.data)
        if not size:
            return np.empty(0, np.uint8)
        data = np.memmap(self.path, np.uint8, "r") if self.data is None else self.data
        return np.frombuffer(data, np.uint8)

    def open(self) -> BinaryIO:
        """Open the bytes of the text, from the file or from memory."""
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)


def parse(text: Text, chosen: Mapping[str, str]) -> pl.DataFrame:
    """Return the chosen columns: numbers, ids as written, timestamps as integers or text."""
    positions = {new: list(text.names).index(name) for new, name in chosen.items()}
    numbers = {} if text.whole else {role: positions[role] for role in NUMBERS if role in positions}
    kinds = {positions[role]: pl.Int64() if role == "rank" else pl.Float64() for role in numbers}
    integers = {} if text.whole or text.ids == "text" else _find_integer_columns(text, positions)
    frame = _read_quickly(text, positions, kinds | integers) if integers else None
    frame = _read_quickly(text, positions, kinds) if frame is None else frame
    if frame is not None:
        _refuse_zeros(text, frame)
    if frame is None and text.loose:
        return parse(_single_spaced(text), chosen)
    if frame is None:
        check_lines(text, numbers)
        return _read_slowly(text, positions, numbers)
    if frame[_polars_name(len(text.names) - 1)].null_count():
        check_lines(text, numbers)
    if "score" in numbers and _largest_magnitude(frame[_polars_name(positions["score"])]) >= EXACT:
        return _read_slowly(text, positions, numbers)
    return (
        _pick_columns(frame, positions)
        if not text.whole
        else _guess_types(_pick_columns(frame, positions))
    )


def _refuse_zeros(text: Text, frame: pl.DataFrame) -> None:
    """Raise an error if a text contains a zero byte; numbers that were read have none."""
    if pl.String not in frame.dtypes:
        return
    offset = 0
    with text.open() as file:
        while block := file.read(_BLOCK):
            if b"\0" in block:
                raise not_text(text.path, offset + block.index(b"\0"))
            offset += len(block)


def _find_integer_columns(text: Text, columns: Mapping[str, int]) -> dict[int, pl.DataType]:
    """Return the columns of ids and timestamps that start with integers.

    Return none unless all integers in the text are plain.
    """
    content = text.content
    lines = _first_lines(content, text.skip + 1)
    skipped = sum(len(line) + 1 for line in lines[: text.skip])
    candidates = [columns[role] for role in (*IDS, "timestamp") if role in columns]
    # Text that starts with blank lines has no sample.
    sample = _read_quickly(replace(text, data=b"\n".join(lines)), columns, {})
    if sample is None or sample.is_empty():
        return {}
    integers = [
        position
        for position in candidates
        if whole_numbers(sample[_polars_name(position)]) is not None
    ]
    all_plain = bool(integers) and is_plain(content[skipped:], text.separator)
    return dict.fromkeys(integers, pl.Int64()) if all_plain else {}


def _first_lines(content: Bytes, least: int) -> list[bytes]:
    """Return the whole lines among the first bytes, or among more bytes if these are too few."""
    size = HEAD
    while True:
        lines = content[:size].tobytes().split(b"\n")
        if content.size > size:
            lines.pop()
        if len(lines) >= least or content.size <= size:
            return lines
        size *= 2


def _read_quickly(
    text: Text, positions: Mapping[str, int], types: Mapping[int, pl.DataType]
) -> pl.DataFrame | None:
    """Read the columns with Polars; return None if it fails or is not safe."""
    # Always read the last column: otherwise Polars does not notice lines that are too long.
    # Read all columns of loose text: an extra space shows up as an empty field in any of them.
    last = len(text.names) - 1
    needed = range(last + 1) if text.loose else sorted({*positions.values(), last})
    try:
        frame = None if text.late else _read_rows(text, needed, types)
    except pl.exceptions.PolarsError:
        return None
    if frame is not None and text.loose and any(column.null_count() for column in frame):
        return None
    return frame


def _read_rows(
    text: Text, positions: Iterable[int], types: Mapping[int, pl.DataType]
) -> pl.DataFrame:
    frame = pl.read_csv(
        text.path if text.data is None else text.data,
        has_header=False,
        skip_rows=text.skip,
        separator=text.separator,
        quote_char=text.quote,
        comment_prefix=text.comment,
        columns=[_polars_name(position) for position in positions],
        schema={
            _polars_name(position): types.get(position, pl.String())
            for position in range(len(text.names))
        },
        raise_if_empty=False,
        glob=False,
    )
    blank = pl.all_horizontal(pl.all().is_null())
    return frame.filter(~blank) if frame[:, 0].null_count() else frame


def _polars_name(position: int) -> str:
    """Return the name that Polars gives to a column without a name."""
    return f"column_{position + 1}"


def _pick_columns(frame: pl.DataFrame, positions: Mapping[str, int]) -> pl.DataFrame:
    return frame.select(
        frame[_polars_name(position)].alias(new) for new, position in positions.items()
    )


def _largest_magnitude(column: pl.Series) -> float:
    finite = column.filter(column.is_finite())
    return float(finite.abs().max() or 0)  # type: ignore[arg-type]


def _guess_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert columns besides the ids to numbers if every value is a number."""

    def guess(column: pl.Series) -> pl.Series:
        for dtype in (pl.Int64, pl.Float64):
            number = column.cast(dtype, strict=False)
            if number.null_count() == column.null_count():
                return number
        return column

    return frame.with_columns(guess(frame[name]) for name in frame.columns if name not in IDS)


# line by line


def check_lines(text: Text, numbers: Mapping[str, int]) -> None:
    """Raise an error for the first wrong line, if there is one."""
    width = len(text.names)
    for number, fields in _split_lines(text):
        wrong = [
            role
            for role, position in numbers.items()
            if not is_number(fields[position : position + 1])
        ]
        advice = "fix this line."
        if len(fields) != width:
            problem = f"{len(fields)} fields"
            expected = text.layout or f"{width} fields, as in the first line."
        elif wrong:
            value = fields[numbers[wrong[0]]]
            problem, expected = f"{value!r} for the {wrong[0]}", "a number."
            if has_decimal_comma(value):
                expected = "a number with a decimal point, not a comma."
                advice = _WITH_COMMAS.format(separator=text.separator)
        else:
            continue
        line = text.separator.join(fields)
        raise BadTable(
            f"{text.path.name}, line {number} has {problem}: {line!r:.200}", expected, advice
        )


def has_decimal_comma(field: str) -> bool:
    """Whether a field is a number such as 1,5."""
    return re.fullmatch(r"[+-]?\d+,\d+", field.strip()) is not None


def is_number(fields: Sequence[str]) -> bool:
    """Whether every field is empty or a number."""
    try:
        for field in fields:
            float(field.strip() or 0)
    except ValueError:
        return False
    return not any("_" in field for field in fields)


def _split_lines(text: Text) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of every line with a row."""
    lines = utf8_lines(text)
    for _ in range(text.skip):
        next(lines, None)
    reader = csv.reader(lines, delimiter=text.separator, quotechar=text.quote)
    try:
        for fields in reader:
            comment = text.comment and fields and fields[0].startswith(text.comment)
            if any(fields) and not comment:
                yield text.before + text.skip + reader.line_num, fields
    except csv.Error as error:  # a carriage return inside a line, or an unclosed quote
        raise BadTable(
            f"{text.path.name}, line {text.before + text.skip + reader.line_num} cannot be split "
            f"({error}).",
            "fields without line breaks, or in quotes.",
            "fix this line.",
        ) from error


def utf8_lines(text: Text) -> Iterator[str]:
    """Yield the lines of the file; raise an error at the first byte that is not text."""
    offset = 0
    with text.open() as file:
        for number, line in enumerate(file, 1):
            if b"\0" in line:
                raise not_text(text.path, offset + line.index(b"\0"))
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
    """Return the text with one space between fields; every line keeps its number."""
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


def _read_slowly(
    text: Text, positions: Mapping[str, int], numbers: Mapping[str, int]
) -> pl.DataFrame:
    """Read a correct file that Polars cannot parse directly.

    Reasons are blank lines, spaces around numbers, and integers too large for a float.
    """
    rows = [fields for _, fields in _split_lines(text)]
    columns = {
        new: pl.Series(new, [row[position] or None for row in rows], dtype=pl.String)
        for new, position in positions.items()
    }
    typed = [
        _parse_numbers(column) if new in numbers else column for new, column in columns.items()
    ]
    return _guess_types(pl.DataFrame(typed)) if text.whole else pl.DataFrame(typed)


def _parse_numbers(column: pl.Series) -> pl.Series:
    """Return text as integers if all of it is, otherwise as floats; all of it is numeric here."""
    stripped = column.str.strip_chars()
    integers = stripped.cast(pl.Int64, strict=False)
    if integers.null_count() == stripped.null_count():
        return integers
    return pl.Series(column.name, [float(value) if value else None for value in stripped])


# Polars parses `07`, `+7` and ` 7` as the integer 7, but as ids they differ from 7. One pass over
# the bytes checks whether a text contains any of these.


_BLOCK = 1 << 20  # with smaller blocks, threads wait for each other
_LOOKAHEAD = 4
"""How many bytes from the start of a field show whether it is odd."""
_PADDING = b"\n" * _LOOKAHEAD
_ASCII = 128
_MINUS, _POINT, _ZERO, _NEWLINE, _RETURN = b"-.0\n\r"


def is_plain(content: Bytes, separator: str) -> bool:
    """Whether all integers are plain: no quotes, spaces, plus signs, `-0` or leading zeros.

    `-0.5` is allowed. A carriage return inside a line is not. The content must start with a field.
    """
    if (content[:1] >= _ASCII).any():  # possibly a byte order mark
        return False
    signs = [ord(byte) for byte in '+" \t' if byte != separator]
    results: list[bool] = []

    def inspect(piece: Bytes) -> None:
        results.append(_has_odd_field(piece, ord(separator), signs))

    def inspect_blocks(first: int, last: int) -> None:
        for low in range(first, last, _BLOCK):
            inspect(content[low : min(low + _BLOCK, last) + _LOOKAHEAD])

    inspect(np.frombuffer(b"\n" + content[:_LOOKAHEAD].tobytes() + _PADDING, np.uint8))
    inspect(np.frombuffer(content[-_LOOKAHEAD:].tobytes() + _PADDING, np.uint8))
    in_blocks(inspect_blocks, max(content.size - _LOOKAHEAD, 0), _BLOCK)
    return not any(results)


def _has_odd_field(content: Bytes, separator: int, signs: Sequence[int]) -> bool:
    """Whether a field that starts before the last few bytes is not plain."""
    previous, following = content[:-_LOOKAHEAD], content[1 : 1 - _LOOKAHEAD]
    returns = previous == _RETURN
    if returns.any() and (following[returns] != _NEWLINE).any():
        return True
    begins = previous == separator
    begins |= previous == _NEWLINE
    begins &= following <= _ZERO  # only bytes up to "0" can make a field odd
    first_byte, second_byte, third_byte = (
        content[np.flatnonzero(begins) + offset] for offset in (1, 2, 3)
    )
    odd_zero = (first_byte == _ZERO) & (second_byte >= _ZERO) & (second_byte <= _ZERO + 9)
    odd_zero |= (first_byte == _MINUS) & (second_byte == _ZERO) & (third_byte != _POINT)
    return bool(odd_zero.any() or any((first_byte == byte).any() for byte in signs))
