"""Paths: which kind of file or folder it is, and what says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rectitude.data.columns import Wanted
from rectitude.data.formats import FORMATS, format_named, recognised
from rectitude.data.formats.file import READ, File, opened, require_text
from rectitude.data.formats.folders import open_folder
from rectitude.data.formats.separated import read_sniffed
from rectitude.data.source import Source
from rectitude.errors import UnreadableFile


def open_file(path: Path, want: Wanted) -> Source:
    """A file as a source. Its content says what it is; its name only helps; `form` decides."""
    if path.is_dir():
        source, reason = open_folder(path)
        return replace(source, recognised=reason)
    if want.form:
        form, file = format_named(want.form, "format="), opened(path)
        if form.nature == "text":
            require_text(file)
        return _told(form.read(file, want), want.form, "as was said")
    file = opened(path)
    name, reason = _guessed(file, want)
    # Where nobody names the separator, the first line does.
    read = read_sniffed if name in ("csv", "tsv") else FORMATS[name].read
    return _told(read(file, want), name, reason)


def _guessed(file: File, want: Wanted) -> tuple[str, str]:
    """Formats of bytes are tried before any text is looked at."""
    for name, form in FORMATS.items():
        if form.nature != "binary":
            continue
        reason = form.sniff(file, want.what)
        if reason is not None:
            return name, reason
    require_text(file)
    found = recognised(file, want.what)
    if found is None:
        raise UnreadableFile(f"{file.path} is of no known format.", READ)
    return found


def _told(source: Source, name: str, reason: str) -> Source:
    details = f"; {source.recognised}" if source.recognised else ""
    return replace(source, recognised=f"{name} ({reason}{details})")
