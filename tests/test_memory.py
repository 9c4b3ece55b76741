"""The memory that one input or result may take, and the setting that changes it."""

from __future__ import annotations

import io

import pytest

from rectitude.errors import BadSetting, RectitudeError, TooLarge
from rectitude.memory import (
    SETTING,
    expansion_limit,
    free_memory,
    in_units,
    machine_memory,
    memory_limit,
    read_within,
    require_memory,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1000", 1000), ("8GB", 8 * 10**9), ("1.5 gb", 1_500_000_000), ("2MiB", 2 << 20),
        ("2M", 2_000_000), ("500kb", 500_000), ("1Ti", 1 << 40),
    ],
)  # fmt: skip
def test_a_limit_is_written_with_a_unit(
    text: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, text)
    assert memory_limit() == size


@pytest.mark.parametrize("text", ["much", "-1GB", "1e9", "GB", "8 parsecs", "9" * 400])
def test_a_limit_that_is_no_size_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, text)
    with pytest.raises(BadSetting, match="such as 8GB or 500MB"):
        memory_limit()


def test_the_default_is_a_quarter_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    assert memory_limit() == machine_memory() // 4
    assert free_memory() > 0


def test_an_error_names_the_need_and_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "1MB")
    require_memory(1_000_000, "this")
    with pytest.raises(TooLarge) as caught:
        require_memory(1_234_567_890, "this", "use less")
    assert str(caught.value) == (
        "this would take 1.2GB of memory.\n"
        "  expected at most 1MB (as set in RECTITUDE_MEMORY).\n"
        "  use less; or, if the machine has the memory, allow more in the environment:"
        " RECTITUDE_MEMORY=1.3GB"
    )
    assert isinstance(caught.value, RectitudeError | MemoryError)


def test_a_small_file_may_not_take_a_quarter_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setattr("rectitude.memory.machine_memory", lambda: 64 * 10**9)
    assert expansion_limit(1_000) == 256 * 10**6  # harmless
    assert expansion_limit(10**7) == 2 * 10**9  # 200 times its size
    assert expansion_limit(10**9) == 16 * 10**9  # a quarter of the machine
    monkeypatch.setenv(SETTING, "30GB")
    assert expansion_limit(1_000) == 30 * 10**9  # the user trusts it


def test_reading_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "3MB")
    assert len(read_within(io.BytesIO(b"x" * 3_000_000), 10, "this")) == 3_000_000
    endless = io.BytesIO(b"x" * 100_000_000)
    with pytest.raises(TooLarge, match=r"this has 10B and expands to more than 3MB"):
        read_within(endless, 10, "this")
    assert endless.tell() < 5_000_000


def test_sizes_are_written_in_the_largest_unit() -> None:
    assert [in_units(size) for size in (0, 999, 1_000, 1_550_000, 10**15)] == [
        "0B", "999B", "1KB", "1.6MB", "1000TB",
    ]  # fmt: skip
