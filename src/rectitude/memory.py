"""How much memory one input or result may take: a quarter of the machine, or what the user sets.

A file of a few kilobytes can ask for terabytes: zeros that were compressed, a header with an absurd
shape, a count with too many zeros. So the need is compared with this limit before anything is
allocated. Set the environment variable `RECTITUDE_MEMORY`, such as `8GB`, to change the limit.
"""

from __future__ import annotations

import io
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Protocol

from rectitude.errors import BadSetting, TooLarge

SETTING = "RECTITUDE_MEMORY"
_SHARE = 4
"""One part in this many of the machine's memory is the default limit."""
_UNITS = {
    "": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip
_UNKNOWN = 16 * 2**30
"""The memory of a machine that does not tell."""
_LEAST = 1 << 28
"""What a process with a limit may use at least: below it, nothing could be read."""
_SHARE_OF_LIMIT, _LEAST_WORKING = 16, 4 * 10**6
"""The share of a process's limit that tables may take, and what they may take at least. It is low:
Polars ends a process that goes beyond its limit."""
_KERNELS = 800_000_000
"""Bytes of address space that numba needs to compile a kernel, and a little more."""
_HARMLESS, _GROWTH = 256 * 10**6, 200
_PIECE = 1 << 20
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where a container states its limit, new and old."""


class Readable(Protocol):
    """What can be read piece by piece."""

    def read(self, size: int, /) -> bytes:
        """Return at most that many bytes, and none at the end."""


def memory_limit() -> int:
    """Return how many bytes one input or result may take."""
    setting = os.environ.get(SETTING, "")
    return parse_size(setting, SETTING) if setting else machine_memory() // _SHARE


def working_memory() -> int:
    """Return how many bytes tables may take while they are evaluated, before they are cut."""
    left = [limit - polars_reserves() for limit in _process_limits()]
    shares = [max(own // _SHARE_OF_LIMIT, _LEAST_WORKING) for own in left]
    return min([memory_limit(), *shares])


def expansion_limit(size: int) -> int:
    """Return how many bytes the content of a file of this size may expand to.

    Tables shrink 5 to 50 times when they are compressed. Unless the user sets the limit, a file
    that grows more than 200 times may therefore not take more than 256 MB.
    """
    limit = memory_limit()
    return limit if os.environ.get(SETTING) else min(limit, max(_HARMLESS, _GROWTH * size))


def require_memory(need: int, what: str, advice: str = "") -> None:
    """Raise an error if something would take more bytes than the limit; `what` is its subject."""
    if need > memory_limit():
        raise _too_large(f"{what} would take {in_units(need)} of memory.", need, None, advice)


def require_expansion(need: int, size: int, what: str) -> None:
    """Raise an error if a file of this size would expand to too many bytes."""
    if need > expansion_limit(size):
        found = f"{what} has {in_units(size)} and would expand to {in_units(need)}."
        raise _too_large(found, need, size)


def require_growth(need: int, size: int, what: str) -> None:
    """Raise an error if a file of this size would grow suspiciously.

    This is for tables with types, which are large in themselves: in proportion to their file, they
    may take more than a quarter of the machine.
    """
    if need > max(_HARMLESS, _GROWTH * size):
        require_expansion(need, size, what)


def read_within(stream: Readable, size: int, what: str) -> bytes:
    """Read all of a stream that expands a file of this size; raise an error if it is too much."""
    limit, content = expansion_limit(size), io.BytesIO()
    while piece := stream.read(_PIECE):
        content.write(piece)
        if content.tell() > limit:
            content.close()  # the error keeps this frame
            found = f"{what} has {in_units(size)} and expands to more than {in_units(limit)}."
            raise _too_large(found, 2 * limit, size)
    return content.getvalue()


def _too_large(found: str, need: int, size: int | None, advice: str = "") -> TooLarge:
    """Return the error for a need; `size` is that of the file, if a file expands."""
    limit = memory_limit() if size is None else expansion_limit(size)
    whose = "a quarter of the machine"
    if limit < memory_limit():
        whose = f"{_GROWTH} times the size of the file, but at least {in_units(_HARMLESS)}"
    whose = f"as set in {SETTING}" if os.environ.get(SETTING) else whose
    trust = "if you trust the file and the machine has the memory" if size is not None else (
        "if the machine has the memory"
    )  # fmt: skip
    return TooLarge(
        found,
        f"at most {in_units(limit)} ({whose}).",
        f"{advice + '; or, ' if advice else ''}{trust}, allow more in the environment:"
        f" {SETTING}={in_units(need, up=True)}",
    )


def in_units(size: int, up: bool = False) -> str:
    """Write a number of bytes in the largest unit below it, such as 1.5GB; `up` rounds it up."""
    unit = next((u for u in ("TB", "GB", "MB", "KB") if size >= _UNITS[u]), "B")
    tenths = (size * 10 + (_UNITS[unit] - 1 if up else _UNITS[unit] // 2)) // _UNITS[unit]
    return f"{tenths // 10}{f'.{tenths % 10}' if tenths % 10 else ''}{unit}"


def parse_size(text: str, what: str) -> int:
    """Return a number of bytes from a text such as 8GB; errors call it `what`."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?I?B?)\s*", text.upper())
    unit = match[2] if match else "?"
    factor = _UNITS.get(unit, _UNITS.get(f"{unit}B"))
    if match is None or factor is None:
        raise BadSetting(
            f"{what} is {text!r}.", "a number of bytes with a unit, such as 8GB or 500MB."
        )
    return int(float(match[1]) * factor)


