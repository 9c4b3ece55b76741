"""Code of other people: whether it may run is decided for each call, not for the whole process."""

from __future__ import annotations

import os
from threading import Event, Thread

import pytest

from rectitude.errors import BadExtension
from rectitude.extensions import SWITCH, allow_plugins, import_object, plugins_allowed


def test_one_call_without_plugins_does_not_disturb_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    began, ended, seen = Event(), Event(), []

    def first() -> None:
        with allow_plugins("off"):
            began.set()
            assert ended.wait(10)
            seen.append(plugins_allowed())

    thread = Thread(target=first)
    thread.start()
    assert began.wait(10)
    assert plugins_allowed() == "on"
    with allow_plugins("off"):
        assert plugins_allowed() == "off"
    assert plugins_allowed() == "on"
    ended.set()
    thread.join(10)
    assert seen == ["off"]
    assert SWITCH not in os.environ


def test_nothing_inside_turns_plugins_on_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    with allow_plugins("off"), allow_plugins("on") as permitted:
        assert permitted == "off"
        with pytest.raises(BadExtension, match="plugins='off' forbids"):
            import_object("os:getcwd", "a built-in model")
    monkeypatch.setenv(SWITCH, "off")
    with allow_plugins("on") as permitted, pytest.raises(BadExtension, match=f"{SWITCH}=off"):
        import_object("os:getcwd", "a built-in model")
    assert permitted == "off"
