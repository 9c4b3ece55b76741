"""Messages: three parts, and nothing in them that controls a terminal."""

from __future__ import annotations

import pickle

import pytest

from rectitude.errors import BadArgument, cut_words, make_visible


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("\x1b]0;x\x07", r"\x1b]0;x\x07"),
        ("a\r\x08b\x7f\x9b", r"a\x0d\x08b\x7f\x9b"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("half \ud800", r"half \ud800"),
        ("line\nnext\tcell", "line\nnext\tcell"),
        ("Größe 大小 👩‍🔬 100\u00a0€", "Größe 大小 👩‍🔬 100\u00a0€"),
    ],
)
def test_control_characters_are_spelled_out(text: str, visible: str) -> None:
    assert make_visible(text) == visible


def test_a_message_has_no_control_characters_but_its_parts_keep_them() -> None:
    error = BadArgument("the file a\x1b[2J.csv is empty.", "rows.")
    assert str(error) == "the file a\\x1b[2J.csv is empty.\n  expected rows."
    assert error.found == "the file a\x1b[2J.csv is empty."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301


def test_words_that_nobody_can_read_are_cut_and_sentences_are_not() -> None:
    sentence = "all of these words stay " * 100
    assert cut_words(sentence + "x" * 301) == sentence + "x" * 300 + "..."
