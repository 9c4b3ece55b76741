"""DaisyRec 2.3: as `daisyrec`, with the functions of that release."""

from __future__ import annotations

from collections.abc import Iterator

from golden.adapters import daisyrec
from golden.fixtures import Case, Fixture

FRAMEWORK = "DaisyRec"


def version() -> str:
    """The checkout (golden.environments)."""
    return "2.3.0"


def cases(fixture: Fixture) -> Iterator[Case]:
    """Evaluate lists under the profile of this release."""
    for case in daisyrec.cases(fixture):
        case.profile = "daisyrec-2.3"
        yield case
