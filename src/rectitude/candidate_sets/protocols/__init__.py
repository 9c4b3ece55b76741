"""Ways to make candidates, by name: our own, and those of frameworks, which are stored as data.

A file says which settings of `SamplingPlan` correspond to the sampler of a framework, and how the
framework calls them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Any

from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.candidate_sets.sets import full, take_given, train_items
from rectitude.candidate_sets.value import Candidates
from rectitude.errors import BadArgument, unknown_name
from rectitude.options import options_of, require_options
from rectitude.parallel import require_polars
from rectitude.splits.split import Split


def _load_protocols() -> dict[str, Mapping[str, Any]]:
    """Return all protocols by the name of their framework."""
    paths = sorted(files(__name__).iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".toml"): tomllib.loads(file.read_text("utf-8"))
        for file in paths
        if file.name.endswith(".toml")
    }


def as_framework(name: str, split: Split, *, seed: int = 0, **words: Any) -> Candidates:
    """Return candidates as a framework draws them; settings have its names or ours."""
    stored = PROTOCOLS[name]
    for word, allowed in stored.get("allowed", {}).items():
        value = words.pop(word, allowed[0])
        if value not in allowed:
            raise BadArgument(
                f"{word} of {name} is {value!r}, which is not supported.",
                f"{' or '.join(map(repr, allowed))}.",
            )
    settings = {stored.get("words", {}).get(word, word): value for word, value in words.items()}
    drawn = sample_negatives(split, **{**stored["plan"], **settings}, seed=seed)
    return replace(drawn, settings={**drawn.settings, "kind": name})


PROTOCOLS = _load_protocols()
SETS: Mapping[str, Callable[..., Candidates]] = {
    "full": full,
    "train_items": train_items,
    "given": take_given,
}
"""Ways that draw nothing at random."""
CANDIDATES: Mapping[str, Callable[..., Candidates]] = {
    **SETS,
    "sampled": sample_negatives,
    **{name: partial(as_framework, name) for name in PROTOCOLS},
}
"""Ways to make candidates, by name."""


def candidates(split: Split, kind: str = "sampled", **settings: object) -> Candidates:
    """Return the items to rank for each user of the truth, of a named kind or as a framework draws
    them: candidates(split, "sampled", count=100, seed=7)."""
    if not isinstance(split, Split):
        raise BadArgument(
            f"split is a {type(split).__name__}.",
            "a Split, as rt.split returns it; of a series, one split at a time.",
        )
    if kind not in CANDIDATES:
        raise unknown_name("kind of candidates", kind, CANDIDATES)
    if kind in SETS:
        require_options(settings, options_of(SETS[kind]), f"kind {kind!r} of candidates")
    require_polars()
    return CANDIDATES[kind](split, **settings)
