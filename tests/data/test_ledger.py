"""The ledger: examples that people can read, whatever the ids are."""

from __future__ import annotations

import pytest

from rectitude.data.ledger import cut_example


@pytest.mark.parametrize(
    ("example", "shown"),
    [
        ("list 'ann', item 7", "list 'ann', item 7"),
        (f"list {'a' * 900!r}, item 'b'", f"list '{'a' * 200}...', item 'b'"),
        (f"list 'b', item {chr(39) + 'a' * 900!r}", f"list 'b', item \"'{'a' * 199}...\""),
        (f"list {'a' * 9_000!r}, item 'b'", f"list '{'a' * 200}...'"),
        (f"user {'a' * 900}", f"user {'a' * 300}..."),
    ],
)
def test_an_example_shows_the_beginning_of_long_ids(example: str, shown: str) -> None:
    assert cut_example(example) == shown


def test_what_is_left_of_two_ids_has_their_order() -> None:
    ids = ["a" * 150, "a" * 200, "a" * 201, "a" * 199 + "b" * 2, "b", "b" * 500]
    cut = [cut_example(f"list {one!r}, item {'x' * 300!r}") for one in ids]
    assert cut == sorted(cut, key=lambda example: example.split("'")[1])