@cache
def machine_memory() -> int:
    """Return the bytes of memory of the machine, or of a container or process with a limit."""
    names = getattr(os, "sysconf_names", {})
    known = {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= {*names}
    pages = os.sysconf("SC_PHYS_PAGES") if known else 0
    machine = pages * os.sysconf("SC_PAGE_SIZE") if pages > 0 else _UNKNOWN
    own = [max(limit - polars_reserves(), _LEAST) for limit in _process_limits()]
    return min([machine, *_container_limits(), *own])


def _container_limits() -> list[int]:
    texts = [Path(name).read_text("utf-8").strip() for name in _LIMITS if Path(name).exists()]
    return [int(text) for text in texts if text.isdecimal() and int(text) > 0]


def _process_limits() -> list[int]:
    if sys.platform == "win32":
        return []
    import resource  # noqa: PLC0415  (Windows has none)

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return [] if soft == resource.RLIM_INFINITY else [soft]


def polars_reserves() -> int:
    """Return the bytes of address space that Polars and its threads reserve, far more than they
    use: measured with 1 to 32 threads."""
    setting = os.environ.get("POLARS_MAX_THREADS", "")
    threads = int(setting) if setting.isdecimal() else os.cpu_count() or 1
    return 1_220_000_000 if threads == 1 else 1_570_000_000 + 6_000_000 * threads


def require_address_space() -> None:
    """Raise an error if the limit of this process on address space is too low for Polars, which
    would end the process without a word."""
    for limit in _process_limits():
        if limit < polars_reserves():
            raise TooLarge(
                f"this process may use {in_units(limit)} of address space (ulimit -v), but Polars"
                f" reserves {in_units(polars_reserves(), up=True)}, more than it uses.",
                "a higher limit, or none.",
                "raise the limit, or set POLARS_MAX_THREADS=1 in the environment, with which it"
                " reserves less.",
            )


def has_space_for_kernels() -> bool:
    """Whether the limit of this process on address space leaves enough for numba."""
    return all(limit - polars_reserves() >= _KERNELS for limit in _process_limits())


def free_memory() -> int:
    """Return the bytes that can still be used, of the machine or of a container with a limit."""
    bounds = []
    info = Path("/proc/meminfo")
    if info.exists():
        fields = dict(line.split(":", 1) for line in info.read_text("utf-8").splitlines())
        bounds.append(int(fields.get("MemAvailable", "0").split()[0]) * 1024)
    limit, used = (Path(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    if limit.exists() and used.exists() and limit.read_text("utf-8").strip().isdigit():
        bounds.append(int(limit.read_text("utf-8")) - int(used.read_text("utf-8")))
    return max(min(bounds, default=machine_memory() // 2), 0)
