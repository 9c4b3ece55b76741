"""Run inside the environment of a framework: read drawn inputs, write the cases it makes of them.

python -m golden.worker ADAPTER FIXTURES.json CASES.json
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import warnings
from pathlib import Path

from golden.fixtures import Fixture


def main() -> int:
    """Make all cases of an adapter; whatever the framework prints is left alone."""
    name, source, target = sys.argv[1:]
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    adapter = importlib.import_module(f"golden.adapters.{name}")
    version = adapter.version()
    made = []
    for drawn in json.loads(Path(source).read_text("utf-8")):
        fixture = Fixture(**drawn)
        try:
            cases = list(adapter.cases(fixture))
        except Exception as error:  # the framework cannot evaluate this input; others continue
            print(f"{name}: {fixture.name}: {error!r}", file=sys.stderr)
            continue
        for case in cases:
            stored = case.stored(adapter.FRAMEWORK, version)
            made.append([case.profile, case.file, stored, case.tables])
    Path(target).write_text(json.dumps(made), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
