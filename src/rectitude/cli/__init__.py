"""The command line: `rectitude COMMAND`, one module per command.

This module imports nothing at the top, so that an interruption is noticed while the rest is loaded.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; without `argv`, the command of this process."""
    try:
        from rectitude.cli.interruption import end_soon, ignore_from_now_on

        if argv is None:
            end_soon()
        from rectitude.cli.app import main as run

        code = run(argv)
        ignore_from_now_on()
    except KeyboardInterrupt:
        from rectitude.cli.interruption import report

        code = report()
    return code
