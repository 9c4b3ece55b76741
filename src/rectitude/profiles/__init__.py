"""Profiles: the conventions of other frameworks, by release, as data.

A profile is a TOML file beside this module. It sets switches for all metrics, overrides some of
them for one metric, and says what the framework's own names and variants mean. Nothing in the code
asks for a profile's name.

    framework = "RecTools"
    versions = ["0.19.0"]                      releases whose values are reproduced
    about = "..."
    padding = 0                                the item that is never recommended from dense scores

    [convention]                               switches, for every metric
    ideal = "k"

    [metrics.hits]                             one metric: its name here, switches, numbers
    metric = "hit"
    hit_as = "count"

    [metrics."recall[macro]"]                  a name with all its variants; then neither
    metric = "macro_recall"                    [metrics.recall] nor [variants] is looked at

    [metrics."accuracy@k"]                     a name with a cutoff, any one: @k, or one: @5
    ties = "item_descending"

    [variants]                                 what stands in brackets: switches it sets,
    burges = { gain = "exp2" }                 ndcg[burges]@10
    rel = "relevant_from"                      or the switch or number it renames: ndcg[rel=2]@10

    [absent]                                   the framework's metrics that are not here, where a
    mcc = "of each user's list"                metric of ours has the name: name -> what it is there

    [known_differences]                        honest exceptions: metric name -> cause

What is nearer to the name wins: [convention], then the switches that a metric's own definition
fixes, then its entry here, then the variants asked for. A file of one's own is used by its path:
`convention="mine.toml"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from os import PathLike

from rectitude.convention import Convention
from rectitude.errors import BadName, unknown_name
from rectitude.profiles.profile import Asked, Profile

__all__ = ["PROFILES", "Asked", "Profile", "Profiles", "is_file", "named", "profile_of"]
ENDING = ".toml"
DEFAULT = "default"


class Profiles(Mapping[str, Profile]):
    """The profiles that ship with rectitude, by name."""

    def __getitem__(self, name: str) -> Profile:
        if name != DEFAULT and name not in _names():
            raise unknown_name("profile", name, _names())
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


PROFILES = Profiles()


@cache
def _names() -> tuple[str, ...]:
    files = [entry.name for entry in resources.files(__name__).iterdir()]
    return (DEFAULT, *sorted(name.removesuffix(ENDING) for name in files if is_file(name)))


@cache
def _load(name: str) -> Profile:
    if name == DEFAULT:
        return Profile(about="What rectitude computes unless told otherwise.")
    from rectitude.profiles.reading import from_toml  # noqa: PLC0415  (brings the checks of files)

    text = resources.files(__name__).joinpath(f"{name}{ENDING}").read_text("utf-8")
    return from_toml(name, text, f"{name}{ENDING}")


def is_file(name: str) -> bool:
    """Whether a profile is named by a file of one's own."""
    return name.endswith(ENDING)


def named(name: str) -> Profile:
    """A profile by its name, or by the path of a file of one's own, which ends in `.toml`."""
    return _of_file(name) if is_file(name) else PROFILES[name]


def _of_file(path: str | PathLike[str]) -> Profile:
    from rectitude.profiles.reading import from_file  # noqa: PLC0415  (brings the checks of files)

    return from_file(path)


def profile_of(given: object) -> Profile:
    """The profile that a `convention=` argument means.

    A profile name, the path of a profile file, a `Convention`, a `Profile`, or a dict of changes,
    which may name the profile it starts from: `{"profile": "trec_eval-9", "relevant_from": 2}`.
    """
    if given is None:
        return PROFILES[DEFAULT]
    if isinstance(given, Profile):
        return given
    if isinstance(given, Convention):
        same = given == Convention()
        return Profile(name=DEFAULT if same else "custom", convention=given)
    if isinstance(given, str):
        return named(given)
    if isinstance(given, PathLike):
        return _of_file(given)
    if isinstance(given, Mapping):
        changes = dict(given)
        start = profile_of(changes.pop("profile", DEFAULT))
        return start.replace(**changes)
    raise BadName(
        f"convention is a {type(given).__name__}.",
        "a profile name or file, a Convention, or a dict of switches.",
    )
