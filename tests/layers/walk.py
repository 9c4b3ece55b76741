"""The walk: which of our modules `rt.evaluate` of two CSV files executes, in order, with functions.

python tests/layers/walk.py prints them. What runs while a module is imported does not count.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

WALK: dict[str, dict[str, None]] = {}
_importing = threading.local()


def watch(frame: FrameType, event: str, _: Any) -> None:
    """Note the functions of ours that are called, but for those that an import calls."""
    if event not in ("call", "return"):
        return
    if frame.f_code.co_name == "<module>":
        depth = getattr(_importing, "depth", 0)
        _importing.depth = depth + (1 if event == "call" else -1)
    elif event == "call" and not getattr(_importing, "depth", 0):
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] == "rectitude":
            WALK.setdefault(name, {})[frame.f_code.co_qualname] = None


def walk(folder: Path) -> dict[str, dict[str, None]]:
    """Evaluate two small files, and look at who is called."""
    predictions, truth = folder / "a.csv", folder / "t.csv"
    predictions.write_text("user,item,score\nann,a,0.9\nann,b,0.8\nben,b,0.7\nben,c,0.6\n")
    truth.write_text("user,item\nann,b\nben,c\nben,d\n")

    from rectitude import evaluate

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        value = evaluate(str(predictions), str(truth), "ndcg@10")["ndcg@10"]
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if not 0 < value < 1:
        raise SystemExit(f"ndcg@10 is {value}")
    return WALK


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = walk(Path(folder))
    for number, (module, functions) in enumerate(found.items(), 1):
        print(f"{number:3} {module}: {', '.join(functions)}")
    print(f"{len(found)} modules, {sum(map(len, found.values()))} functions")
