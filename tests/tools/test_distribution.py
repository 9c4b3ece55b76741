"""The wheel and the sdist have what they should, and a lack is noticed."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

import distribution


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> distribution.Distribution:
    return distribution.build(tmp_path_factory.mktemp("made") / "dist")


def test_a_release_has_what_it_needs_and_nothing_else(made: distribution.Distribution) -> None:
    assert distribution.problems(made) == []
    version = distribution.read_version()
    assert made.wheel.name == f"rectitude-{version}-py3-none-any.whl"
    assert made.sdist.name == f"rectitude-{version}.tar.gz"


def test_a_wheel_without_its_types_or_with_a_strange_file_is_refused(
    made: distribution.Distribution, tmp_path: Path
) -> None:
    broken = tmp_path / made.wheel.name
    with ZipFile(made.wheel) as whole, ZipFile(broken, "w") as part:
        for name in whole.namelist():
            if name != "rectitude/py.typed":
                part.writestr(name, whole.read(name))
        part.writestr("rectitude/notes.txt", "secret")
    found = distribution.problems(distribution.Distribution(broken, made.sdist))
    assert "the wheel lacks rectitude/py.typed" in found
    assert "the wheel has rectitude/notes.txt, which git does not" in found


def test_all_has_every_extra_but_dev() -> None:
    extras = distribution.read_project()["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.name == "rectitude"
    assert everything.extras == {*extras} - {"all", "dev"}, "an extra is missing in `all`"


def test_no_message_or_page_names_an_extra_that_does_not_exist() -> None:
    extras = {*distribution.read_project()["optional-dependencies"]}
    for name in sorted(distribution.list_tracked(".")):
        if re.match(r"(src|docs|examples|README).*\.(py|md|toml)$", name):
            text = (distribution.ROOT / name).read_text("utf-8")
            groups = re.findall(r"pip install '(?:\.|rectitude)\[([\w,]+)\]'", text)
            unknown = {extra for group in groups for extra in group.split(",")} - extras
            assert not unknown, f"{name} names the extra {unknown}"
