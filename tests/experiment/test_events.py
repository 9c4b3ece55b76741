"""Events of a run."""

from __future__ import annotations

import pytest

from rectitude.experiment.events import Event, Watch


def test_a_stage_that_fails_says_so_to_every_watcher() -> None:
    events: list[Event] = []
    with pytest.raises(KeyboardInterrupt), Watch((events.append,)).working("split"):
        raise KeyboardInterrupt
    assert [event["event"] for event in events] == ["started", "failed"]


def test_a_stage_that_was_interrupted_before_it_began_sends_nothing_later() -> None:
    events: list[Event] = []
    stage = Watch((events.append,)).working("split")
    stage.__enter__()
    del stage  # what an interrupt between entering and the first line leaves behind
    assert [event["event"] for event in events] == ["started"]
