"""Metric names: `ndcg@10`, `recall@{5,10,20}`, `mrr`, `ndcg[gain=exp2]@10`, `iprec@0.1`.

A variant may be a formula, `ndcg[log2(rank+1)]@10`, where a framework has no other word for it.

One parser; `str` of what it returns is the name again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from rectitude.errors import BadName

LARGEST_CUTOFF = 10_000_000
_NAME = re.compile(r"(?P<base>[A-Za-z_]\w*)(\[(?P<variants>[^\[\]]*)\])?(@(?P<at>.+))?\Z")
_KEY = r"[A-Za-z_]\w*(\([\w+*/.-]+\))?|\d+\w*"
_VARIANT = re.compile(rf"(?P<key>{_KEY})(=(?P<value>[^=,\s]+))?\Z")


@lru_cache
def _whole_number(text: str) -> int:
    """A whole number from 1 on; 0 for any other text."""
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,17}", text) else 0


@dataclass(frozen=True, slots=True)
class Name:
    """A metric as it is asked for: base name, variants in brackets, and what stands after the @."""

    base: str
    variants: tuple[tuple[str, str | None], ...] = ()
    at: str | None = None

    def __str__(self) -> str:
        inside = ",".join(
            key if value is None else f"{key}={value}" for key, value in self.variants
        )
        brackets = f"[{inside}]" if inside else ""
        return f"{self.base}{brackets}" + (f"@{self.at}" if self.at is not None else "")

    @property
    def cutoff(self) -> int | None:
        """The cutoff, a whole number from 1 on; None for the whole list."""
        if self.at is None:
            return None
        number = _whole_number(self.at)
        if not 1 <= number <= LARGEST_CUTOFF:
            raise BadName(
                f"the cutoff of {str(self)!r} is {self.at!r}.",
                f"a whole number from 1 to {LARGEST_CUTOFF:,}.",
                f"write {self.base}@10, or {self.base} for the whole list.",
            )
        return number

    @property
    def level(self) -> float:
        """What stands after the @ as a level, such as a share of recall: from 0 to 1."""
        at = self.at or ""
        number = float(at) if re.fullmatch(r"\d*\.?\d+", at) else -1.0
        if not 0 <= number <= 1:
            raise BadName(
                f"the level of {str(self)!r} is {self.at!r}.",
                "a number from 0 to 1.",
                f"write {self.base}@0.1, for example.",
            )
        return number


def parse(text: str) -> list[Name]:
    """The names that a text asks for; several if it lists cutoffs in braces."""
    found = _NAME.match(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise BadName(
            f"metric name {text!r} cannot be read.",
            "a name with an optional cutoff, such as 'ndcg@10', 'recall@{5,10}' or 'mrr'.",
        )
    variants = tuple(_variant(part, text) for part in _split(found["variants"]))
    return [Name(found["base"], variants, at) for at in _cutoffs(found["at"], text)]


def parse_all(texts: str | Iterable[str]) -> list[Name]:
    """The names that several texts ask for, each once, in order."""
    if not isinstance(texts, Iterable):
        raise BadName(f"metrics is a {type(texts).__name__}.", "names such as 'ndcg@10'.")
    asked = [texts] if isinstance(texts, str) else list(texts)
    parts = [part for text in asked for part in split_names(text)]
    if not parts:
        raise BadName("no metric was asked for.", "at least one name, such as 'ndcg@10'.")
    return list(dict.fromkeys(name for part in parts for name in parse(part)))


def split_names(text: str) -> list[str]:
    """The names in a text, cut at commas and spaces outside brackets and braces."""
    if not isinstance(text, str):
        raise BadName(
            f"metric name {text!r} is a {type(text).__name__}.", "text such as 'ndcg@10'."
        )
    return [part for part in re.split(r"[,\s]+(?![^\[{]*[\]}])", text.strip()) if part]


def _split(inside: str | None) -> list[str]:
    return [part.strip() for part in inside.split(",")] if inside else []


def _variant(part: str, text: str) -> tuple[str, str | None]:
    found = _VARIANT.match(part)
    if found is None:
        raise BadName(
            f"variant {part!r} of metric {text!r} cannot be read.",
            "a switch and its value, such as 'ndcg[gain=exp2]@10'.",
        )
    return found["key"], found["value"]


def _cutoffs(at: str | None, text: str) -> list[str | None]:
    if at is None:
        return [None]
    if not at.startswith("{"):
        return [at]
    parts = _split(at[1:-1]) if at.endswith("}") else []
    if not parts or not all(parts):
        raise BadName(
            f"the cutoffs of metric {text!r} cannot be read.",
            "whole numbers in braces, such as 'ndcg@{5,10,20}'.",
        )
    return list(parts)
