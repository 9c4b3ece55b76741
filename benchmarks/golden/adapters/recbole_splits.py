"""RecBole: `Dataset.build` and `SequentialDataset.build`, with their orders and shares.

Shuffled rows are recorded as RecBole shuffled them. Sequential data has a row for each item but a
user's first, with the items before it, which are recorded; the first rows are found in these
lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as installed
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

# Aliases that RecBole uses and later releases of NumPy removed.
ALIASES = {"float": float, "float_": np.float64, "complex_": np.complex128, "unicode_": np.str_}
for alias, meant in ALIASES.items():
    setattr(np, alias, meant)

from recbole.config import Config  # noqa: E402  (after the alias)
from recbole.data.dataset import Dataset, SequentialDataset  # noqa: E402

from golden.fixtures import Case, Fixture  # noqa: E402

FRAMEWORK = "RecBole"
SHARES = ((8, 1, 1), (8, 2, 0), (8, 0, 2), (6, 2, 2))
SPELLED = ((0.8, 0.2, 0.0), (0.7, 0.2, 0.1), (7, 0, 2), (0.65, 0.15, 0.15))
COLUMNS = {"user_id": "user", "item_id": "item", "row": "row", "timestamp": "timestamp"}


def version() -> str:
    """The release that is installed."""
    return installed("recbole")


def cases(fixture: Fixture) -> Iterator[Case]:
    """Split by all methods, in the order of time and at random, and as sequences."""
    with TemporaryDirectory() as folder:
        _write(fixture, Path(folder) / "log")
        for method, split, group in _methods():
            for order in ("TO", "RO"):
                yield _split(fixture, folder, method, split, group, order)
            yield _split_sequences(fixture, folder, method, split, group)


def _methods() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the name of a method in our cases, and RecBole's settings `split` and `group_by`.

    Names with a point are those of shares as RecBole spells them.
    """
    for mode in ("valid_and_test", "valid_only", "test_only"):
        yield f"LS_{mode}", {"LS": mode}, "user"
    for spelled in SPELLED:
        name = "".join(f"{share:g}-" for share in spelled)
        for group in ("user", "none"):
            yield f"RS.{name}{group}", {"RS": [*spelled]}, group
        yield f"TS.{name}", {"TS": [*spelled]}, "user"
    for shares in SHARES:
        digits, ratios = "".join(map(str, shares)), [share / 10 for share in shares]
        yield f"RS_{digits}_user", {"RS": ratios}, "user"
        yield f"RS_{digits}_none", {"RS": ratios}, "none"
        yield f"TS_{digits}", {"TS": ratios}, "user"


def _write(fixture: Fixture, folder: Path) -> None:
    folder.mkdir()
    lines = ["user_id:token\titem_id:token\trow:float\ttimestamp:float"]
    rows = fixture.rows("interactions", *COLUMNS.values())
    lines += ["\t".join(map(str, row)) for row in rows]
    (folder / "log.inter").write_text("\n".join(lines) + "\n", "utf-8")


def _settings(folder: str, split: dict[str, Any], group: str, order: str, model: str) -> Config:
    settings = {
        "data_path": folder, "load_col": {"inter": list(COLUMNS)}, "show_progress": False,
        "eval_args": {"split": split, "group_by": group, "order": order, "mode": "full"},
        "train_neg_sample_args": None, "state": "ERROR",
    }  # fmt: skip
    return Config(model=model, dataset="log", config_dict=settings)


def _split(
    fixture: Fixture, folder: str, method: str, split: dict[str, Any], group: str, order: str
) -> Case:
    dataset = Dataset(_settings(folder, split, group, order, "Pop"))
    operation: dict[str, Any] = {"name": "split", **_spell(method, split, group), "order": order}
    shuffle = dataset.shuffle

    def record() -> None:
        shuffle()
        operation["row_order"] = _numbers(dataset.inter_feat["row"])

    dataset.shuffle = record
    parts = [_numbers(part.inter_feat["row"]) for part in dataset.build()]
    return _case(fixture, f"{order}-{method}", operation, parts)


def _split_sequences(
    fixture: Fixture, folder: str, method: str, split: dict[str, Any], group: str
) -> Case:
    built = SequentialDataset(_settings(folder, split, group, "TO", "GRU4Rec")).build()
    parts = [_numbers(part.inter_feat["row"]) for part in built]
    for part in built:
        short = part.inter_feat["item_length"] == 1
        parts[0] += _numbers(part.inter_feat["row_list"][short][:, 0])
    listed = {row for part in parts for row in part}
    alone = [row for (row,) in fixture.rows("interactions", "row") if row not in listed]
    words = _spell(method, split, group)
    operation = {"name": "split", **words, "order": "TO", "model_type": "sequential"}
    case = _case(fixture, f"sequential-{method}", operation, [parts[0] + alone, *parts[1:]])
    items = dict(fixture.rows("interactions", "row", "item"))
    for name, part in zip(("train", "valid", "test"), built, strict=True):
        case.data[f"expected_{name}_sequences"] = dict(_sequences(part.inter_feat, items))
    return case


def _spell(method: str, split: dict[str, Any], group: str) -> dict[str, Any]:
    """Return the parameters of our protocol: a method, or RecBole's own settings."""
    if "." not in method:
        return {"method": method}
    return {**split, "group_by": group} if "RS" in split else {"split": split}


def _sequences(targets: Any, items: dict[int, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield each row of a part with the items before it."""
    lengths = _numbers(targets["item_length"])
    for row, length, rows in zip(
        _numbers(targets["row"]), lengths, targets["row_list"], strict=True
    ):
        yield str(row), [items[number] for number in _numbers(rows[:length])]


def _numbers(rows: Any) -> list[int]:
    return [int(row) for row in rows]


def _case(
    fixture: Fixture, variant: str, operation: dict[str, Any], parts: list[list[int]]
) -> Case:
    case = Case("recbole", fixture, "data", variant=variant)
    case.data |= {"operation": operation, "check": "rows"}
    for name, rows in zip(("train", "valid", "test"), parts, strict=True):
        case.data[f"expected_{name}_rows"] = sorted(rows)
    return case
