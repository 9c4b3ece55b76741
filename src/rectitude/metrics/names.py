"""Metric names: `ndcg@10`, `recall@{5,10,20}`, `mrr`, `ndcg[gain=exp2]@10`, `iprec@0.1`,
`ndcg[gains={1: 3, 2: 7}]@10`.

A variant may also be a formula, such as `ndcg[log2(rank+1)]@10`, for frameworks that have no name
for it. Variants may stand in parentheses, too, and a name may be one of another framework, such as
`r-precision` or `11pt_avg`, or the import path of a metric, such as `module:Metric@10`. There is
one parser; `str` of a parsed name gives the name again, with brackets. Variants combine in any
order: words come first and settings second, both in alphabetical order, so that every combination
has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rectitude.convention import format_gains, is_table
from rectitude.errors import BadName

Names = str | Iterable[str] | Mapping[str, object]
"""Metrics as they are asked for: one or more names, or a dict of names with their cutoffs."""
Variants = tuple[tuple[str, str | None], ...]
"""The contents of brackets: words, and settings with their values."""
LARGEST_CUTOFF = 10_000_000
_BASE = r"[\w.]+:[\w.]+|(?=[\d._-]*[A-Za-z_])\w[\w.-]*"
_NAME = re.compile(
    rf"(?P<base>{_BASE})(\[(?P<variants>[^\[\]]*)\]|\((?P<options>[^@]*)\))?(@(?P<at>.+))?\Z"
)
_KEY = r"[A-Za-z_]\w*(\([\w+*/.-]+\))?|\d+\w*"
_VALUE = r"[^=,{}\s]+(\([^()]*\))?|\{[^{}]*\}"
_VARIANT = rf"(?P<key>{_KEY})(=(?P<value>{_VALUE}))?\Z"
_ON, _OFF = ("True", "true"), ("False", "false")
_ON_BY_DEFAULT = ("normalize",)
"""flags that other frameworks switch off, as in Compat(normalize=False), which is no_normalize"""


@lru_cache
def _whole_number(text: str) -> int:
    """Return a whole number of at least 1; 0 for any other text."""
    return int(text) if re.fullmatch(r"[1-9][0-9]{0,17}", text) else 0


@dataclass(frozen=True, slots=True)
class Name:
    """A metric as requested: base name, variants in brackets, and the text after the @.

    >>> str(Name("rbp", (("p", "0.5"), ("normalized", None))))
    'rbp[normalized,p=0.5]'
    """

    base: str
    variants: Variants = ()
    at: str | None = None

    def __post_init__(self) -> None:
        if len(self.variants) > 1:
            object.__setattr__(self, "variants", _arrange(self.base, self.variants))

    def __str__(self) -> str:
        inside = ",".join(map(write_variant, self.variants))
        brackets = f"[{inside}]" if inside else ""
        return f"{self.base}{brackets}" + (f"@{self.at}" if self.at is not None else "")

    @property
    def has_plain_end(self) -> bool:
        """Whether a number, or nothing, follows the @, and no sign follows the name."""
        if self.at is None:
            return not self.base.endswith("-")
        return re.fullmatch(r"[\d.]+", self.at) is not None

    @property
    def cutoff(self) -> int | None:
        """The cutoff, a whole number of at least 1; None for the whole list."""
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
        """The number after the @ as a level, such as a recall level, from 0 to 1."""
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
    """Return the names in a text; several if it lists cutoffs in braces."""
    match = _NAME.match(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise BadName(
            f"{text!r} is not a valid metric name.",
            "a name with an optional cutoff, such as 'ndcg@10', 'recall@{5,10}' or 'mrr'.",
        )
    inside = match["variants"] or match["options"]
    parsed = (_parse_variant(part, text) for part in _split(inside))
    variants = tuple(
        (f"no_{key}" if value in _OFF else key, None if value in _ON + _OFF else value)
        for key, value in parsed
        if value not in _OFF or key in _ON_BY_DEFAULT
    )
    return [Name(match["base"], variants, at) for at in _parse_cutoffs(match["at"], text)]


def parse_all(texts: Names) -> list[Name]:
    """Return the names in several texts, or in a dict with the cutoffs of each; in order and
    without repeats."""
    if not isinstance(texts, Iterable):
        raise BadName(f"metrics is of type {type(texts).__name__}.", "names such as 'ndcg@10'.")
    if isinstance(texts, Mapping):
        texts = [text for name, cutoffs in texts.items() for text in at_cutoffs(name, cutoffs)]
    names = [texts] if isinstance(texts, str) else list(texts)
    parts = [part for text in names for part in split_names(text)]
    if not parts:
        raise BadName("no metric is given.", "at least one name, such as 'ndcg@10'.")
    return list(dict.fromkeys(name for part in parts for name in parse(part)))


def at_cutoffs(name: str, cutoffs: object) -> list[str]:
    """Return a name at each of its cutoffs; as it is if there are none."""
    if not isinstance(name, str):
        raise BadName(
            f"a metric is of type {type(name).__name__}.",
            "names such as 'ndcg@10'; a metric of your own by its name or as 'module:Metric'.",
        )
    numbers = read_cutoffs(cutoffs)
    if numbers and "@" in name:
        raise BadName(
            f"{name!r} has a cutoff, and {list(numbers)} are given for it.",
            "the cutoffs once: {'ndcg': [5, 10]} or 'ndcg@{5,10}'.",
        )
    return [f"{name}@{number}" for number in numbers] or [name]


def read_cutoffs(cutoffs: object) -> tuple[int, ...]:
    """Return cutoffs that are given as a number, as several, or as text such as "5,10"."""
    if cutoffs is None:
        return ()
    if isinstance(cutoffs, str):
        cutoffs = re.split(r"\s*,\s*|\s+", cutoffs.strip("{} "))
    given = list(cutoffs) if isinstance(cutoffs, Iterable) else [cutoffs]
    numbers = [_whole_number(str(cutoff)) for cutoff in given]
    wrong = [cutoff for cutoff, number in zip(given, numbers, strict=True) if not number]
    if wrong:
        raise BadName(f"a cutoff is {wrong[0]!r}.", "whole numbers, such as cutoffs=[5, 10].")
    return tuple(dict.fromkeys(numbers))


def split_names(text: str) -> list[str]:
    """Split a text into names, at commas and spaces outside brackets and braces.

    A number alone is a further cutoff of the name before it.

    >>> split_names("ndcg@10,20 mrr")
    ['ndcg@10', 'ndcg@20', 'mrr']
    """
    if not isinstance(text, str):
        raise BadName(
            f"metric name {text!r} is of type {type(text).__name__}.", "text such as 'ndcg@10'."
        )
    names: list[str] = []
    for part in split_outside(text, ", \t\n\r"):
        before = re.fullmatch(r"(.+[@.])\d+", names[-1]) if names and part.isdecimal() else None
        names += [f"{before[1]}{part}" if before else part] if part else []
    return names


def split_outside(text: str, separators: str) -> list[str]:
    """Split a text at separators that are not inside brackets, parentheses or braces.

    >>> split_outside("exp,gains={1:3,2:7}", ",")
    ['exp', 'gains={1:3,2:7}']
    """
    parts, depth = [""], 0
    for letter in text:
        depth = max(0, depth + (letter in "[({") - (letter in "])}"))
        if depth == 0 and letter in separators:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def write_variant(variant: tuple[str, str | None]) -> str:
    """Return a variant as it is written in brackets."""
    key, value = variant
    return key if value is None else f"{key}={value}"


def _arrange(base: str, variants: Variants) -> Variants:
    """Return variants in the order of the one spelling, each once; two values for one are an
    error."""
    arranged = sorted(set(variants), key=lambda variant: (variant[1] is not None, variant))
    first: dict[str, tuple[str, str | None]] = {}
    for variant in arranged:
        other = first.setdefault(variant[0], variant)
        if other != variant:
            raise BadName(
                f"{write_variant(other)!r} and {write_variant(variant)!r} contradict each other in "
                f"the brackets of {base!r}.",
                f"{variant[0]} once.",
            )
    return tuple(arranged)


def _split(inside: str | None) -> list[str]:
    return [part.strip() for part in split_outside(inside, ",")] if inside else []


def _parse_variant(part: str, text: str) -> tuple[str, str | None]:
    match = re.match(_VARIANT, part)
    if match is None:
        raise BadName(
            f"{part!r} in metric name {text!r} is not a valid variant.",
            "a switch and its value, such as 'ndcg[gain=exp2]@10'.",
        )
    value = match["value"]
    return match["key"], format_gains(value) if is_table(value) else value


def _parse_cutoffs(at: str | None, text: str) -> list[str | None]:
    if at is None:
        return [None]
    closing = {"{": "}", "[": "]", "(": ")"}.get(at[0])
    if closing is None:
        return [at]
    parts = _split(at[1:-1]) if at.endswith(closing) else []
    if not parts or not all(parts):
        raise BadName(
            f"the cutoffs in metric name {text!r} are not valid.",
            "whole numbers in braces, such as 'ndcg@{5,10,20}'.",
        )
    return list(parts)
