"""Ways to make candidates by name: ours, and those of frameworks, which are data.

A file says which settings of `SamplingPlan` a framework's own sampler amounts to, and what its
words for them are.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Any

from rectitude.candidates.sampling import sampled
from rectitude.candidates.sets import full, given, train_items
from rectitude.candidates.value import Candidates
from rectitude.errors import BadName, unknown_name
from rectitude.splits.split import Split


def _protocols() -> dict[str, Mapping[str, Any]]:
    """All protocols by the name of their framework."""
    found = sorted(files(__name__).iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8"))
        for file in found
        if file.name.endswith(".toml")
    }


def as_framework(name: str, split: Split, *, seed: int = 0, **words: Any) -> Candidates:
    """Candidates as a framework draws them; settings in its own words or in ours."""
    stored = PROTOCOLS[name]
    for word, allowed in stored.get("allowed", {}).items():
        if words.pop(word, allowed[0]) not in allowed:
            raise BadName(f"{word} of {name} is none of those known here.", f"{allowed}.")
    ours = {stored.get("words", {}).get(word, word): value for word, value in words.items()}
    drawn = sampled(split, **{**stored["plan"], **ours}, seed=seed)
    return replace(drawn, settings={**drawn.settings, "kind": name})


PROTOCOLS = _protocols()
CANDIDATES: Mapping[str, Callable[..., Candidates]] = {
    "full": full,
    "train_items": train_items,
    "given": given,
    "sampled": sampled,
    **{name: partial(as_framework, name) for name in PROTOCOLS},
}
"""Ways to make candidates, by name."""


def candidates_of(split: Split, kind: str, **settings: object) -> Candidates:
    """Candidates of a named kind or of a framework's protocol."""
    if kind not in CANDIDATES:
        raise unknown_name("kind of candidates", kind, CANDIDATES)
    return CANDIDATES[kind](split, **settings)
