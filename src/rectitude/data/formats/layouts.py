"""Libraries whose files are plain tables with names of their own for the columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rectitude.data.aliases import POSITIONS
from rectitude.data.columns import Wanted, listed
from rectitude.data.formats import columnar, jsons, separated
from rectitude.data.formats.file import PACKED, File, require_text
from rectitude.data.formats.format import Content, Kind
from rectitude.data.source import Source
from rectitude.errors import BadTable
from rectitude.storage import Write

Writer = Callable[[Content, Path], Mapping[Path, Write]]
TAB = "\t"


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of the columns of a library, and the kind of file that it uses by itself."""

    predictions: Mapping[str, str]
    truth: Mapping[str, str]
    separator: str = ","
    header: bool = True

    def names(self, kind: str) -> Mapping[str, str]:
        """Role -> column, for one kind of table."""
        return self.predictions if kind == "predictions" else self.truth

    def roles(self, kind: Kind) -> tuple[str, ...]:
        """The columns beside list and item."""
        return tuple(role for role in self.names(kind) if role not in ("list", "item"))


def _named(user: str, item: str, **others: str) -> dict[str, str]:
    return {"list": user, "item": item, **others}


PLAIN = Layout(
    _named("user", "item", score="score", rank="rank"),
    _named("user", "item", grade="grade", timestamp="timestamp"),
)
TSV = replace(PLAIN, separator=TAB)
BARE = replace(TSV, header=False)
RECBOLE = Layout(
    _named("user_id:token", "item_id:token", score="score:float"),
    _named("user_id:token", "item_id:token", grade="rating:float", timestamp="timestamp:float"),
    TAB,
)
ELLIOT = Layout(
    _named("userId", "itemId", score="score"),
    _named("userId", "itemId", grade="rating", timestamp="timestamp"),
    TAB,
    header=False,
)
SESSIONS = Layout({}, _named("session", "item", timestamp="timestamp"), TAB, header=False)
WARPREC = Layout(
    _named("user_id", "item_id", score="rating"),
    _named("user_id", "item_id", grade="rating", timestamp="timestamp"),
    TAB,
)
LENSKIT = Layout(
    _named("user_id", "item_id", score="score", rank="rank"),
    _named("user_id", "item_id", grade="rating", timestamp="timestamp"),
)
RECTOOLS = Layout(
    _named("user_id", "item_id", score="score", rank="rank"),
    _named("user_id", "item_id", grade="weight", timestamp="datetime"),
)
REPLAY = Layout(
    _named("query_id", "item_id", score="rating"),
    _named("query_id", "item_id", grade="rating", timestamp="timestamp"),
)
MICROSOFT = Layout(
    _named("userID", "itemID", score="prediction"),
    _named("userID", "itemID", grade="rating", timestamp="timestamp"),
)


def reader(layout: Layout) -> Callable[[File, Wanted], Source]:
    """Read a table whose columns bear the names of a library, whatever file it is in."""

    def read(file: File, want: Wanted) -> Source:
        container = _container(file) if layout.header else separated.read_headerless
        if container in (separated.read_headerless, separated.read_sniffed):
            require_text(file)
        source = container(file, want)
        return _imposed(source, layout, want) if layout.header else source

    return read


def writer(layout: Layout) -> Writer:
    """Write a table with the names of a library, in the kind of file that its ending names."""

    def write(content: Content, path: Path) -> Mapping[Path, Write]:
        names = layout.names(content.kind)
        frame = content.frame.rename({role: names[role] for role in content.frame.columns})
        renamed = replace(content, frame=frame)
        container = _writers().get(_suffix(path)) if layout.header else None
        if container is not None:
            return container(renamed, path)
        separator = {".tsv": TAB, ".csv": ","}.get(_suffix(path), layout.separator)
        return separated.write_separated(renamed, path, separator=separator, header=layout.header)

    return write


def write_recbole(content: Content, path: Path) -> Mapping[Path, Write]:
    """An atomic file: tabs always, whatever the name says."""
    names = RECBOLE.names(content.kind)
    frame = content.frame.rename({role: names[role] for role in content.frame.columns})
    return separated.write_separated(replace(content, frame=frame), path, separator=TAB)


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix.lower() in PACKED else path.suffix.lower()


def _container(file: File) -> Callable[[File, Wanted], Source]:
    """How the table is stored, as its content says."""
    kinds = {
        columnar.sniff_parquet: columnar.read_parquet,
        columnar.sniff_arrow: columnar.read_arrow,
        jsons.sniff_lines: jsons.read_lines,
    }
    found = (read for sniff, read in kinds.items() if sniff(file, "log"))
    return next(found, separated.read_sniffed)


def is_typed(path: Path) -> bool:
    """Whether columns have types in the kind of file that an ending stands for."""
    return _suffix(path) in _writers()


def _writers() -> dict[str, Writer]:
    parquet, arrow, lines = columnar.write_parquet, columnar.write_arrow, jsons.write_lines
    return {
        ".parquet": parquet, ".pq": parquet, ".arrow": arrow, ".feather": arrow, ".ipc": arrow,
        ".jsonl": lines, ".ndjson": lines,
    }  # fmt: skip


def _imposed(source: Source, layout: Layout, want: Wanted) -> Source:
    """The roles that the library gives to its columns, in place of what their names suggest."""
    names = layout.names(want.what)
    room = {*POSITIONS[want.what], "rank"} if want.what == "predictions" else POSITIONS[want.what]
    roles = {role: name for role, name in names.items() if role in room and name in source.names}
    missing = [names[role] for role in ("list", "item") if role in room and role not in roles]
    if missing:
        wanted = ", ".join(names.values())
        raise BadTable(
            f"{want.what} ({source.label}) has the columns {listed(source.names)}.",
            f"those of the format that was named: {wanted}.",
            "leave the format out, and columns are recognised by their names.",
        )
    return replace(source, roles=roles)
